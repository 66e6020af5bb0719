"""Commands on a database with the tables of a feature."""

import json

import peewee
import pytest
from webtest import TestApp

from tests.features_of_others.badges_1.feature import FEATURE, Badge, award
from tests.storage.conftest import HASH, run_python
from tests.support.later import ROOT
from tests.support.sites import SECRET_KEY, USERNAME
from wsgiauth import User, storage
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.events.models import RecordedEvent
from wsgiauth.feature import Feature
from wsgiauth.storage.models import Model
from wsgiauth.testing import bearer

NAME = f"{award.__module__}:FEATURE"
FIRST = "badges: 0001_badges"


@pytest.fixture
def wsgiauth(wsgiauth, monkeypatch):
    """Return the function that runs a command, with the feature."""
    monkeypatch.setenv("FEATURES", NAME)
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    yield wsgiauth
    storage.discard_connection(storage.current())  # the command has opened another one


@pytest.fixture
def awarded(migrate, open_with, ada):
    """Return a user with a badge that has not expired, and one that has."""
    migrate(FEATURE)
    open_with(FEATURE)
    award(ada, "diver")
    award(ada, "sailor", expires_at=1)
    return ada


@pytest.mark.every_database
def test_migrate_names_the_feature(wsgiauth):
    assert wsgiauth("migrate") == (0, f"Applied {FIRST}.\n", "")
    assert wsgiauth("migrate") == (0, "The schema is up to date.\n", "")


def test_migrate_names_the_migration_that_fails(wsgiauth, monkeypatch, tmp_path):
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations/0001_tables.py").write_text("1 / 0\n", encoding="utf-8")
    (tmp_path / "medals.py").write_text(
        "from pathlib import Path\n"
        "from wsgiauth.feature import Feature\n"
        "FEATURE = Feature(name='medals', folder=Path(__file__).parent)\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("FEATURES", f"{NAME} medals:FEATURE")
    assert wsgiauth("migrate") == (
        1,
        "",
        "wsgiauth: The migration 0001_tables of the feature medals failed (ZeroDivisionError:"
        " division by zero).\n",
    )


def test_check_notes_what_the_next_start_applies_and_changes_nothing(wsgiauth, database):
    for _ in range(2):
        status, output, _ = wsgiauth("check")
        assert status == 0
        assert f"note: Migrations to apply: {FIRST}. The next start will do so.\n" in output
    assert not database.table_exists("badges_badge")


def test_a_command_brings_a_file_up_to_date(wsgiauth, database):
    assert wsgiauth("users")[0] == 0
    assert database.table_exists("badges_badge")
    assert "Migrations to apply" not in wsgiauth("check")[1]


@pytest.mark.every_database
def test_check_warns_of_a_table_that_the_database_lacks(wsgiauth, migrate, database):
    migrate(FEATURE)
    warning = "warning: The database lacks the table badges_badge of the feature badges"
    assert warning not in wsgiauth("check")[1]
    storage.discard_connection(storage.current())
    database.execute_sql("DROP TABLE badges_badge")
    assert warning in wsgiauth("check")[1]


@pytest.mark.every_database
@pytest.mark.usefixtures("awarded")
def test_purge_deletes_expired_rows(wsgiauth):
    status, output, _ = wsgiauth("purge")
    assert (status, "1 expired badge," in output) == (0, True)
    assert [each.name for each in Badge.select()] == ["diver"]


@pytest.mark.every_database
@pytest.mark.promise(104)
@pytest.mark.usefixtures("awarded")
def test_restored_deletes_what_the_feature_has_issued(wsgiauth):
    status, output, _ = wsgiauth("restored", "--yes")
    assert (status, "2 badges." in output) == (0, True)
    assert Badge.select().count() == 0


class Lost(Model):
    """Has no table."""

    expires_at = peewee.BigIntegerField()

    class Meta:
        table_name = "toy_that_is_lost"  # which a check at start does not know


LOST = Feature(name="lost", expiring={"lost toy": Lost}, at_restore={"lost toy": Lost})


@pytest.fixture
def failing(wsgiauth, awarded, monkeypatch):
    """Let a feature fail before the other one."""
    monkeypatch.setenv("FEATURES", f"{__name__}:LOST {NAME}")


def require_lost(answer):
    """Assert that a command names the rows that stay, and return its output."""
    status, output, errors = answer
    assert status == 1
    assert errors.startswith("wsgiauth: these rows stay, because their feature fails: ")
    assert len(errors.splitlines()) == 1
    return output


@pytest.mark.every_database
@pytest.mark.promise(105)
@pytest.mark.usefixtures("failing")
def test_purge_deletes_all_but_the_rows_of_a_feature_that_fails(wsgiauth):
    RecordedEvent.create(name="login", time=0, actor="user 1")
    output = require_lost(wsgiauth("purge"))
    assert "1 expired badge," in output
    assert "and 1 event of the audit trail" in output
    assert Badge.select().count() == 1


@pytest.mark.usefixtures("failing")
def test_without_a_database_purge_names_no_feature(wsgiauth, monkeypatch):
    monkeypatch.setattr("wsgiauth.events.actors.can_go_on", lambda opened: False)
    status, _, errors = wsgiauth("purge")
    assert status == 1
    assert "toy_that_is_lost" in errors
    assert "these rows stay" not in errors


@pytest.mark.every_database
@pytest.mark.promise(104)
@pytest.mark.promise(105)
@pytest.mark.usefixtures("failing")
def test_restored_deletes_all_but_the_rows_of_a_feature_that_fails(wsgiauth, settings):
    sessions.start(User.get(), Tokens(settings))
    output = require_lost(wsgiauth("restored", "--yes"))
    assert "1 session, " in output
    assert "2 badges." in output
    assert Session.select().count() == Badge.select().count() == 0


@pytest.mark.every_database
@pytest.mark.promise(86)
@pytest.mark.usefixtures("awarded")
def test_the_data_of_a_user_has_the_rows_of_the_feature(make_site, wsgiauth):
    rows = [{"name": "diver"}, {"name": "sailor"}]
    site = make_site(FEATURE)
    answer = TestApp(site).get("/auth/data", headers=bearer(site, User.get()), status=200)
    assert answer.json["badges"] == rows
    status, output, _ = wsgiauth("personal-data", USERNAME)
    assert (status, json.loads(output)["badges"]) == (0, rows)


@pytest.mark.slow
def test_a_script_that_opens_nothing_has_the_tables(tmp_path):
    program = f"""
from wsgiauth import User, storage
from {award.__module__} import Badge, award
award(User.create(username="Ada", email="ada@example.org", hashed_password={HASH!r}), "diver")
print(Badge.select().count())
"""
    assert run_python(program, tmp_path, FEATURES=NAME, PYTHONPATH=str(ROOT)) == "1\n"
