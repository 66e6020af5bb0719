"""Migrations: their result, which equals the models, and how they are applied."""

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from urllib.parse import urlsplit

import peewee
import pytest
from playhouse import db_url
from playhouse.schema_diff import diff_models

from tests.conftest import SERVERS, insert_user
from tests.support.leftovers import own_name
from tests.support.schema import (
    LAST_BEFORE_1_0,
    MIGRATIONS,
    MODELS,
    record,
    take_back_migrations,
)
from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.storage import context, schema
from wsgiauth.testing.feature_rules.tables import shape

BY_DOMAIN = "wsgiauth_user_email_domain"  # of an expression, and so of no model
TABLES = {model._meta.table_name for model in MODELS}


@pytest.fixture
def unmigrated(database):
    """Return the database without its tables."""
    take_back_migrations(database)
    yield database
    context.use(database)
    schema.migrate(database)


@pytest.fixture
def recorded(database):
    """Return the database, for a test that records other migrations."""
    yield database
    record(database, *MIGRATIONS)


@pytest.fixture
def file(tmp_path):
    """Return another connection to a new SQLite file."""
    connection = sqlite3.connect(tmp_path / "new.db", isolation_level=None)
    yield connection
    connection.close()


@pytest.fixture
def server_url(request, server_urls):
    """Return the URL of a database that has been migrated, on this kind of server."""
    return server_urls(request.param)


@pytest.fixture
def own_migrations(monkeypatch, tmp_path):
    """Return a folder from which migrations are taken instead of the package's."""
    folder = tmp_path / "migrations"
    folder.mkdir()
    monkeypatch.setattr(schema, "MIGRATIONS", folder)
    return folder


def shapes(database):
    """Return what the database knows about each table, but for the domains of addresses."""
    left_out = ("email_domain", BY_DOMAIN)
    return {table: shape(database, table, without=left_out) for table in TABLES}


@pytest.mark.every_database
def test_the_schema_is_that_of_the_models(database):
    found = diff_models(database, MODELS)
    assert {each.name for each in found.drop_indexes} == {BY_DOMAIN}
    has_column = isinstance(database, peewee.MySQLDatabase)
    assert found.drop_columns == [("wsgiauth_user", "email_domain")] * has_column
    assert not found._replace(drop_columns=[], drop_indexes=[])


@pytest.mark.every_database
def test_the_columns_are_those_that_the_models_would_make(unmigrated, monkeypatch):
    for foreign_key in chain.from_iterable(model._meta.refs for model in MODELS):
        monkeypatch.setattr(foreign_key, "deferred", False)  # so that CREATE TABLE contains it
    unmigrated.create_tables(MODELS)
    made_by_models = shapes(unmigrated)
    unmigrated.drop_tables(MODELS)
    schema.migrate(unmigrated)
    migrated = shapes(unmigrated)
    for table in sorted(TABLES):
        assert migrated[table] == made_by_models[table], f"the migrations of {table} differ"


@pytest.mark.every_database
@pytest.mark.promise(10)
@pytest.mark.parametrize("column", ["username_key", "email_key"])
def test_names_are_unique_by_constraint(database, column):
    unique = [index.columns for index in database.get_indexes("wsgiauth_user") if index.unique]
    assert [column] in unique


def test_every_table_of_mariadb_compares_bytes(server_urls):
    database = storage.open_database(server_urls("mariadb"))
    query = (
        "SELECT table_name, column_name, collation_name FROM information_schema.columns"
        " WHERE table_schema = DATABASE() AND table_name LIKE 'wsgiauth%%'"
        " AND table_name <> 'wsgiauth_migration' AND collation_name <> 'utf8mb4_bin'"
    )
    assert database.execute_sql(query).fetchall() == ()
    storage.discard_connection(database)


@pytest.mark.every_database
def test_an_index_has_the_domains_of_addresses(database):
    assert BY_DOMAIN in {each.name for each in database.get_indexes("wsgiauth_user")}


@pytest.mark.every_database
def test_each_index_is_named_after_its_table(database):
    """Such as user_email_key, the names of others could exist in the application's schema."""
    for table in TABLES:
        names = {index.name for index in database.get_indexes(table)} - {"PRIMARY"}
        assert all(table in name for name in names)


@pytest.mark.every_database
def test_migrating_says_what_it_did(unmigrated):
    assert schema.migrate(unmigrated) == MIGRATIONS
    assert set(unmigrated.get_tables()) >= TABLES


@pytest.mark.every_database
def test_migrating_again_does_nothing(database):
    assert schema.pending(database) == []
    assert schema.migrate(database) == []


@pytest.mark.parametrize("server_url", SERVERS, indirect=True)
def test_a_server_whose_schema_is_behind_is_refused(server_url, own_migrations):
    (own_migrations / "0002_more.py").write_text("def up(migrator, db): pass", encoding="utf-8")
    with pytest.raises(ConfigurationError, match=r"0002_more.*python -m wsgiauth migrate"):
        storage.open_database(server_url)


def test_a_file_whose_schema_is_behind_is_brought_up_to_date(unmigrated):
    reopened = storage.open_database(f"sqlite:///{unmigrated.database}")
    assert schema.pending(reopened) == []


@pytest.mark.every_database
def test_the_tables_of_the_last_version_before_1_0_stay(recorded):
    insert_user("Ada", "ada@example.org")
    record(recorded, LAST_BEFORE_1_0)
    assert schema.migrate(recorded) == MIGRATIONS
    assert schema.migrate(recorded) == []
    assert User.get().username == "Ada"


@pytest.mark.every_database
@pytest.mark.parametrize("last", ["0001_initial", "0001_tables", "0011_trusted_browsers"])
def test_the_tables_of_an_older_version_are_refused(recorded, last):
    record(recorded, last)
    for prepare in (schema.make_ready, schema.migrate):
        with pytest.raises(ConfigurationError, match=r"below \"Coming from a checkout of 0\.x\""):
            prepare(recorded)


def test_a_database_that_a_newer_version_has_migrated_is_used(database, own_migrations):
    (own_migrations / "0002_more.py").write_text("def up(migrator, db): pass", encoding="utf-8")
    assert schema.migrate(database) == ["0002_more"]
    (own_migrations / "0002_more.py").unlink()
    reopened = storage.open_database(f"sqlite:///{database.database}")
    assert schema.pending(reopened) == []


# Trouble


def test_a_migration_that_fails_leaves_nothing_behind(database, own_migrations):
    (own_migrations / "0002_broken.py").write_text(
        "def up(migrator, db):\n"
        "    db.execute_sql('CREATE TABLE half_made (id INTEGER)')\n"
        "    db.execute_sql('no SQL')\n",
        encoding="utf-8",
    )
    with pytest.raises(peewee.OperationalError):
        schema.migrate(database)
    assert not database.table_exists("half_made")
    assert schema.pending(database) == ["0002_broken"]
    assert database.pragma("foreign_keys") == 1


def test_rebuilding_a_table_deletes_nothing_that_refers_to_it(database, own_migrations):
    user = User.create(
        username="Ada", email="ada@example.org", hashed_password=f"$2b$04${'a' * 21}e{'a' * 31}"
    )
    user.grant("reports.publish")
    (own_migrations / "0002_rebuild.py").write_text(
        "def up(migrator, db):\n"
        "    migrator.migrate(migrator.add_not_null('wsgiauth_user', 'email'))\n",
        encoding="utf-8",
    )
    schema.migrate(database)
    assert user.permissions == {"reports.publish"}


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_a_file_that_stays_locked_is_given_up(lock, file, tmp_path, monkeypatch):
    monkeypatch.setattr(schema, "LOCK_TIMEOUT", 0)
    file.execute(f"BEGIN {lock}")
    with pytest.raises(ConfigurationError, match="locked"):
        storage.open_database(f"sqlite:///{tmp_path}/new.db?timeout=0")


def test_a_file_that_is_locked_for_a_moment_is_waited_for(file, tmp_path):
    file.execute("CREATE TABLE anything (id INTEGER)")
    file.execute("BEGIN IMMEDIATE")
    with ThreadPoolExecutor(1) as thread:
        opening = thread.submit(storage.open_database, f"sqlite:///{tmp_path}/new.db?timeout=0")
        with pytest.raises(TimeoutError):
            opening.result(timeout=0.05)
        file.execute("ROLLBACK")
    assert schema.pending(opening.result()) == []
    storage.discard_connection(opening.result())


@pytest.mark.parametrize("server_url", ["mariadb"], indirect=True)
def test_mariadb_is_given_up_when_another_process_migrates_forever(
    server_url, own_migrations, monkeypatch
):
    other = storage.open_database(server_url, prepare=schema.pending)
    other.execute_sql("SELECT GET_LOCK(CONCAT('wsgiauth.', LEFT(MD5(DATABASE()), 16)), 0)")
    (own_migrations / "0002_more.py").write_text("def up(migrator, db): pass", encoding="utf-8")
    monkeypatch.setattr(schema, "LOCK_TIMEOUT", 0)
    with pytest.raises(ConfigurationError, match="another process has been migrating"):
        storage.open_database(server_url, prepare=schema.migrate)
    storage.discard_connection(other)


@pytest.mark.promise(26)
def test_a_database_that_cannot_hold_every_name_is_refused(server_urls):
    url = server_urls("postgresql")
    server = db_url.connect(url)
    server.execute_sql(
        f"CREATE DATABASE {own_name()}_latin1 ENCODING 'LATIN1' TEMPLATE template0"
        " LC_COLLATE 'C' LC_CTYPE 'C'"
    )
    latin1 = urlsplit(url)._replace(path=f"/{own_name()}_latin1").geturl()
    try:
        for prepare in (schema.make_ready, schema.migrate):
            with pytest.raises(ConfigurationError, match="encoding is LATIN1"):
                storage.open_database(latin1, prepare=prepare)
    finally:
        server.execute_sql(f"DROP DATABASE {own_name()}_latin1 WITH (FORCE)")
        server.close()


def test_another_charset_for_mariadb_is_refused():
    with pytest.raises(ConfigurationError, match="charset other than utf8mb4"):
        storage.open_database("mysql://root@127.0.0.1/name?charset=latin1")
