"""docs/architecture.md and the table of docs/security.md name modules and code that exist."""

import importlib
import pkgutil
import re

import pytest

import wsgiauth
from tests.docs.pages import PAGES

ROOMS = {each.name for each in pkgutil.iter_modules(wsgiauth.__path__)}
MODULES = {each.name for each in pkgutil.walk_packages(wsgiauth.__path__, "wsgiauth.")}
NAMED = {
    name
    for name in re.findall(r"`([a-z_]+(?:\.\w+)+)(?:\(.*?\))?`", PAGES["docs/architecture.md"])
    if name.partition(".")[0] in ROOMS
}
DEFENCES = re.search(
    r"^## What is defended, and how$(.*?)^## ", PAGES["docs/security.md"], re.MULTILINE | re.DOTALL
)[1]
DEFENDING = re.findall(r"`([a-z_]+)`", " ".join(re.findall(r"\| ([^|]*) \|$", DEFENCES, re.M)))


def test_there_are_names_to_look_up():
    assert len(NAMED) > 20
    assert len(DEFENDING) > 20


@pytest.mark.parametrize("name", sorted(NAMED))
def test_what_the_map_names_exists(name):
    """Names are those of a module, or of something in one, perhaps an attribute of a class."""
    module, rest = f"wsgiauth.{name}", []
    while module not in MODULES:
        module, _, last = module.rpartition(".")
        rest.insert(0, last)
    found = importlib.import_module(module)
    for each in rest:
        found = getattr(found, each)


@pytest.mark.parametrize("name", DEFENDING)
def test_each_defence_is_in_a_module_of_that_name(name):
    assert name in {module.rpartition(".")[2] for module in MODULES}
