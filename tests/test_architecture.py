"""The map of the package: rooms import from the rows above, and some libraries have one door."""

import ast
import re
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.support import targets
from tests.support.coverage import OF_SERVERS
from tests.support.house import (
    IN_FEATURES,
    KERNEL,
    LEVEL,
    MODULES,
    PACKAGE,
    PERMITTED,
    ROOMS,
    ROWS,
    feature_of,
    imported_features,
    imports,
    imports_upward,
    internal_imports,
    is_ours,
    nodes_of,
    pairs_of_features,
    room_of,
    tree_of,
)
from wsgiauth.app import ROUTES
from wsgiauth.features.registry import FEATURES

TESTS = Path(__file__).parent


def imported_names(path):
    """Return the local names of what a module imports from the package."""
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node in nodes_of(path)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
        if is_ours(node.module if isinstance(node, ast.ImportFrom) else alias.name)
    }


def changes_in(path):
    """Return the expressions by which a module changes what it imports.

    By an assignment anywhere, or by a call when it is imported, such as that of `append`.
    """
    tree, imported = tree_of(path), imported_names(path)
    assigned = [
        node
        for node in nodes_of(path)
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
    ]
    assigned += [node.target for node in tree.body if isinstance(node, ast.AugAssign)]
    called = [node.value for node in tree.body if isinstance(node, ast.Expr)]
    return {ast.unparse(node) for node in assigned + called if root_of(node) in imported}


def root_of(node):
    """Return the name that an expression such as `models.listeners[0].append()` begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
        node = node.func if isinstance(node, ast.Call) else node.value
    return getattr(node, "id", None)


def test_every_room_has_its_place_on_the_map():
    assert set(ROOMS) == LEVEL.keys()


def stem_of(path):
    """Return the name of the module that serves a path below the mount."""
    words = path.replace("/{provider}", "").removeprefix("/").removesuffix(".json")
    return words.replace("-", "_").replace("/", "_")


def test_each_url_below_auth_has_a_file_of_its_own():
    files = {
        path: type(view).__module__.rpartition(".")[2]
        for path, view in ROUTES.items()
        if not path.startswith("/admin")
    }
    of_others = {
        path: file
        for path, file in files.items()
        if file not in (stem_of(path), f"verified_{stem_of(path)}")
    }
    assert of_others == {}


@pytest.mark.slow
def test_imports_lead_to_the_rows_above_or_stay_in_the_room():
    assert {module: rooms for module in MODULES if (rooms := imports_upward(module))} == {}


def test_every_folder_of_modules_is_a_package():
    """Otherwise a wheel would lack it."""
    folders = {path.parent for path in MODULES.values()}
    assert {each for each in folders if not (each / "__init__.py").exists()} == set()


def test_the_kernel_imports_no_feature():
    assert {module: found for module in KERNEL if (found := imported_features(module))} == {}


def test_a_feature_imports_another_one_only_for_a_reason_that_the_page_gives():
    assert pairs_of_features() == PERMITTED.keys()
    assert len(PERMITTED) <= 13


def test_every_folder_of_features_is_a_feature_and_says_what_it_does():
    folders = {path.parent.name: tree_of(path) for path in PACKAGE.glob("features/*/__init__.py")}
    assert folders.keys() == {each.name for each in FEATURES}
    assert [name for name, tree in folders.items() if not ast.get_docstring(tree)] == []


# These prove that the public door is wide enough for features of others.
THROUGH_THE_DOOR = ("terms", "trusted_browsers", "personal_data")


@pytest.mark.parametrize("feature", THROUGH_THE_DOOR)
def test_some_features_import_the_public_door_alone(feature):
    own = {each: internal_imports(each) for each in IN_FEATURES if feature_of(each) == feature}
    others = {
        (module, each)
        for module, imported in own.items()
        for each in imported
        if room_of(each) != "extend" and feature_of(each) != feature
    }
    assert own
    assert others == set()


def test_one_module_of_the_door_alone_imports_those_of_commands():
    doors = {each: internal_imports(each) for each in MODULES if room_of(each) == "extend"}
    for_commands = {each for each, imported in doors.items() if "console" in map(room_of, imported)}
    assert for_commands == {"extend.console"}


def test_no_module_changes_what_it_imports():
    changes = {name: found for name, path in MODULES.items() if (found := changes_in(path))}
    assert changes == {}


def test_no_imports_within_a_row_lead_in_a_circle():
    for row in ROWS:
        graph = {
            module: {each for each in internal_imports(module) if room_of(each) in row}
            for module in MODULES
            if room_of(module) in row
        }
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as error:
            pytest.fail(" imports ".join(reversed(error.args[1])))


DOORS_OF_LIBRARIES = {
    "argon2": {"features.former_passwords.argon"},
    "bcrypt": {"accounts.passwords"},
    "jwt": {
        "features.providers.oidc.key_sets",
        "features.services.signing",
        "authentication.signatures",
    },
    "cryptography": {
        "features.factors.passkeys.webauthn",
        "features.services.signing",
        "testing.settings",
    },
    "fido2": {"features.factors.passkeys.webauthn"},
    "prometheus_client": {"features.metrics.exposition"},
    # A value that a client gets and sends back has the format of `signed_values`.
    "hmac": {
        "signed_values",
        "authentication.signatures",  # copies of prepared objects, for speed
        "features.factors.totp",  # the codes of RFC 6238, with the keys that the apps have
        "features.former_passwords.methods",  # as Flask-Security hashes passwords
    },
}


def test_few_modules_import_these_libraries():
    importers = {library: set() for library in DOORS_OF_LIBRARIES}
    for name, path in MODULES.items():
        for library in {found.partition(".")[0] for found in imports(path)} & importers.keys():
            importers[library].add(name)
    assert importers == DOORS_OF_LIBRARIES


FRAMEWORKS = {"bottle", "cherrypy", "django", "falcon", "flask", "pyramid", "rest_framework"}


def test_only_an_adapter_imports_its_framework():
    importers = {
        (framework, name)
        for name, path in MODULES.items()
        for framework in FRAMEWORKS & {found.partition(".")[0] for found in imports(path)}
    }
    of_its_own = {
        (framework, name)
        for framework, name in importers
        if f"{name}.".startswith(("contrib.django.", f"contrib.{framework}."))
    }
    assert importers == of_its_own


def test_no_module_but_an_adapter_imports_one():
    importers = {
        module
        for module in MODULES
        if any(room_of(each) == "contrib" for each in internal_imports(module))
    }
    assert {module for module in importers if room_of(module) != "contrib"} == set()


def test_one_module_of_the_command_line_alone_prints():
    """Which escapes what a terminal would obey."""
    printing = {
        module
        for module, path in MODULES.items()
        if room_of(module) in ("cli", "console", "features")
        for node in nodes_of(path)
        if isinstance(node, ast.Name) and node.id == "print"
    }
    assert printing == {"console.output"}


def test_the_promises_are_numbered_as_markdown_counts_them():
    page = (PACKAGE.parent / "docs/promises.md").read_text(encoding="utf-8")
    lists = re.findall(r"(?:^\d+\. .*\n)+", page, re.MULTILINE)
    for each in lists:
        first, *others = map(int, re.findall(r"^(\d+)\. ", each, re.MULTILINE))
        assert others == list(range(first + 1, first + 1 + len(others)))
    assert re.findall(r"^\d+\. .*\n(?!\d+\. |\n|\Z).*", page, re.MULTILINE) == []


def test_every_promise_of_the_security_page_has_a_test():
    page = (PACKAGE.parent / "docs/promises.md").read_text(encoding="utf-8")
    promised = {int(number) for number in re.findall(r"^(\d+)\. ", page, re.MULTILINE)}
    numbers = {
        int(number)
        for path in TESTS.rglob("test_*.py")
        for number in re.findall(r"mark\.promise\((\d+)\)", path.read_text(encoding="utf-8"))
    }
    assert numbers == promised


def test_the_tests_that_the_configuration_names_exist():
    named = {*targets.PARTS, *(TESTS.parent / each for each in OF_SERVERS)}
    assert {path for path in named if not path.exists()} == set()
