"""The rules for tables and their migrations."""

import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import peewee
from playhouse.migrations import Runner

from wsgiauth.accounts import delete_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import Records
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.storage import context, schema
from wsgiauth.storage.connections import discard_connection
from wsgiauth.storage.models import Model
from wsgiauth.storage.sqlite import Memory
from wsgiauth.testing.feature_rules.scene import Finding, Scene

_USERS = User._meta.table_name
_EXPIRY = "expires_at"
_SAFE = ("CASCADE", "SET NULL")


def check_tables(scene: Scene) -> Iterator[Finding]:
    """Yield what is wrong with tables: names, columns, references to users, and expiry."""
    models = scene.models
    with scene.database() as database:
        for table, model in models.items():
            for advice in _faults(scene, database, table, model):
                yield Finding("tables", table, advice)
        if scene.feature.migrations is not None:
            yield from _one_by_one(scene)
            yield from _of_migrations(scene, database, models)
        if scene.fill is not None:
            yield from _of_users(scene)


def shape(
    database: peewee.Database, table: str, *, without: Iterable[str] = ()
) -> dict[str, list[Any]]:
    """Return the columns, indexes, keys and references of a table, to compare it with another.

    What differs by design is left out: names of indexes, which a model names after its class and a
    migration after the table; defaults, which a migration needs for the rows that exist; and an
    index on the primary key, in whose order a table may be.

    Args:
        without: The names of further columns and indexes to leave out.
    """
    left_out, key = {*without}, [*database.get_primary_keys(table)]
    return {
        "column": sorted(
            f"{each.name} {each.data_type}{'' if each.null else ' NOT NULL'}"
            for each in database.get_columns(table)
            if each.name not in left_out
        ),
        "index": sorted(
            (each.columns, each.unique, (each.sql or "").replace(each.name, ""))
            for each in database.get_indexes(table)
            if each.name not in left_out and [*each.columns] != key
        ),
        "primary key": key,
        "reference": sorted(
            (*each[:3], each.on_delete) for each in database.get_foreign_keys(table)
        ),
    }


def _of_users(scene: Scene) -> Iterator[Finding]:
    """Read the rows of a user for the file of the user's own data, and delete the user."""
    stranger, user = scene.make_user(), scene.make_user()
    records = scene.feature.personal_data
    of_stranger = {table: _listed(scene, each, stranger) for table, each in records.items()}
    scene.filled(user)
    for table, model in scene.models.items():
        if not model.select().exists():
            yield Finding("tables", table, "`fill` inserts no row")
    for table, each in records.items():
        _listed(scene, each, user)
        if _listed(scene, each, stranger) != of_stranger[table]:
            yield Finding("tables", table, "its `Records` list rows of another user")
    delete_user(user)


def _listed(scene: Scene, records: Records, user: User) -> str:
    """Return the rows of a user, as JSON."""
    return json.dumps([*records.read(user, scene.site.settings)], allow_nan=False)


def _one_by_one(scene: Scene) -> Iterator[Finding]:
    """Apply the migrations, each to the tables of the one before."""
    sequence = schema.sequences_of([scene.feature])[-1]
    names = sorted(sequence.known())
    for one, other in pairwise(names):
        if one[:4] == other[:4]:
            yield Finding("tables", other, f"give it another number than {one}")
    database = Memory()
    schema.make_ready(database)
    with context.using(database):
        database.pragma("foreign_keys", 0)
        runner = Runner(database, str(sequence.folder), sequence.table)
        for name in names:
            before = {each: _needed(database, each) for each in database.get_tables()}
            runner.up(name)
            for table, columns in before.items():
                for column in sorted(_needed(database, table) - columns):
                    advice = f"let {column} be null=True: the version before inserts rows, too"
                    yield Finding("tables", name, advice)
    discard_connection(database)


def _needed(database: peewee.Database, table: str) -> set[str]:
    """Return the names of the columns in which each row has a value."""
    return {each.name for each in database.get_columns(table) if not each.null}


def _of_migrations(scene: Scene, database: Any, models: Iterable[str]) -> Iterator[Finding]:
    """Apply all migrations again, as after a process that was killed between two statements."""
    prefix = f"{scene.feature.name}_"
    record, tables = f"{prefix}migration", {*database.get_tables()}
    for table in tables - {*models, record}:
        if table.startswith(prefix):
            yield Finding("tables", table, "the feature has no model of this table")
    before = {table: shape(database, table) for table in tables.intersection(models)}
    database.execute_sql(f"DELETE FROM {record}")  # noqa: S608 - the name is checked at start
    try:
        schema.migrate(database)
    except ConfigurationError as error:
        yield Finding("tables", "migrations", f"let each work a second time: {error}")
    for table, found in before.items():
        if shape(database, table) != found:
            yield Finding("tables", table, "its migrations change it when they are applied again")


def _faults(scene: Scene, database: Any, table: str, model: type[Model]) -> Iterator[str]:
    prefix = "wsgiauth_" if scene.is_own else f"{scene.feature.name}_"
    if not f"{table}_".startswith(prefix):
        yield f"let the name of the table begin with {prefix}"
    if not database.table_exists(table):
        yield "no migration of the feature makes the table of this model"
        return
    found, expected = shape(database, table), _shape_of(model)
    for what in found:
        for each in expected[what]:
            if each not in found[what]:
                yield f"the migrations do not make the {what} {each}, which the model has"
        for each in found[what]:
            if each not in expected[what]:
                yield f"the model does not have the {what} {each}, which the migrations make"
    indexes = [each.columns[0] for each in database.get_indexes(table)]
    indexes += database.get_primary_keys(table)[:1]
    yield from _references(scene, database.get_foreign_keys(table), indexes)
    if _EXPIRY in model._meta.columns:
        if model not in scene.feature.expiring.values():
            yield f"its rows have {_EXPIRY}: add the model to `expiring`"
        if _EXPIRY not in indexes:
            yield f"purging needs an index that begins with {_EXPIRY}"


def _shape_of(model: type[Model]) -> dict[str, list[Any]]:
    """Return the shape of the table that a model makes."""
    database = peewee.SqliteDatabase(":memory:")
    with database, database.bind_ctx([model], bind_refs=False, bind_backrefs=False):
        database.create_tables([model])
        return shape(database, model._meta.table_name)


def _references(scene: Scene, keys: Any, indexes: list[str]) -> Iterator[str]:
    for key in keys:
        if key.column not in indexes:
            yield f"the foreign key {key.column} needs an index that begins with it"
        if key.dest_table == _USERS and key.on_delete not in _SAFE:
            yield f"{key.column} needs ON DELETE CASCADE or SET NULL"
        if key.dest_table == _USERS and key.table not in scene.site.personal_data.tables:
            yield "it has rows of a user: add it to `personal_data`"
