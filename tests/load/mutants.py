"""Do the tests notice a fault in the code that keeps accounts safe? `python -m tests.load.mutants`.

Changes one place of the package at a time (a *mutant*: a negated condition, `<` for `<=`, a call
that is left out, …) and runs tests until one fails: first those of the changed module, then those
of its room, at last those of the endpoints and the guards; on SQLite only. A mutant that survives
all of them is a missing test, or makes no difference. Prints a line for each, and the sums.

A mutant is described by its function and the text of its statement, so that the same mutants are
found again in another state of the code, in which functions have moved to other files:

    python -m tests.load.mutants chosen.json  # writes those that it chooses, if there is no file
    git switch another-branch
    python -m tests.load.mutants chosen.json  # takes those of the file; `gone`: not found again

It works on copies, in two processes, for some ten minutes.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import count, repeat
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

import wsgiauth

ROOT = Path(wsgiauth.__file__).parent.parent
SEED = 20
NUMBER = 100
PROCESSES = 2
MODULES = (
    "accounts/names",
    "accounts/passwords",
    "authentication/identity",
    "authentication/one_time",
    "authentication/password",
    "authentication/sessions",
    "authentication/tokens",
    "features/keys/api_keys",
    "guards",
    "throttling/counts",
    "throttling/throttle",
    "web/cross_origin",
    "web/urls",
)
HTTP_TESTS = (
    "tests/test_guards.py",
    "tests/test_middleware.py",
    "tests/endpoints",
    "tests/features",
)

OPPOSITE = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}


class Mutant(NamedTuple):
    """A change of one place, told without line numbers."""

    module: str  # where it was when it was chosen
    function: str  # its qualified name; "" for the module itself
    statement: str  # its first line, as Python writes it
    before: str
    after: str
    occurrence: int = 0  # among equal ones of the function

    def __str__(self):
        name = f"{self.module} {self.function or '(module)'}"
        return f"{name}: {self.statement}  [{self.before} → {self.after}]"


class Place(NamedTuple):
    """Where a mutant is in a file."""

    path: Path
    node: ast.AST
    mutant: Mutant

    def mutated(self):
        """Return the source of the file with the change."""
        lines = self.path.read_bytes().splitlines(keepends=True)
        start = sum(map(len, lines[: self.node.lineno - 1])) + self.node.col_offset
        end = sum(map(len, lines[: self.node.end_lineno - 1])) + self.node.end_col_offset
        if isinstance(self.node, ast.expr) and self.mutant.after == "":  # a decorator, with its @
            start -= 1
        source = b"".join(lines)
        return source[:start] + self.mutant.after.encode() + source[end:]


def changes(node):
    """Yield each node in a node that can be changed, and the text that replaces it."""
    if isinstance(node, (ast.If, ast.IfExp)) and not isinstance(node.test, ast.Compare):
        yield node.test, f"not ({ast.unparse(node.test)})"
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
        yield node, f"{left} {OPPOSITE[type(node.ops[0])]} {right}"
    elif isinstance(node, ast.Compare):
        yield node, f"not ({ast.unparse(node)})"
    if isinstance(node, ast.BoolOp):
        other = " or " if isinstance(node.op, ast.And) else " and "
        yield node, "(" + other.join(f"({ast.unparse(value)})" for value in node.values) + ")"
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node, f"({ast.unparse(node.operand)})"
    if isinstance(node, ast.Constant) and type(node.value) is bool:
        yield node, str(not node.value)
    if isinstance(node, ast.Constant) and type(node.value) is int:
        yield node, str(node.value + 1)
    if isinstance(node, (ast.Raise, ast.AugAssign)):
        yield node, "pass"
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield node, "pass"
    if isinstance(node, ast.If):  # an early return
        yield from ((each, "pass") for each in node.body if isinstance(each, ast.Return))
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield from ((each, "") for each in node.decorator_list if not is_harmless(each))


def is_harmless(decorator):
    """Return whether code does the same without a decorator."""
    return ast.unparse(decorator).partition("(")[0] in ("cache", "lru_cache", "overload")


class Finder(ast.NodeVisitor):
    """Lists the places of a module."""

    def __init__(self, path):
        self.path = path
        self.module = path.relative_to(ROOT / "wsgiauth").with_suffix("").as_posix()
        self.places = []
        self._names = []
        self._statement = ""
        self._seen = Counter()
        self.visit(ast.parse(path.read_bytes()))

    def visit(self, node):
        if isinstance(node, ast.stmt):
            self._statement = ast.unparse(node).splitlines()[0]
        statement = self._statement
        for changed, after in changes(node):
            told = ".".join(self._names), statement, ast.unparse(changed), after
            mutant = Mutant(self.module, *told, self._seen[told])
            self._seen[told] += 1
            self.places.append(Place(self.path, changed, mutant))
        is_named = isinstance(node, (ast.FunctionDef, ast.ClassDef))
        if is_named:
            self._names.append(node.name)
        for name, value in ast.iter_fields(node):
            if name not in ("annotation", "returns"):
                for child in value if isinstance(value, list) else [value]:
                    if isinstance(child, ast.AST):
                        self._statement = statement
                        self.visit(child)
        if is_named:
            self._names.pop()


@cache
def all_places():
    """Return every place in the package that can be changed."""
    paths = sorted((ROOT / "wsgiauth").rglob("*.py"))
    return [place for path in paths for place in Finder(path).places]


def choose():
    """Return mutants of the modules in turn, always the same ones for the same code."""
    chance = random.Random(SEED)  # noqa: S311 - not for secrets
    found = []
    for module in MODULES:
        own = [each.mutant for each in all_places() if each.mutant.module == module]
        found.append(chance.sample(own, min(len(own), NUMBER)))
    rows = [mutants[row] for row in range(NUMBER) for mutants in found if row < len(mutants)]
    return rows[:NUMBER]


def find(mutant):
    """Return the place of a mutant, wherever its function is now; None if it is gone."""
    name = mutant.function.rpartition(".")[2]
    found = {}
    for place in all_places():
        now = place.mutant
        if now[3:] != mutant[3:] or now.function.rpartition(".")[2] != name:
            continue
        if now.statement != mutant.statement and now[:2] != mutant[:2]:
            continue
        nearness = (
            now.function == mutant.function,
            now.statement == mutant.statement,
            now.module == mutant.module,
            room_of(now.module) == room_of(mutant.module),
        )
        found.setdefault(nearness, place)
    return found[max(found)] if found else None


def room_of(module):
    return module.rpartition("/")[0]


def stages(mutant, place):
    """Yield lists of tests to run, one after the other."""
    modules = [mutant.module, place.mutant.module]
    rooms = [f"tests/{room_of(each)}" for each in modules if room_of(each)]
    own = [
        f"tests/{room_of(each)}/test_{each.rpartition('/')[2]}.py".replace("//", "/")
        for each in modules
    ]
    for stage in own, rooms, HTTP_TESTS:
        tests = [each for each in dict.fromkeys(stage) if (ROOT / each).exists()]
        if tests:
            yield tests


def judge(number, mutant, copies):
    """Return what happens to a mutant, and the first test that fails."""
    place = find(mutant)
    if place is None:
        return "gone", ""
    copy = copies.get()
    path = copy / place.path.relative_to(ROOT)
    original = path.read_bytes()
    try:
        path.write_bytes(place.mutated())
        os.utime(path, (number, number))  # else bytecode of another state could pass for this one
        for tests in stages(mutant, place):
            failed = run(tests, copy)
            if failed:
                return "killed", failed
        return "survived", ""
    finally:
        path.write_bytes(original)
        copies.put(copy)


def run(tests, copy):
    """Return the first test that fails in a copy; "" if none does."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "--tb=no", "-p", "no:cacheprovider"]
    command += ["-p", "wsgiauth.pytest_plugin", "-k", "not postgresql and not mariadb"]
    command += ["--ignore-glob=*/test_openapi*", *tests]  # which take a minute
    mine = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": ""}
    no_plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # to import them would take half the time
    done = subprocess.run(
        command, cwd=copy, env={**os.environ, **mine, **no_plugins}, capture_output=True, text=True
    )
    if done.returncode in (0, 5):  # 5: no tests
        return ""
    lines = done.stdout.splitlines()
    named = [line for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return named[0].split(" - ")[0].partition(" ")[2] if named else "(pytest itself ends)"


def copy_of_project(folder):
    """Return a copy of what the tests need."""
    ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "artefacts", "mails")
    return Path(shutil.copytree(ROOT, folder, ignore=ignored))


def main(path):
    """Print what happens to each mutant."""
    if path and path.exists():
        mutants = [Mutant(**each) for each in json.loads(path.read_text())]
    else:
        mutants = choose()
        if path:
            path.write_text(json.dumps([each._asdict() for each in mutants], indent=1))
    sums = Counter()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(PROCESSES) as threads:
        copies = SimpleQueue()
        for number in range(PROCESSES):
            copies.put(copy_of_project(f"{folder}/{number}"))
        rooms = sorted({room_of(module) for module in MODULES} - {""})
        failed = run([*(f"tests/{room}" for room in rooms), *HTTP_TESTS], Path(f"{folder}/0"))
        if failed:
            sys.exit(f"Without any change fails {failed}")
        for mutant, (fate, test) in zip(
            mutants, threads.map(judge, count(1), mutants, repeat(copies)), strict=True
        ):
            sums[fate] += 1
            print(f"{fate:9} {mutant}  {test}", flush=True)
    print(", ".join(f"{number} {fate}" for fate, number in sums.items()))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.load.mutants")
    parser.add_argument("chosen", nargs="?", type=Path, help="a JSON file of mutants")
    main(parser.parse_args().chosen)
