"""Statements whose SQL Peewee writes once, which takes thirty times as long as executing them."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Generic, NamedTuple, TypeVar, cast

import peewee

from wsgiauth.storage import current
from wsgiauth.storage.context import current_request

_Model = TypeVar("_Model", bound=peewee.Model)


class _Given(NamedTuple):
    name: str
    adapt: Callable[[Any], object]


class _Written(NamedTuple):
    """What Peewee wrote for a kind of database."""

    sql: str
    values: list[Any]  # in the order of the SQL: constants and `_Given`
    names: frozenset[str]  # of the values that an execution gives


def given(column: Any, name: str = "") -> peewee.Value:
    """Return the place of a value in a `Statement`, which is converted as `column` converts it.

    Places of the same name get the same value, also those of different columns. To compare with
    the old value and set a new one, name one of them: `given(Mail.due_at, "lease_ends_at")`. For
    several values, see `is_one_of`. A place cannot be in `startswith` or `contains`.

    Args:
        name: The name of the value, if it is not the column's.
    """
    place = _Given(name or column.name, column.db_value)
    return peewee.Value(place, converter=False, unpack=False)


def is_given(column: Any, name: str = "") -> Any:
    """Return the condition that `column` has a given value."""
    return column == given(column, name)


def is_one_of(column: Any, number: int) -> Any:
    """Return the condition that `column` has one of so many given values: see `numbered`.

    The SQL depends on the number: keep a statement for each.

    Example:
        @lru_cache(maxsize=4)
        def named(number: int) -> Statement:
            return Statement(lambda: Badge.select(Badge.id).where(is_one_of(Badge.name, number)))

        rows = named(len(names)).fetchall(**numbered("name", names))
    """
    return column.in_([given(column, f"{column.name}{each}") for each in range(number)])


def numbered(name: str, values: Iterable[object]) -> dict[str, object]:
    """Return values for `is_one_of`; `name` is the name of the column."""
    return {f"{name}{each}": value for each, value in enumerate(values)}


def locked(query: Any) -> Any:
    """Return the SELECT that also locks its rows until the transaction ends.

    It sees what other transactions committed before the lock. On SQLite it only reads: a
    transaction that writes is the only one.
    """
    return query.for_update() if current().for_update else query


class _WrittenOnce:
    """Keeps the SQL of a query, by the class of the database."""

    def __init__(self, query: Callable[[], peewee.Query]) -> None:
        self._query = query
        self._written: dict[type[peewee.Database], _Written] = {}

    def _written_for(self, opened: peewee.Database) -> _Written:
        kind = type(opened)
        if kind not in self._written:
            sql, values = opened.get_sql_context().sql(self._query()).query()
            names = frozenset(each.name for each in values if type(each) is _Given)
            self._written[kind] = _Written(sql, values, names)
        return self._written[kind]


class Statement(_WrittenOnce):
    """A query whose values, at the places made by `given`, have names.

    Every other value in the query is a constant, from its first execution.

    Example:
        rename = Statement(
            lambda: Badge.update(name=given(Badge.name)).where(is_given(Badge.id))
        )
        number = rename.execute(id=7, name="early")
    """

    def execute(self, **values: object) -> int:
        """Execute an INSERT, UPDATE or DELETE, and return the number of changed rows."""
        opened: Any = current_request()[0] or current()
        written = self._written_for(opened)
        number: int = opened.execute_sql(written.sql, _parameters(written, values)).rowcount
        return number

    def fetchone(self, **values: object) -> tuple[Any, ...] | None:
        """Execute a SELECT, and return the first of its rows as the driver returns it, or None.

        All rows are read, so a query that finds several needs a limit.
        """
        rows = self.fetchall(**values)
        return rows[0] if rows else None

    def fetchall(self, **values: object) -> list[tuple[Any, ...]]:
        """Execute a SELECT, and return every row as the driver returns it.

        SQLite has strings instead of times (see `as_utc`), and numbers instead of booleans.
        """
        opened: Any = current_request()[0] or current()
        written = self._written_for(opened)
        rows: list[tuple[Any, ...]] = opened.fetchall(written.sql, _parameters(written, values))
        return rows


class ModelStatement(Statement, Generic[_Model]):
    """A SELECT of models, which Peewee makes of the rows."""

    def __init__(self, query: "Callable[[], peewee.ModelSelect[_Model]]") -> None:
        super().__init__(query)
        self._model_of: Callable[[tuple[Any, ...]], _Model] | None = None

    def first(self, **values: object) -> _Model | None:
        """Execute, and return the model of the first row, or None; see `fetchone`."""
        models = self.all(**values)
        return models[0] if models else None

    def all(self, **values: object) -> list[_Model]:
        """Execute, and return the model of every row."""
        rows = self.fetchall(**values)
        if self._model_of is None:
            self._model_of = _reader_of(self._query())
        return [self._model_of(row) for row in rows]


def _reader_of(query: Any) -> Callable[[tuple[Any, ...]], Any]:
    """Return the function of Peewee that makes the models of a row."""
    names = [(each.name,) for each in query._returning]
    reader = query._get_cursor_wrapper(SimpleNamespace(description=names))
    reader.initialize()  # finds the fields and the joins, which takes as long as ten rows
    read: Callable[[tuple[Any, ...]], Any] = reader.process_row
    return read


class OrderedSelect(_WrittenOnce):
    """A SELECT of each request, whose values have the order of the SQL.

    Every value in the query is a place, also `True` and a limit: what it says there does not count.
    Write constants as `peewee.SQL("0")`. Values are not converted. This saves a microsecond.

    Example:
        row = OrderedSelect(lambda: Badge.select(Badge.name).where(Badge.id == 0)).fetchone(7)
    """

    def fetchone(self, *parameters: object) -> tuple[Any, ...] | None:
        """Execute, and return the first row, or None."""
        opened: Any = current_request()[0] or current()
        row: tuple[Any, ...] | None = opened.fetchone(self._written_for(opened).sql, parameters)
        return row

    def fetchall(self, *parameters: object) -> list[tuple[Any, ...]]:
        """Execute, and return every row."""
        opened: Any = current_request()[0] or current()
        rows: list[tuple[Any, ...]] = opened.fetchall(self._written_for(opened).sql, parameters)
        return rows


def insert_row(model: type[peewee.Model], **row: object) -> None:
    """Insert a row, whose SQL is written once; columns without a value get their defaults.

    Raises:
        peewee.IntegrityError: The row exists, or a foreign key refuses it.
        TypeError: A column has neither a value nor a default.
    """
    _insert(model, row, ignores_conflict=False)


def insert_or_ignore(model: type[peewee.Model], **row: object) -> bool:
    """Insert a row unless there is one with the same key; return whether it was inserted."""
    return _insert(model, row, ignores_conflict=True) > 0


def _insert(model: type[peewee.Model], row: dict[str, object], ignores_conflict: bool) -> int:
    for field, default in model._meta.defaults.items():
        if field.name not in row:
            row[field.name] = default() if callable(default) else default
    return _insertion(model, tuple(row), ignores_conflict).execute(**row)


@lru_cache(maxsize=256)
def _insertion(
    model: type[peewee.Model], names: tuple[str, ...], ignores_conflict: bool
) -> Statement:
    places = {getattr(model, name): given(getattr(model, name), name) for name in names}
    lacking = [
        each.name
        for each in cast(Any, model)._meta.sorted_fields
        if not (each in places or each.null or isinstance(each, peewee.AutoField))
    ]
    if lacking:  # SQLite ignores this as it ignores a conflict
        raise TypeError(f"a row of {model.__name__} also needs {', '.join(lacking)}")
    # Without the key that Peewee adds for PostgreSQL: MySQL has no RETURNING.
    return Statement(lambda: model.insert(places).on_conflict_ignore(ignores_conflict).returning())


def _parameters(written: _Written, values: dict[str, object]) -> tuple[object, ...]:
    if values.keys() != written.names:  # else an UPDATE could leave out a column unnoticed
        raise TypeError(f"the statement needs {sorted(written.names)}, not {sorted(values)}")
    return tuple(
        [each.adapt(values[each.name]) if type(each) is _Given else each for each in written.values]
    )
