"""The rules for tables and their migrations."""

import json
from collections.abc import Iterable, Iterator
from typing import Any

import peewee

from wsgiauth.accounts import delete_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import Records
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.storage import schema
from wsgiauth.storage.models import Model
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
        "columns": sorted(
            each._replace(default=None)
            for each in database.get_columns(table)
            if each.name not in left_out
        ),
        "indexes": sorted(
            (each.columns, each.unique, (each.sql or "").replace(each.name, ""))
            for each in database.get_indexes(table)
            if each.name not in left_out and [*each.columns] != key
        ),
        "primary key": key,
        "references": sorted(
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
        made = [each for each in found[what] if each not in expected[what]]
        wanted = [each for each in expected[what] if each not in found[what]]
        if made or wanted:
            yield f"the migrations make the {what} {made}, and the model has {wanted}"
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
