"""The map of the package: imports point down only, and dangerous libraries have one door each."""

import ast
import re
from pathlib import Path

import pytest

import wsgiauth

PACKAGE = Path(wsgiauth.__file__).parent
TESTS = Path(__file__).parent

# A module may import from the lines above its own.
MAP = re.search(
    r"^## The map$(.*?)^## ",
    (PACKAGE.parent / "docs/architecture.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)[1]
LAYERS = [
    set(re.findall(r"`([\w.]+)`", row)) for row in re.findall(r"^\| (`.*?) \|", MAP, re.MULTILINE)
]
LEVEL = {module: level for level, layer in enumerate(LAYERS) for module in layer}


def name_of(path):
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    dotted = ".".join(part for part in parts if part != "__init__")
    return dotted or "wsgiauth"


MODULES = {
    name_of(path): path for path in PACKAGE.rglob("*.py") if path.parent.name != "migrations"
}


def imports(path):
    """Return the full names of everything that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


def internal_imports(path):
    names = {name.removeprefix("wsgiauth.") for name in imports(path) if name != "wsgiauth"}
    return names & MODULES.keys()


def test_every_module_has_its_place_on_the_map():
    assert MODULES.keys() == LEVEL.keys()


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_point_down_only(module):
    upward = {name for name in internal_imports(MODULES[module]) if LEVEL[name] >= LEVEL[module]}
    assert not upward


@pytest.mark.parametrize(("library", "module"), [("bcrypt", "passwords"), ("jwt", "tokens")])
def test_one_module_alone_imports(library, module):
    importers = {
        name
        for name, path in MODULES.items()
        if library in {found.partition(".")[0] for found in imports(path)}
    }
    assert importers == {module}


def test_every_promise_of_the_security_page_has_a_test():
    page = (PACKAGE.parent / "docs/security.md").read_text(encoding="utf-8")
    promised = {int(number) for number in re.findall(r"^(\d+)\. ", page, re.MULTILINE)}
    numbers = {
        int(number)
        for path in TESTS.rglob("test_*.py")
        for number in re.findall(r"mark\.promise\((\d+)\)", path.read_text(encoding="utf-8"))
    }
    assert numbers == promised
