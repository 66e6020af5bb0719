"""The modules of the package: what each imports, and to which feature it belongs.

docs/architecture.md says which modules belong to a feature, and which feature may import another.
`make house` prints how many do.
"""

import ast
import re
from collections import Counter
from functools import cache
from itertools import chain
from pathlib import Path

import wsgiauth

PACKAGE = Path(wsgiauth.__file__).parent
PAGE = (PACKAGE.parent / "docs/architecture.md").read_text(encoding="utf-8")
MAP = re.search(
    r"^## The map$(.*?)^## ",
    PAGE,
    re.MULTILINE | re.DOTALL,
)[1]


def name_of(path):
    """Return a module's name below the package; that of a package is the package's own."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__") or "wsgiauth"


def room_of(module):
    return module.partition(".")[0]


MODULES = {
    name_of(path): path for path in PACKAGE.rglob("*.py") if path.parent.name != "migrations"
}
ROOMS = sorted({room_of(module) for module in MODULES})


@cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes_of(path):
    """Return all nodes of a module: to walk through its tree takes longer than to parse it."""
    return [*ast.walk(tree_of(path))]


@cache
def imports(path):
    """Return the full names of everything that a module imports."""
    found = set()
    for node in nodes_of(path):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


def is_for_types(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


@cache
def internal_imports(module):
    """Return the modules of the package that a module imports.

    `from wsgiauth.storage import schema` is an import of `storage.schema`, and of `storage` itself
    only if it names something that is no module. What only type checkers import does not count.
    """
    found = set()
    statements = tree_of(MODULES[module]).body
    for_types = {*chain.from_iterable(map(ast.walk, filter(is_for_types, statements)))}
    for node in nodes_of(MODULES[module]):
        if node in for_types:
            continue
        if isinstance(node, ast.Import):
            found |= {name_in_package(each.name) for each in node.names if is_ours(each.name)}
        if not isinstance(node, ast.ImportFrom) or not is_ours(node.module):
            continue
        package = node.module.removeprefix("wsgiauth").lstrip(".")
        for alias in node.names:
            submodule = f"{package}.{alias.name}".lstrip(".")
            found.add(submodule if submodule in MODULES else package or "wsgiauth")
    return found


def is_ours(name):
    return name.partition(".")[0] == "wsgiauth"


def name_in_package(name):
    return name.removeprefix("wsgiauth.")


def section(title):
    """Return the text of a section of docs/architecture.md."""
    return re.search(rf"^## {title}$(.*?)^## ", PAGE, re.MULTILINE | re.DOTALL)[1]


# Why a feature imports another one, by both.
PERMITTED = {
    (importer, imported): reason
    for importer, imported, reason in re.findall(
        r"^- `(\w+)` imports `(\w+)`: (.+)$", section("The features"), re.MULTILINE
    )
}
# The list of the features, and the rooms whose names applications import, which know every one.
DOORS = {"wsgiauth", "features", "testing"}
# What joins wsgiauth to a framework, a server's configuration or a tool; they know no feature.
ADAPTERS = {"contrib", "paste", "pytest_plugin"}
# The rooms of each row of the map, and the row of each room.
ROWS = [set(re.findall(r"`(\w+)`", row)) for row in re.findall(r"^- (`.*?`): ", MAP, re.MULTILINE)]
LEVEL = {room: level for level, row in enumerate(ROWS) for room in row}


def feature_of(module):
    """Return the feature to which a module belongs, or None for the kernel."""
    is_of_feature = module.startswith("features.") and module != "features.registry"
    return module.split(".")[1] if is_of_feature else None


def imported_features(module):
    """Return the imports by a module of another feature's modules, with the feature."""
    own = feature_of(module)
    found = {each: feature_of(each) for each in internal_imports(module)}
    return {each: feature for each, feature in found.items() if feature not in (None, own)}


KERNEL = sorted(each for each in MODULES if feature_of(each) is None and room_of(each) not in DOORS)
IN_FEATURES = sorted(each for each in MODULES if feature_of(each) is not None)


def owner_of(module):
    """Return the feature of a module, or which other part of the package it belongs to."""
    room = room_of(module)
    other = "adapters" if room in ADAPTERS else "doors" if room in DOORS else "kernel"
    return feature_of(module) or f"the {other}"


def lines_by_owner():
    """Return how many lines the kernel and each feature have, without migrations."""
    counts = Counter()
    for module, path in MODULES.items():
        counts[owner_of(module)] += len(path.read_text(encoding="utf-8").splitlines())
    return counts


def imports_upward(module):
    """Return the rooms from which a module imports although their row is below its own."""
    others = {room_of(each) for each in internal_imports(module)}
    return {other for other in others if LEVEL[other] > LEVEL[room_of(module)]}


def pairs_of_features():
    """Return which feature imports which other one."""
    return {
        (feature_of(module), imported)
        for module in IN_FEATURES
        for imported in imported_features(module).values()
    }


def main():
    """Print the figures."""
    of_kernel = sum(len(imported_features(each)) for each in KERNEL)
    print(f"imports of a feature by the kernel: {of_kernel}")
    print(f"pairs of features of which one imports the other: {len(pairs_of_features())}")
    print(f"imports upward: {sum(len(imports_upward(each)) for each in MODULES)}")
    lines = lines_by_owner()
    print(f"modules: {len(MODULES)}, with {lines.total()} lines, of which")
    for owner, number in lines.most_common():
        print(f"{number:6} {owner}")


if __name__ == "__main__":
    main()
