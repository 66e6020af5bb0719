"""The recipes of docs/frameworks.md and its files, imported as they stand, and their visitors."""

import importlib
import re
import shutil
from pathlib import Path

import pytest
from webtest import TestApp

from tests.conftest import require
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, SECRET_KEY, USERNAME
from wsgiauth import Settings, storage
from wsgiauth.accounts import create_user

RECIPES = Path(__file__).parents[2] / "docs/frameworks.md"
FILES = RECIPES.parent / "examples/frameworks"
PACKAGES = ["flask", "django", "pyramid", "bottle", "falcon", "cherrypy"]

_PROGRAM = re.compile(r"^```python\n(# (\w+)\.py\n.*?)^```$", re.MULTILINE | re.DOTALL)
PROGRAMS = {name: code for code, name in _PROGRAM.findall(RECIPES.read_text(encoding="utf-8"))}
PROGRAMS |= {path.stem: path.read_text(encoding="utf-8") for path in FILES.glob("*.py")}
SOURCES = {
    name.removesuffix("_site"): code for name, code in PROGRAMS.items() if name.endswith("_site")
}
_WARNINGS = {
    # Pyramid 2.1 still imports it, and with it PasteDeploy's namespace, of which setuptools warns.
    "pyramid": [
        "ignore:pkg_resources is deprecated:UserWarning",
        "ignore:Deprecated call to `pkg_resources:DeprecationWarning",
    ],
}


def each_of(names):
    """Return parameters for the frameworks of these names, each with the warnings it is allowed."""
    return [
        pytest.param(name, marks=[*map(pytest.mark.filterwarnings, _WARNINGS.get(name, []))])
        for name in names
    ]


_imported = {}  # also by the tests of the adapter for Django, which have this fixture as their own


@pytest.fixture(scope="session")
def recipe(tmp_path_factory, empty_file):
    """Return a function that imports a recipe; once, since Django can be set up only once."""
    folder = tmp_path_factory.mktemp("recipes")

    def import_recipe(name):
        if name in PACKAGES:
            require(name)
        if name not in _imported:
            _imported[name] = _import(name, folder, empty_file)
        return _imported[name]

    yield import_recipe
    while _imported:
        storage.discard_connection(_imported.popitem()[1].database)


def _import(name, folder, empty_file):
    module = f"{name}_site"
    (folder / f"{module}.py").write_text(SOURCES[name], encoding="utf-8")
    url = f"sqlite:///{shutil.copy(empty_file, folder / f'{name}.db')}"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.syspath_prepend(folder)
        patch.setenv("SECRET_KEY", SECRET_KEY)
        patch.setenv("DATABASE_URL", url)
        patch.setenv("BCRYPT_ROUNDS", "4")
        recipe = importlib.import_module(module)
        if name == "django":
            recipe.settings.DATABASES["default"]["NAME"] = folder / "django.db"
            _migrate()
    settings = Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    recipe.database = storage.current()
    if not hasattr(recipe, "application"):
        recipe.application = recipe.app  # of an adapter that wraps the framework's own object
    return recipe


def _migrate():
    from django.core.management import call_command

    call_command("migrate", verbosity=0)


class Visitor(TestApp):
    """A person's browser, or a program, that checks both sides against PEP 3333."""

    def log_in(self, page, username=USERNAME):
        """Ask for `page`, log in where that leads, and return where that leads."""
        form = self.get(page, headers=BROWSER, status=302).follow(headers=BROWSER).forms[0]
        form["username"], form["password"] = username, PASSWORD
        return form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)

    def bearer(self, username=USERNAME):
        """Log in as a program does and return the header with the token."""
        account = {"username": username, "password": PASSWORD}
        return {
            "Authorization": f"Bearer {self.post_json('/auth/login', account).json['access_token']}"
        }
