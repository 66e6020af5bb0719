"""Fixtures: sites with features of others, whose tables are dropped after each test."""

import shutil
from dataclasses import replace

import pytest

from tests.cli.conftest import person, wsgiauth
from tests.support.later import LATER
from tests.support.sites import echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.storage import schema

__all__ = ["person", "wsgiauth"]


@pytest.fixture
def settings(settings):
    """Return the settings of a test; its database ends without tables of others."""
    yield settings
    opened = storage.open_database(settings.DATABASE_URL, prepare=lambda opened: None)
    own = ("wsgiauth_", "sqlite_")
    others = (each for each in opened.get_tables() if not each.startswith(own))
    for table in sorted(others, reverse=True):  # as they refer to others
        opened.execute_sql(f"DROP TABLE {table}")
    opened.execute_sql("DROP TABLE IF EXISTS wsgiauth_more")
    opened.execute_sql(f"DELETE FROM wsgiauth_migration WHERE name = '{LATER}'")  # noqa: S608
    storage.discard_connection(opened)


@pytest.fixture
def open_with(settings):
    """Return a function that opens the database of a site with features."""
    made = []

    def open_it(*features, prepare=schema.make_ready):
        made.append(storage.open_for(replace(settings, FEATURES=features), prepare=prepare))
        return made[-1]

    yield open_it
    for each in made:
        storage.discard_connection(each)


@pytest.fixture
def migrate(open_with):
    """Return a function that migrates for features, and returns what it applied."""

    def run(*features):
        applied = []
        open_with(*features, prepare=lambda opened: applied.extend(schema.migrate(opened)))
        return applied

    return run


@pytest.fixture
def make_site(settings):
    """Return a function that makes a site with features, on the database of the test."""
    made = []

    def make(*features):
        made.append(AuthMiddleware(echo, replace(settings, FEATURES=features)))
        return made[-1]

    yield make
    for each in made:
        storage.discard_connection(each.database)


@pytest.fixture
def install_later_version(tmp_path, monkeypatch):
    """Return a function that replaces the migrations of wsgiauth by those of a later version."""
    folder = tmp_path / "later"
    shutil.copytree(schema.MIGRATIONS, folder)
    (folder / f"{LATER}.py").write_text(
        "def up(migrator, db): db.execute_sql('CREATE TABLE wsgiauth_more (id INTEGER)')",
        encoding="utf-8",
    )
    return lambda: monkeypatch.setattr(schema, "MIGRATIONS", folder)
