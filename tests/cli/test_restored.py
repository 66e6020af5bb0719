"""The command `restored`, after the restore of a backup."""

import re
from contextlib import suppress
from threading import get_ident
from types import SimpleNamespace

import peewee
import pytest
from webtest import TestApp

from tests.cli.conftest import Terminal
from tests.conftest import insert_user
from tests.support import features
from tests.support.driving import make_site
from tests.support.schema import MODELS
from tests.support.sites import PASSWORD
from wsgiauth import Group, User, storage
from wsgiauth.accounts.tables import TrustedBrowser
from wsgiauth.authentication import one_time
from wsgiauth.cli import main, restored
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.factors import recovery_codes
from wsgiauth.storage import context
from wsgiauth.testing import api_key, bearer, make_user

pytestmark = pytest.mark.promise(104)

# The tables whose rows stay, and why they can.
KEPT = {
    "wsgiauth_user": "their stamps are raised",
    "wsgiauth_permission": "no credential",
    "wsgiauth_group": "no credential",
    "wsgiauth_group_permission": "no credential",
    "wsgiauth_membership": "no credential",
    "wsgiauth_attempt_count": "known clients are of a stamp; limits must not begin anew",
    "wsgiauth_failed_logins": "for the staff",
    "wsgiauth_event": "the audit trail",
    "wsgiauth_event_count": "figures",
    "wsgiauth_webhook": "receivers know the ids of those that they got",
    "wsgiauth_former_password": "a way to compare a password",
    "wsgiauth_totp": "a second factor, as of the backup",
    "wsgiauth_passkey": "the same",
    "wsgiauth_passkey_account": "says how a user registered",
    "wsgiauth_identity": "a way to log in, as of the backup",
    "wsgiauth_terms_acceptance": "the user has agreed",
    "wsgiauth_oauth_client": "an app, as of the backup",
    "wsgiauth_oauth_origin": "of an app",
    "wsgiauth_oauth_document": "of an app",
    "wsgiauth_oauth_session": "its app is still to get a logout token",
}
NUMBERED = ("wsgiauth_user", "wsgiauth_group", "wsgiauth_event")


@pytest.fixture
def full(database, settings, tmp_path):
    """Return a site with rows in every table, and its user."""
    site = make_site(settings.DATABASE_URL, tmp_path)
    site.site.outbox.keep_messages()
    with context.using(site.database):
        user = make_user(site, "ada", password=PASSWORD)
        for each in features.declared("fill").values():
            each(site, user)
        trusted = {"factors": "", "created_at": 0, "expires_at": 2**40, "address": "", "agent": ""}
        TrustedBrowser.insert(id="b", user=user, digest="d", stamp=0, **trusted).execute()
    yield SimpleNamespace(site=site, user=user)
    storage.discard_connection(site.database)


@pytest.fixture
def restore(database, wsgiauth):
    """Return a function that runs the command: its exit status, output and errors."""

    def run(*options):
        try:
            return wsgiauth("restored", *options)
        finally:
            storage.discard_connection(storage.current())
            context.use(database)

    return run


def rows():
    return {each._meta.table_name: each.select().count() for each in MODELS}


def restored_events():
    return [each for each in RecordedEvent.select() if each.name == "restored"]


@pytest.mark.every_database
def test_each_table_is_emptied_or_named_as_kept(full, restore):
    before = rows()
    assert {name for name in before if not before[name]} <= KEPT.keys()
    status, _, errors = restore("--yes", "--end-recovery-codes")
    assert (status, errors) == (0, "")
    after = rows()
    emptied = {name for name in before if after[name] == 0 and name not in KEPT}
    assert emptied == before.keys() - KEPT.keys(), "end its rows (`Feature.at_restore`), or keep"
    changed = {name for name in KEPT.keys() & after.keys() if after[name] != before[name]}
    assert changed == {"wsgiauth_event", "wsgiauth_event_count"}  # of the command


@pytest.mark.every_database
def test_it_says_what_it_has_done_and_what_it_cannot_know(full, restore):
    recovery_codes.replace(full.user, rounds=4)
    newest = RecordedEvent.select(peewee.fn.MAX(RecordedEvent.time)).scalar()
    status, output, _ = restore("--yes")
    assert status == 0
    deleted, numbers, lost, *checks = output.splitlines()
    assert re.fullmatch(r"Deleted \d+ API keys?, .*, \d+ sessions?, \d+ app grants?, .*\.", deleted)
    assert re.fullmatch(
        r"New numbers begin after \d{7,} \(users\), \d{7,} \(groups\), \d{7,} \(events\)\.", numbers
    )
    (event,) = restored_events()
    assert (event.user_id, f"Deleted {event.reason}.") == (None, deleted)
    since = restored.utc_text(restored.from_timestamp(newest))
    assert lost == f"Changes after {since} are lost. Check:"
    assert checks[0].startswith("- recovery codes: used ones work again, and 1 user can have some")
    assert [each.split(":")[0] for each in checks] == ["- recovery codes", "- users", "- apps"]


@pytest.mark.every_database
def test_another_run_ends_nothing_more_and_moves_the_numbers_again(full, restore):
    _, first, _ = restore("--yes")
    before, stamp = rows(), User.get_by_id(full.user.id).security_stamp
    status, second, _ = restore("--yes")
    assert status == 0
    assert set(re.findall(r"(\d+) [a-zA-Z]", second.splitlines()[0])) == {"0"}
    assert second.splitlines()[2] == first.splitlines()[2]  # the time of the backup
    assert rows() == before | {"wsgiauth_event": before["wsgiauth_event"] + 1}
    assert User.get_by_id(full.user.id).security_stamp > stamp + restored.SKIP - 1
    assert make_user(full.site, "eve").id > full.user.id + 2 * restored.SKIP


@pytest.mark.every_database
def test_recovery_codes_stay_unless_they_are_to_end(full, restore):
    recovery_codes.replace(full.user, rounds=4)
    link = one_time.issue("reset", full.user, now=0, lifetime=2**40)
    restore("--yes")
    assert one_time.find(link, "reset", now=0) is None
    assert recovery_codes.count(full.user) == recovery_codes.NUMBER
    _, output, _ = restore("--yes", "--end-recovery-codes")
    assert "10 recovery codes" in output
    assert "- recovery codes" not in output
    assert recovery_codes.count(full.user) == 0


@pytest.mark.every_database
def test_no_number_is_given_twice_also_of_rows_that_were_deleted(database, ada, grace, restore):
    grace.delete_instance()
    status, _, _ = restore("--yes", "--skip", "5000")
    assert status == 0
    first, second = (insert_user(name, f"{name}@example.org").id for name in ("heidi", "ivan"))
    # PostgreSQL takes one number to see the last.
    assert 0 <= first - (grace.id + 5001) <= 1
    assert second == first + 1
    assert restored_events()[0].id > 5000


@pytest.mark.every_database
@pytest.mark.parametrize("has_row", [False, True])
def test_a_table_without_rows_has_its_numbers_moved(database, restore, has_row):
    former = 0
    if has_row:
        former = Group.objects.create(name="Clerks").id
        Group.delete().execute()
    restore("--yes")
    assert Group.objects.create(name="Editors").id > former + restored.SKIP


def test_an_empty_trail_has_no_time(database, restore):
    assert "Changes after the backup are lost." in restore("--yes")[1]


def test_a_script_has_to_say_yes(full, restore):
    before = rows()
    reason = "wsgiauth: standard input is not a terminal: give --yes\n"
    assert restore() == (1, "", reason)
    assert rows() == before


def test_a_person_is_asked(full, monkeypatch, restore, capsys):
    before = rows()
    for answer, status in (("n\n", 1), ("y\n", 0)):
        monkeypatch.setattr("sys.stdin", Terminal(answer))
        assert main(["restored"]) == status
        assert (rows() == before) == (status == 1)
    asked = "Revoke the sessions, API keys, links and grants of all users? [y/N]"
    assert asked in capsys.readouterr().out


def test_the_skip_has_a_limit(database, restore, capsys):
    with pytest.raises(SystemExit, match="2"):
        restore("--yes", "--skip", str(restored.MAX_SKIP + 1))
    assert "--skip takes at most 100000000" in capsys.readouterr().err


# Kills


class Killed(BaseException):
    """What ends a run, as SIGKILL does, between two statements."""


@pytest.mark.every_database
def test_a_run_that_was_killed_at_any_statement_is_completed_by_another(full, restore, monkeypatch):
    session, key = bearer(full.site, full.user), api_key(full.site, full.user)
    client, kill_at = TestApp(full.site), 0
    execute = peewee.Database.execute_sql

    def killed(statements):
        left, thread = iter(range(statements)), get_ident()

        def counting(self, sql, params=None):
            is_change = sql.split()[0] in ("UPDATE", "DELETE", "INSERT", "ALTER") or "setval" in sql
            if get_ident() == thread and is_change and next(left, None) is None:
                raise Killed
            return execute(self, sql, params)

        return counting

    is_complete = False
    while not is_complete:
        with monkeypatch.context() as patch:
            patch.setattr(peewee.Database, "execute_sql", killed(kill_at))
            with suppress(Killed):
                is_complete = restore("--yes", "--end-recovery-codes")[0] == 0
        kill_at += 1
        answers = [client.get("/auth/me", headers=each, status="*") for each in (session, key)]
        if User.get_by_id(full.user.id).security_stamp:
            assert {each.status_int for each in answers} == {401}, kill_at
            assert make_user(full.site, f"user{kill_at}").id > full.user.id + restored.SKIP
    assert kill_at > 10
    assert restored_events()
    after = rows()
    assert not {name for name in after if after[name] and name not in KEPT}
