"""What tests of all features ask of each one: the module `samples` in its folder of tests.

A feature without one adds nothing. The module can have:

- ``settings(folder, provider)``: the settings that turn all of the feature on, as strings. `folder`
  is for its files, `provider` an entry of OIDC_PROVIDERS.
- ``DEMANDS``: cases of `tests/test_admission.py`, one for each of its demands.
- ``EVENTS``: cases of `tests/test_events.py`, with each of its events.
- ``fill(site, user)``: inserts rows about a user into each of its tables; `personal_data` does so
  for the tables of the kernel.
- ``ABOUT_NO_USER``: why its other tables have nothing about a person, by table.
- ``PUBLIC_COLUMNS``: columns with random strings that are no secrets, as ``table.column``.
- ``pages(site, user)``: returns the addresses of its pages to which no page leads.
- ``path_values(site, user)``: returns values for the named parts of its paths.
- ``WITHOUT_JSON``: its paths whose POST reads no JSON object of ours: what they answer to curl's
  form instead of 415, or None where another standard has the words.
- ``drive(site, provider)``: sends each of its statements. The site demands nothing.
- ``commands(folder)``: returns its command lines, about the user `cli`. `folder` is for its files.
- ``WHOLE_READS``: why a statement can read a whole table, by the file below the feature's folder,
  the function, and the table.
- ``READS_BY_STATISTICS``: the same for statements that PostgreSQL executes in one way or another.
"""

import re
from collections import ChainMap
from importlib import import_module
from pathlib import Path

from tests.support.mails import MAIL
from tests.support.schema import MODELS
from tests.support.sites import SECRET_KEY
from wsgiauth import Settings
from wsgiauth.features.registry import FEATURES

FOLDER = Path(__file__).parents[1] / "features"
KERNEL_TABLES = "personal_data"  # the feature whose samples fill the tables of the kernel


def place(name):
    """Return the file of a feature's samples, for the message of a test."""
    return f"tests/features/{name}/samples.py"


def place_of(module, kernel):
    """Return the same for the feature that has a module or a file, or that of the kernel."""
    found = re.search(r"\bfeatures[./](\w+)[./]", module)
    return place(found[1]) if found else kernel


def samples():
    """Return the modules by the names of their features, in the order of FEATURES."""
    names = [each.name for each in FEATURES if (FOLDER / each.name / "samples.py").exists()]
    return {name: import_module(f"tests.features.{name}.samples") for name in names}


def declared(what):
    """Return what the features have under a name, by feature."""
    return {name: getattr(each, what) for name, each in samples().items() if hasattr(each, what)}


def settings(folder, provider, *, has_demands=True):
    """Return the settings of a site with everything but a database, as strings.

    Args:
        folder: For files.
        provider: An entry of OIDC_PROVIDERS.
        has_demands: Whether features that demand something of each session are on, too.
    """
    kernel = {"SECRET_KEY": SECRET_KEY, "BCRYPT_ROUNDS": "4", **MAIL}
    by_feature = {name: make(folder, provider) for name, make in declared("settings").items()}
    everything = kernel | dict(ChainMap(*by_feature.values()))
    if has_demands:
        return everything
    made = Settings.from_mapping(everything)
    demanding = {each.name for each in FEATURES if [*each.demands(made)]}
    left_out = ChainMap(*(by_feature[name] for name in demanding & by_feature.keys()))
    return {name: value for name, value in everything.items() if name not in left_out}


def fill(site, user):
    """Let a user have rows in every table; fail for a table that stays empty."""
    for each in declared("fill").values():
        each(site, user)
    for model in MODELS:
        advice = f"add it to `fill` of {place(owner(model))}"
        assert model.select().exists(), f"no sample fills {model._meta.table_name}: {advice}"


def owner(model):
    """Return the name of the feature whose samples fill a table."""
    table, module = model._meta.table_name, model.__module__
    for each in FEATURES:
        if table in each.personal_data or f".features.{each.name}." in module:
            return each.name
    return KERNEL_TABLES


def pages(site, user):
    """Return the addresses of pages for a user to which no page leads."""
    return [address for each in declared("pages").values() for address in each(site, user)]


def path_values(site, user):
    """Return values for the named parts of paths."""
    return dict(ChainMap(*(each(site, user) for each in declared("path_values").values())))
