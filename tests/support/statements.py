"""Which statements wsgiauth sends, and from which places of its code."""

import ast
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import peewee

import wsgiauth
from wsgiauth import storage
from wsgiauth.storage import databases

PACKAGE = Path(wsgiauth.__file__).parent

LEFT_OUT = (
    "contrib/django/",  # statements of Django's, which reads the tables as its own
    "contrib/pyramid.py",  # one statement, as that of `User.groups`
    "storage/",  # settings of connections, locks, and what others ask for
    "testing/",  # in the tests of applications
)

# The methods that begin a query, of a model or of what stands for one.
_BEGINNINGS = {"select", "update", "delete", "insert", "insert_many", "insert_from"}
_UPDATE_OF_USERS = ("accounts/models.py", "update")  # which others call, as the tests do
_MODELS = {"model", "_model", "users", "RecordedEvent"}


class Place(NamedTuple):
    """A call in the code, by the lines that it takes."""

    file: str
    first: int
    last: int

    def __str__(self):
        return f"{self.file}:{self.first}"


class Statement(NamedTuple):
    """A statement that was sent.

    Attributes:
        origin: The file and the function of the package that began it.
    """

    sql: str
    parameters: tuple
    origin: tuple[str, str]


def places():
    """Return the calls in functions of the package that begin a query, found by their form."""
    found = set()
    for path in sorted(PACKAGE.rglob("*.py")):
        file = str(path.relative_to(PACKAGE))
        if file.startswith(LEFT_OUT):
            continue
        tree = ast.parse(path.read_text())
        functions = (each for each in ast.walk(tree) if isinstance(each, _FUNCTIONS))
        for node in (node for function in functions for node in ast.walk(function)):
            if isinstance(node, ast.Call) and _begins_query(node.func):
                found.add(Place(file, node.lineno, node.end_lineno))
    return found


_FUNCTIONS = (ast.FunctionDef, ast.Lambda)


def _begins_query(function):
    if not isinstance(function, ast.Attribute):
        return False
    return function.attr == "execute_sql" or (
        function.attr in _BEGINNINGS and _is_model(function.value)
    )


def _is_model(node):
    """Return whether an expression is a class of rows, or has the name of one."""
    if isinstance(node, ast.Name):
        return node.id[0].isupper() or node.id in _MODELS
    return isinstance(node, ast.Attribute) and node.attr in _MODELS


class Recording:
    """What was sent.

    Attributes:
        statements: By their SQL.
    """

    def __init__(self):
        self.statements = {}
        self._lines = set()

    def has_seen(self, place):
        """Return whether a query was begun in a place."""
        return any((place.file, line) in self._lines for line in range(place.first, place.last + 1))

    def begun(self):
        """Note where a query begins; return the file and function, or None outside the package."""
        frames = [*_own_frames()]
        self._lines |= {(file, line) for file, _, line in frames}
        if frames and frames[0][:2] == _UPDATE_OF_USERS:
            frames.pop(0)
        return frames[0][:2] if frames else None

    def add(self, sql, parameters, origin):
        if origin is not None:
            self.statements.setdefault(sql, Statement(sql, tuple(parameters or ()), origin))


def _own_frames():
    """Yield the file, the function and the line of each frame of the package, the innermost first.

    The room `storage` is left out: it sends what others have begun.
    """
    frame = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename.removeprefix(f"{PACKAGE}/")
        is_own = file != frame.f_code.co_filename
        if is_own and not file.startswith("storage/"):
            yield file, frame.f_code.co_name, frame.f_lineno
        frame = frame.f_back


@contextmanager
def recording(driver):
    """Record the statements of databases that are opened in the body, and where they begin.

    Args:
        driver: The kind of database, as in a URL. It gets a class of its own, so that statements
            whose SQL is kept are made anew.
    """
    recorded = Recording()
    begin, base = peewee.BaseQuery.__init__, databases.DRIVERS[driver]
    opened = []

    def begin_query(self, *arguments, **keywords):
        self.origin_of_query = recorded.begun()  # its clones have it, too
        begin(self, *arguments, **keywords)

    class Recorded(base):
        _origin = None

        def __init__(self, *arguments, **keywords):
            super().__init__(*arguments, **keywords)
            opened.append(self)

        def execute(self, query, *arguments, **keywords):
            self._origin = getattr(query, "origin_of_query", None)
            return super().execute(query, *arguments, **keywords)

        def execute_sql(self, sql, params=None):
            origin, self._origin = self._origin, None
            recorded.add(sql, params, origin or recorded.begun())
            return super().execute_sql(sql, params)

        def fetchall(self, sql, parameters):
            recorded.add(sql, parameters, recorded.begun())
            return super().fetchall(sql, parameters)

    try:
        with (
            patch.object(peewee.BaseQuery, "__init__", begin_query),
            patch.dict(databases.DRIVERS, {driver: Recorded}),
        ):
            yield recorded
    finally:  # what fails is kept with its connections
        for each in opened:
            storage.discard_connection(each)
