"""The command line: what each command does, prints, and exits with."""

import gc
import io
import json
import os
import pty
import re
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time
import tracemalloc
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.conftest import Terminal
from tests.conftest import insert_users
from tests.support.keys import make_key
from tests.support.mails import MAIL
from tests.support.permissions import OTHER, give_away, ordinary_user, public_folder
from tests.support.schema import MIGRATIONS
from tests.support.settings import LONG_KEY
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME
from wsgiauth import Settings, User, __version__, storage, verify_password
from wsgiauth.accounts import create_user, find_user, update_user
from wsgiauth.accounts.listing import PAGE
from wsgiauth.accounts.tables import Key, Session
from wsgiauth.authentication import lifetimes, one_time, sessions
from wsgiauth.authentication.session_list import handle_of
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.cli import all_commands, main, make_parser
from wsgiauth.events.models import RecordedEvent
from wsgiauth.feature import Feature
from wsgiauth.features import registry
from wsgiauth.settings import PER_ADDRESS
from wsgiauth.storage import schema
from wsgiauth.storage.models import utc_now
from wsgiauth.throttling.throttle import Throttle
from wsgiauth.web.clients import Client

CREATE = ["--username", USERNAME, "--email", EMAIL, "--password-stdin"]


def stored():
    return User.objects.get(username=USERNAME)


def test_createsuperuser_makes_an_administrator(wsgiauth):
    assert wsgiauth("createsuperuser", *CREATE, stdin=f"{PASSWORD}\n") == (
        0,
        "Created superuser Ada.\n",
        "",
    )
    assert (stored().is_superuser, stored().is_staff) == (True, True)
    assert verify_password(PASSWORD, stored().hashed_password)


def test_a_command_calls_the_recorders_of_each_feature(wsgiauth, monkeypatch):
    """They are promised each change, whatever the settings are."""
    seen = []
    recorder = lambda event, details: seen.append(event.name)  # noqa: E731
    feature = Feature(name="counting", recorder=lambda settings, site: recorder)
    monkeypatch.setattr(registry, "FEATURES", (*registry.FEATURES, feature))
    assert wsgiauth("users")[0] == 0
    assert seen == []
    assert wsgiauth("createuser", *CREATE, stdin=PASSWORD)[0] == 0
    assert wsgiauth("grant", USERNAME, "code.edit")[0] == 0
    assert seen == ["registration", "rights_changed"]


def test_createuser_makes_no_administrator(wsgiauth):
    assert wsgiauth("createuser", *CREATE, stdin=PASSWORD)[0] == 0
    assert (stored().is_superuser, stored().is_staff) == (False, False)
    grace = ("--username", "Grace", "--email", "g@x", "--password-stdin", "--staff")
    assert wsgiauth("createuser", *grace, stdin=PASSWORD)[0] == 0
    staff = User.objects.get(username="Grace")
    assert (staff.is_superuser, staff.is_staff) == (False, True)


def test_what_clipboards_and_powershell_add_is_no_part_of_a_name_or_a_password(wsgiauth):
    named = ["--username", f"\u200b{USERNAME} ", "--email", f"\ufeff{EMAIL}\u200e"]
    stdin = f"\ufeff{PASSWORD}\r\n"
    assert wsgiauth("createuser", *named, "--password-stdin", stdin=stdin)[0] == 0
    ada = find_user(USERNAME)
    assert (ada.username, ada.email) == (USERNAME, EMAIL)
    assert verify_password(PASSWORD, ada.hashed_password)
    assert wsgiauth("set", f" {EMAIL}\ufeff", "--username", "Countess\u200b")[0] == 0
    assert wsgiauth("events", " Countess")[0] == 0
    assert "Countess" in wsgiauth("users", "\u200ecount")[1]


def test_a_password_that_breaks_a_rule_is_refused(wsgiauth):
    for stdin, reason in {
        "short\n": "A password must have at least 8 characters.",
        "": "unexpected end of input",
    }.items():
        assert wsgiauth("createuser", *CREATE, stdin=stdin) == (1, "", f"wsgiauth: {reason}\n")
    assert User.objects.count() == 0


def test_a_taken_name_is_refused(wsgiauth, person):
    status, _, errors = wsgiauth("createuser", *CREATE, stdin=PASSWORD)
    assert (status, errors) == (
        1,
        "wsgiauth: This username is taken. This email address is taken.\n",
    )


def test_a_command_that_makes_a_database_names_it(wsgiauth, monkeypatch, tmp_path):
    file = tmp_path / "other.db"
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{file}")
    note = f"note: {file} is a new database\n"
    assert wsgiauth("createsuperuser", *CREATE, stdin=PASSWORD) == (
        0,
        "Created superuser Ada.\n",
        note,
    )
    assert note not in wsgiauth("createuser", "--username=G", "--email=g@x")[2]


def test_createsuperuser_says_how_to_make_an_existing_user_a_superuser(wsgiauth, person):
    status, _, errors = wsgiauth("createsuperuser", *CREATE, stdin=PASSWORD)
    *_, advice = errors.partition("python -m wsgiauth ")
    assert (status, advice) == (1, "set NAME --staff --superuser\n")
    command = advice.replace("NAME", USERNAME).split()
    assert wsgiauth(*command)[1] == f"Ada ({EMAIL}) has staff: yes, superuser: yes.\n"


def test_a_script_is_not_asked_for_what_it_left_out(wsgiauth):
    status, _, errors = wsgiauth("createuser")
    assert status == 1
    assert errors.endswith("give --username, --email and --password-stdin\n")


def test_a_script_is_told_the_options_that_its_command_lacks(wsgiauth, person):
    for command, missing in {
        "createuser --username grace --password-stdin": "--email",
        "changepassword ada": "--password-stdin",
        "deleteuser ada": "--yes",
    }.items():
        reason = f"wsgiauth: standard input is not a terminal: give {missing}\n"
        assert wsgiauth(*command.split(), stdin="four other words\n") == (1, "", reason)


def test_a_malformed_name_does_not_hide_that_the_other_is_taken(wsgiauth, person):
    for username, email, messages in (
        ("ada", "nowhere", "This username is taken. Enter an email"),
        ("a b", EMAIL, "This email address is taken. A username"),
    ):
        names = ("--username", username, "--email", email, "--password-stdin")
        status, _, errors = wsgiauth("createuser", *names, stdin="short\n")
        assert (status, errors.startswith(f"wsgiauth: {messages}")) == (1, True)
        assert errors.endswith("A password must have at least 8 characters.\n")


@pytest.mark.parametrize(
    ("options", "keys", "done"),
    [
        pytest.param([], 0, ", and revoked all sessions and 2 API keys", id="revokes keys"),
        pytest.param(
            ["--keep-keys"], 2, " and revoked all sessions; API keys stay valid", id="keeps keys"
        ),
    ],
)
def test_changepassword_ends_all_sessions(wsgiauth, person, bearer, options, keys, done):
    bearer(person)
    for _ in range(2):
        make_key(person)
    command = ("changepassword", "ADA", "--password-stdin", *options)
    status, output, _ = wsgiauth(*command, stdin="other words")
    assert (status, output) == (0, f"Changed the password of Ada{done}.\n")
    assert verify_password("other words", stored().hashed_password)
    assert sessions.revoke_all(User.get_by_id(person.id)) == 0
    assert Key.select().count() == keys


def test_deactivate_and_activate_can_be_repeated(wsgiauth, person, bearer):
    bearer(person)
    ended = "Ada can no longer log in; all sessions are revoked.\n"
    for expected in (ended, "Nothing changed: Ada cannot log in.\n"):
        assert wsgiauth("deactivate", EMAIL) == (0, expected, "")
        assert not stored().is_active
    assert sessions.revoke_all(User.get_by_id(person.id)) == 0
    for expected in ("Ada can log in.\n", "Nothing changed: Ada can log in.\n"):
        assert wsgiauth("activate", EMAIL) == (0, expected, "")
        assert stored().is_active


def test_grant_and_revoke_print_what_is_held(wsgiauth, person):
    assert wsgiauth("grant", "ada", "b.b", "a.a") == (0, "Ada has: a.a, b.b\n", "")
    unchanged = (0, "Nothing changed: Ada has: a.a, b.b\n", "")
    assert wsgiauth("grant", "ada", "a.a") == unchanged
    assert wsgiauth("revoke", "ada", "c.c") == unchanged
    assert wsgiauth("revoke", "ada", "a.a", "b.b") == (0, "Ada has: no permissions\n", "")


def test_users_is_a_table(wsgiauth, person):
    person.grant("a.a", "b.b")
    _, output, _ = wsgiauth("users")
    heading, row = output.splitlines()
    assert heading.split() == [
        *("id", "username", "email", "active", "staff", "superuser", "created", "permissions"),
    ]
    created = person.created_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert row.split() == [str(person.id), "Ada", EMAIL, "yes", "no", "no", created, "a.a", "b.b"]
    assert row.index("Ada") == heading.index("username")


def test_users_can_be_json(wsgiauth, person):
    _, output, _ = wsgiauth("users", "--json")
    assert [user["username"] for user in json.loads(output)] == ["Ada"]
    assert wsgiauth("users", "nobody", "--json")[1] == "[]\n"


def test_users_can_be_chosen_by_prefix_and_limited(wsgiauth, person):
    insert_users(3)
    _, output, _ = wsgiauth("users", "USER", "--limit", "2", "--json")
    assert [user["username"] for user in json.loads(output)] == ["User0", "User1"]


def test_all_pages_of_users_are_one_document_and_one_table(wsgiauth, person):
    insert_users(PAGE)
    _, output, _ = wsgiauth("users", "--json")
    assert len(json.loads(output)) == PAGE + 1
    heading, *rows = wsgiauth("users")[1].splitlines()
    assert (heading.split()[0], len(rows)) == ("id", PAGE + 1)


@pytest.mark.parametrize("options", [[], ["--json"]], ids=["table", "JSON"])
@pytest.mark.slow
@pytest.mark.uncounted
def test_the_memory_for_users_does_not_grow_with_their_number(
    wsgiauth, person, monkeypatch, options
):
    def peak():
        with Path(os.devnull).open("w") as nowhere:
            monkeypatch.setattr(sys, "stdout", nowhere)
            gc.collect()  # the peak depends on when it was done last
            tracemalloc.start()
            assert main(["users", *options]) == 0
            _, most = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        return most

    insert_users(PAGE)
    peak()  # whatever is loaded only once
    few = peak()
    insert_users(3 * PAGE, start=PAGE)
    assert peak() < 2 * few


def test_sessions_lists_those_that_live(wsgiauth, person, settings):
    live = Tokens(settings)
    over = Tokens(settings, clock=lambda: 1_000_000_000)
    client = Client("192.0.2.1", "curl/8.14")
    session_id = sessions.start(person, live, client=client).session_id
    sessions.start(person, over)
    _, output, _ = wsgiauth("sessions", "ada")
    heading, row = output.splitlines()
    assert re.split("  +", heading) == [
        "handle",
        "began",
        "last seen",
        "ends unless used",
        "ends at the latest",
        "address",
        "browser",
        "proven by",
    ]
    assert (row.split()[0], row.split()[-3:]) == (
        handle_of(session_id),
        ["192.0.2.1", "curl", "pwd"],
    )
    assert session_id not in output


def test_sessions_shows_when_a_login_was_last_seen_and_when_it_ends(wsgiauth, person, settings):
    began = int(time.time()) - 60
    tokens = Tokens(settings, clock=lambda: began)
    sessions.start(person, tokens, lifetimes.of_browser(settings, remember=False))
    Session.update(created_at=datetime.fromtimestamp(began, UTC)).execute()
    _, output, _ = wsgiauth("sessions", "ada")
    times = [0, settings.JWT_EXPIRY_MINUTES * 60, settings.SESSION_HOURS * 3600]
    assert output.splitlines()[1].split()[2:5] == [
        datetime.fromtimestamp(began + each, UTC).strftime("%Y-%m-%dT%H:%M:%SZ") for each in times
    ]


def test_sessions_are_printed_as_json(wsgiauth, person, settings):
    first, second = (sessions.start(person, Tokens(settings)).session_id for _ in range(2))
    listed = json.loads(wsgiauth("sessions", "ada", "--json")[1])
    assert {each["handle"] for each in listed} == {handle_of(first), handle_of(second)}
    assert listed[0].keys() >= {"created_at", "expires_at", "address", "browser", "methods"}
    sessions.revoke_all(person)
    assert json.loads(wsgiauth("sessions", "ada", "--json")[1]) == []


def test_set_changes_what_is_given(wsgiauth, person):
    _, output, _ = wsgiauth("set", "ada", "--username", "Augusta", "--superuser", "--staff")
    assert output == f"Augusta ({EMAIL}) has staff: yes, superuser: yes.\n"
    wsgiauth("createsuperuser", *CREATE[2:], "--username=G", "--email=g@x", stdin=PASSWORD)
    _, output, _ = wsgiauth("set", "--no-superuser", "--email", "a@x", "augusta")
    assert output == "Augusta (a@x) has staff: yes, superuser: no.\n"
    changed = User.objects.get(id=person.id)
    assert (changed.username, changed.email) == ("Augusta", "a@x")
    assert (changed.is_staff, changed.is_superuser) == (True, False)


@pytest.mark.parametrize("command", ["createuser", "createsuperuser"])
def test_an_operator_creates_a_user_whose_address_is_verified(wsgiauth, command):
    assert wsgiauth(command, *CREATE, "--verified", stdin=PASSWORD)[0] == 0
    assert stored().email_verified_at is not None
    assert stored().email_verified_by == "operator"
    wsgiauth(command, "--username=G", "--email=g@x", "--password-stdin", stdin=PASSWORD)
    assert User.objects.get(username="G").email_verified_at is None


def test_an_operator_verifies_an_address_unless_a_link_has(wsgiauth, person):
    for proof, options, kept in (
        (None, [], "operator"),
        ("https://a.example", [], "operator"),  # a provider
        ("", [], "operator"),  # unknown
        ("link", [], "link"),
        ("link", ["--email", EMAIL], "link"),  # the same again
        ("link", ["--email", "new@x"], "operator"),
    ):
        verified_at = None if proof is None else utc_now()
        update_user(
            stored(), email=EMAIL, email_verified_at=verified_at, email_verified_by=proof or ""
        )
        status, output, _ = wsgiauth("set", "ada", "--verified", *options)
        assert (status, "Nothing changed" in output) == (0, kept == "link")
        assert f"{'new@x' if 'new@x' in options else EMAIL}, verified) has staff: no" in output
        assert stored().email_verified_at is not None
        assert stored().email_verified_by == kept, (proof, options)
        assert wsgiauth("set", "ada", "--verified")[1].startswith("Nothing changed: ")


def test_the_audit_trail_has_the_word_of_an_operator(wsgiauth, person):
    RecordedEvent.delete().execute()
    wsgiauth("set", "ada", "--verified")
    (event,) = RecordedEvent.select()
    assert (event.reason, event.actor) == ("email verified", "command line")


def test_set_to_what_is_set_already_says_that_nothing_changed(wsgiauth, person):
    status, output, _ = wsgiauth("set", "ada", "--username", "Ada", "--no-staff")
    state = f"Ada ({EMAIL}) has staff: no, superuser: no.\n"
    assert (status, output) == (0, f"Nothing changed: {state}")


def test_set_that_is_refused_changes_nothing(wsgiauth, person, settings):
    create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    status, _, errors = wsgiauth("set", "ada", "--username=grace", "--email=nowhere", "--staff")
    assert status == 1
    assert errors == (
        "wsgiauth: This username is taken. Enter an email address such as ada@example.org.\n"
    )
    assert (stored().email, stored().is_staff) == (EMAIL, False)


def test_the_last_active_superuser_stays(wsgiauth):
    wsgiauth("createsuperuser", *CREATE, stdin=PASSWORD)
    reason = "Ada is the last active superuser: make another user a superuser first"
    for command in (
        "deactivate ada",
        "set ada --no-superuser --username x",
        "deleteuser ada --yes",
    ):
        assert wsgiauth(*command.split()) == (1, "", f"wsgiauth: {reason}\n")
        assert (stored().is_active, stored().is_superuser) == (True, True)


def test_deleteuser_by_a_script_deletes(wsgiauth, person):
    assert wsgiauth("deleteuser", "ada", "--yes") == (0, "Deleted Ada.\n", "")
    assert User.objects.count() == 0


def test_deleteuser_asks_a_person(monkeypatch, capsys, wsgiauth, person):
    for answer, is_deleted in {
        "n\n": False,
        "\n": False,
        "ada\n": False,
        " YES \n": True,
    }.items():
        monkeypatch.setattr(sys, "stdin", Terminal(answer))
        status = main(["deleteuser", "ada"])
        captured = capsys.readouterr()
        assert f"Delete Ada ({EMAIL}) with all sessions and permissions? [y/N] " in captured.out
        assert (status, User.objects.count()) == ((0, 0) if is_deleted else (1, 1)), answer
        assert captured.err == ("" if is_deleted else "wsgiauth: nothing was changed\n")


def test_a_wrong_option_is_refused_before_anything_is_asked(wsgiauth, monkeypatch, capsys, person):
    monkeypatch.setattr(sys, "stdin", Terminal(""))
    for options, reason in (
        (["--username", "ada"], "This username is taken."),
        (["--email", "nowhere"], "Enter an email address such"),
    ):
        assert main(["createuser", *options]) == 1
        captured = capsys.readouterr()
        assert (captured.out, captured.err.startswith(f"wsgiauth: {reason}")) == ("", True)


def test_a_user_who_is_deleted_meanwhile_is_refused(wsgiauth, monkeypatch, capsys, person):
    monkeypatch.setattr(sys, "stdin", Terminal("y\n", before=person.delete_instance))
    assert main(["deleteuser", "ada"]) == 1
    assert capsys.readouterr().err == "wsgiauth: the user was deleted meanwhile\n"


def test_a_username_cannot_be_an_option(wsgiauth):
    names = ("--username=-h", *CREATE[2:])
    refused = (1, "", "wsgiauth: A username cannot begin with -.\n")
    assert wsgiauth("createuser", *names, stdin=PASSWORD) == refused


def test_an_older_username_that_looks_like_an_option_stands_after_two_dashes(
    wsgiauth, person, database
):
    database.execute_sql("UPDATE wsgiauth_user SET username = '-h', username_key = '-h'")
    assert wsgiauth("deactivate", "--", "-h")[:1] == (0,)
    assert not User.objects.get().is_active
    assert wsgiauth("set", "--username", "harry", "--", "-h")[0] == 0
    assert User.objects.get().username == "harry"


def test_logout_of_all_users_ends_all_sessions(wsgiauth, person, bearer, settings):
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    for user in (person, grace, grace):
        bearer(user)
    assert wsgiauth("logout", "--all") == (0, "Revoked 3 sessions of all users.\n", "")
    assert wsgiauth("logout", "--all") == (0, "Revoked 0 sessions of all users.\n", "")


def test_logout_ends_one_session_by_its_handle(wsgiauth, person, settings):
    ended, other = (sessions.start(person, Tokens(settings)).session_id for _ in range(2))
    handle = handle_of(ended)
    command = ("logout", "ada", "--session", handle)
    assert wsgiauth(*command) == (0, f"Revoked session {handle} of Ada.\n", "")
    assert wsgiauth(*command) == (1, "", f"wsgiauth: Ada has no session {handle}\n")
    assert [each.id for each in person.sessions] == [other]


def test_a_session_to_end_needs_its_user(wsgiauth, person, capsys):
    with pytest.raises(SystemExit, match="2"):
        wsgiauth("logout", "--all", "--session", "0" * 16)
    assert "--session needs a USER" in capsys.readouterr().err


def test_logout_ends_all_sessions(wsgiauth, person, bearer):
    bearer(person)
    assert wsgiauth("logout", "ada") == (0, "Revoked 1 session of Ada.\n", "")
    assert wsgiauth("logout", "ada") == (0, "Revoked 0 sessions of Ada.\n", "")


def test_purge_counts_what_had_expired(wsgiauth, person, settings):
    one_time.issue("reset", person, now=2**40, lifetime=1)
    one_time.issue("reset", person, now=0, lifetime=1)
    for _ in range(2):
        sessions.start(person, Tokens(settings))
    sessions.start(person, Tokens(settings, clock=lambda: 1_000_000_000))
    Throttle(settings, clock=lambda: 1_000_000_000).login(USERNAME, ("127.0.0.1",)).begin()
    RecordedEvent.update(time=0).where(RecordedEvent.name == "registration").execute()
    assert wsgiauth("purge") == (
        0,
        "Deleted 1 expired session, 1 expired link, 0 expired trusted browsers, 0 expired API keys,"
        " 0 expired app grants, 0 expired app sessions, 0 expired devices, 0 expired app documents,"
        " 0 expired unused apps, 0 expired authorization requests, 0 expired webhooks, 0 expired"
        " failure lists, 2 expired counts of attempts and 1 event of the audit trail.\n",
        "",
    )
    assert sessions.revoke_all(person) == 2


def test_migrate_of_a_current_schema_does_nothing(wsgiauth):
    assert wsgiauth("migrate") == (0, "The schema is up to date.\n", "")


def test_migrate_names_what_it_applied(wsgiauth, server_urls, request):
    url = f"{server_urls('postgresql')}?options=-csearch_path%3Dbehind"
    from playhouse import db_url

    server = db_url.connect(server_urls("postgresql"))
    server.execute_sql("CREATE SCHEMA behind")
    try:
        status, _, errors = wsgiauth("users", "--database", url)
        assert (status, "python -m wsgiauth migrate" in errors) == (1, True)
        assert wsgiauth("migrate", "--database", url) == (
            0,
            f"Applied {', '.join(MIGRATIONS)}.\n",
            "",
        )
    finally:
        server.execute_sql("DROP SCHEMA behind CASCADE")
        server.close()


def test_secret_prints_a_key_for_any_algorithm(wsgiauth):
    _, output, _ = wsgiauth("secret")
    assert Settings(SECRET_KEY=output.strip(), JWT_ALGORITHM="HS512")
    assert output != wsgiauth("secret")[1]


@pytest.mark.every_database
def test_check_accepts_what_the_server_would(wsgiauth, monkeypatch, person):
    person.is_superuser = True
    person.save()
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("BCRYPT_ROUNDS", "12")
    monkeypatch.setenv("COOKIE_SECURE", "on")
    for name in PER_ADDRESS:
        monkeypatch.setenv(name, "0")
    assert wsgiauth("check", "--strict") == (
        0,
        "The settings are valid and the database is ready.\n",
        "",
    )
    storage.discard_connection(storage.current())


def test_check_says_how_long_a_former_key_is_needed(wsgiauth, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    assert "SECRET_KEY_FALLBACKS" not in wsgiauth("check")[1]
    monkeypatch.setenv("SECRET_KEY_FALLBACKS", LONG_KEY)
    for changes, hours in (
        ({}, 720),
        ({"REMEMBER_DAYS": "0"}, 12),
        ({"REMEMBER_DAYS": "0", "JWT_EXPIRY_MINUTES": "721"}, 13),
        ({"REMEMBER_DAYS": "1", "SESSION_HOURS": "48"}, 48),
    ):
        with monkeypatch.context() as patch:
            for name, value in changes.items():
                patch.setenv(name, value)
            _, output, _ = wsgiauth("check")
        assert f"it has signed nothing for {hours} hours" in output


def test_check_says_that_emails_do_not_show_an_svg(wsgiauth, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("SITE_LOGO", "/logo.svg")
    noted = "note: SITE_LOGO is an SVG image, which few mail programs show"
    assert noted not in wsgiauth("check")[1]  # without emails
    for name, value in (MAIL | {"MAIL_URL": "console:"}).items():
        monkeypatch.setenv(name, value)
    assert noted in wsgiauth("check")[1]
    monkeypatch.setenv("SITE_LOGO_EMAIL", "/logo.png")
    assert noted not in wsgiauth("check")[1]


def test_check_says_how_many_connections_logins_need(wsgiauth, settings, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("HASHING_THREADS", "10")
    noted = "note: The pool of DATABASE_URL has {} connections: with max_connections=22, "
    url = settings.DATABASE_URL
    for chosen, most in (
        (url, None),
        (url.replace("sqlite:", "sqlite+pool:"), 20),
        (f"{url.replace('sqlite:', 'sqlite+pool:')}?max_connections=21", 21),
        (f"{url.replace('sqlite:', 'sqlite+pool:')}?max_connections=22", None),
    ):
        monkeypatch.setenv("DATABASE_URL", chosen)
        output = wsgiauth("check")[1]
        storage.discard_connection(storage.current())
        assert (noted.format(most) in output) == (most is not None), chosen
        assert ("The pool of" in output) == (most is not None), chosen


def test_check_names_what_is_risky(wsgiauth, monkeypatch, database):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("JWT_EXPIRY_MINUTES", "500000")
    os.chmod(database.database, 0o644)  # noqa: PTH101 - Peewee keeps a text
    status, output, _ = wsgiauth("check")
    assert status == 0
    strict, same, complaint = wsgiauth("check", "--strict")
    assert (strict, complaint) == (1, "wsgiauth: there are warnings\n")
    assert output.startswith(same)
    *risks, _ = output.splitlines()
    for risk, beginning in zip(
        risks,
        (
            "warning: JWT_EXPIRY_MINUTES is 500000",
            "warning: BCRYPT_ROUNDS is 4",
            f"warning: {database.database} can be opened by other users (mode 0644)",
            "note: There is no superuser",
        ),
        strict=True,
    ):
        assert risk.startswith(beginning)


@pytest.mark.promise(29)
def test_a_host_that_only_a_failover_would_need_is_checked(wsgiauth, server_urls, monkeypatch):
    def warnings(url):
        monkeypatch.setenv("DATABASE_URL", url)
        output = wsgiauth("check")[1]
        storage.discard_connection(storage.current())
        return output

    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    url = urlsplit(server_urls("postgresql"))
    with_silent = url._replace(netloc=f"{url.netloc},127.0.0.1:1").geturl()
    warned = "warning: 127.0.0.1:1 of DATABASE_URL cannot be used, also after a failover: "
    assert warned in warnings(with_silent)
    twice = f"{url.netloc},{url.netloc.rpartition('@')[2]}"
    assert "cannot be used" not in warnings(url._replace(netloc=twice).geturl())


def test_a_bad_file_of_breached_passwords_is_named(wsgiauth, monkeypatch, person):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("BREACHED_PASSWORDS", "/no/such/file")
    for command in ("check", "users", "changepassword ada --password-stdin"):
        status, _, complaint = wsgiauth(*command.split())
        assert status == 1
        assert complaint.startswith("wsgiauth: BREACHED_PASSWORDS must be a file of SHA-1 hashes")
        assert "'/no/such/file' does not exist" in complaint


def test_check_names_a_variable_that_is_nearly_a_setting(wsgiauth, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("BCRYPT_ROUND", "10")
    monkeypatch.delenv("BCRYPT_ROUNDS")
    reason = "BCRYPT_ROUND is not a setting and is ignored; the similar BCRYPT_ROUNDS is not set."
    assert f"warning: {reason}\n" in wsgiauth("check")[1]
    assert wsgiauth("check", "--strict")[0] == 1


def test_check_notes_that_all_clients_have_the_address_of_a_proxy(wsgiauth, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    *others, last = PER_ADDRESS
    sentence = f"cannot, set {', '.join(others)} and {last} to 0.\n"
    for addresses, is_noted in (
        ([], False),
        ([None], False),  # a command
        (["127.0.0.1", "::1", None], True),  # this machine alone
        (["127.0.0.1", "192.0.2.7"], False),
    ):
        RecordedEvent.delete().execute()
        for address in addresses:
            RecordedEvent.create(time=1, name="login", actor="user 7", address=address)
        assert (sentence in wsgiauth("check")[1]) is is_noted, addresses
        with monkeypatch.context() as patch:
            for name in PER_ADDRESS:
                patch.setenv(name, "0")
            assert "note: All recent clients" not in wsgiauth("check")[1]


def test_check_notes_a_cookie_that_need_not_be_secure(wsgiauth, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    for url, secure, domain, is_noted in (
        ("https://example.org", "auto", "", True),
        ("https://example.org", "on", "", False),
        ("https://example.org", "auto", "example.org", False),
        ("http://localhost:8080", "auto", "", False),
    ):
        values = {"PUBLIC_URL": url, "COOKIE_SECURE": secure, "COOKIE_DOMAIN": domain}
        for name, value in values.items():
            monkeypatch.setenv(name, value)
        assert ("note: COOKIE_SECURE is auto" in wsgiauth("check")[1]) is is_noted, values


def test_check_notes_settings_that_are_empty(wsgiauth, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("REGISTRATION", "")
    monkeypatch.setenv("MAIL_URL", "")
    assert "\nnote: Empty settings, which count as not set: " in (output := wsgiauth("check")[1])
    assert {"REGISTRATION", "MAIL_URL"} <= {*re.split(r"[ ,.]", output)}


def test_check_has_no_note_on_a_site_that_is_right(wsgiauth, monkeypatch, person):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    update_user(person, is_superuser=True)
    assert "note:" not in wsgiauth("check")[1]


@pytest.mark.promise(29)
def test_check_names_all_mistakes_and_a_name_that_is_nearly_a_setting(wsgiauth, monkeypatch):
    monkeypatch.setenv("SECRETKEY", SECRET_KEY)
    monkeypatch.setenv("PASSWORD_MIN_LENGTH", "seven")
    monkeypatch.setenv("VERIFICATION", "on")
    status, output, errors = wsgiauth("check")
    mistyped = "SECRETKEY is not a setting and is ignored; the similar SECRET_KEY is not set."
    assert (status, output) == (1, f"warning: {mistyped}\n")
    assert [line.partition(" must be ")[0] for line in errors.splitlines()] == [
        "wsgiauth: SECRET_KEY",
        "wsgiauth: PASSWORD_MIN_LENGTH",
        "wsgiauth: MAIL_URL",
    ]


def test_check_says_that_a_start_would_create_the_file(wsgiauth, monkeypatch, tmp_path):
    path = tmp_path / "new.db"
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
    status, output, _ = wsgiauth("check")
    assert status == 0
    assert f"note: {path} does not exist: the next start will create it.\n" in output
    assert not path.exists()


def test_check_refuses_a_folder_that_does_not_exist(wsgiauth, monkeypatch, tmp_path):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{tmp_path}/no/accounts.db")
    status, _, complaint = wsgiauth("check")
    assert (status, complaint) == (
        1,
        f"wsgiauth: DATABASE_URL names a file in a folder that does not exist: {tmp_path}/no\n",
    )


def test_check_refuses_a_folder_that_a_start_could_not_write(wsgiauth, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    assert wsgiauth("check")[0] == 0
    with public_folder() as folder:
        folder.chmod(0o555)
        url = f"sqlite:///{folder}/accounts.db"
        with ordinary_user():
            status, output, complaint = wsgiauth("check", "--database", url)
    reason = f"wsgiauth: DATABASE_URL names a file in a folder that cannot be written: {folder};"
    assert (status, output, complaint[: len(reason)]) == (1, "", reason)


@pytest.mark.promise(26)
def test_a_command_refuses_the_database_of_another_user(wsgiauth, monkeypatch, database):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    give_away(database.database)
    reason = f"wsgiauth: DATABASE_URL names a file of another user (uid {OTHER}): "
    for command in (["createsuperuser", *CREATE], ["users"], ["check"], ["migrate"]):
        status, output, complaint = wsgiauth(*command, stdin=PASSWORD)
        assert (status, output, complaint[: len(reason)]) == (1, "", reason), command
    assert User.objects.count() == 0


def test_a_file_that_is_not_there_is_not_made_by_the_way(wsgiauth, monkeypatch, tmp_path):
    path = tmp_path / "elsewhere.db"
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
    refused = (1, f"wsgiauth: {path} does not exist")
    for command in ("users", "purge", "logout ada", "grant ada a.b"):
        status, _, complaint = wsgiauth(*command.split())
        assert (status, complaint.partition(": set")[0]) == refused, command
        assert not path.exists()
    wsgiauth("migrate")
    assert wsgiauth("users")[0] == 0


def test_check_refuses_a_database_that_it_cannot_write_to(wsgiauth, monkeypatch, database):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{database.database}?timeout=0.1")
    with closing(sqlite3.connect(database.database, isolation_level=None)) as outsider:
        outsider.execute("BEGIN IMMEDIATE")
        refused = (1, "", "wsgiauth: the database failed: database is locked\n")
        assert wsgiauth("check") == refused


def test_check_changes_nothing_in_a_file_whose_schema_is_behind(
    wsgiauth, monkeypatch, database, tmp_path
):
    migrations = tmp_path / "migrations"
    shutil.copytree(schema.MIGRATIONS, migrations)
    (migrations / "9999_more.py").write_text(
        "def up(migrator, db): db.execute_sql('CREATE TABLE more (id INTEGER)')", encoding="utf-8"
    )
    monkeypatch.setattr(schema, "MIGRATIONS", migrations)
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    file = Path(database.database)
    before = file.read_bytes()
    database.connect()  # the site is running
    status, output, _ = wsgiauth("check")
    assert status == 0
    assert "note: Migrations to apply: 9999_more. The next start will do so.\n" in output
    database.close()
    assert file.read_bytes() == before
    with closing(sqlite3.connect(file)) as opened:
        assert opened.execute("SELECT * FROM sqlite_master WHERE name = 'more'").fetchall() == []


def test_check_changes_nothing_in_a_new_file(wsgiauth, monkeypatch, tmp_path):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    file = tmp_path / "new.db"
    file.touch(mode=0o600)
    status, output, _ = wsgiauth("check", "--database", f"sqlite:///{file}")
    assert status == 0
    assert "note: Migrations to apply: 0001_schema" in output
    assert file.read_bytes() == b""


def test_check_of_a_database_in_memory_has_no_file_to_warn_of(wsgiauth, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    _, output, _ = wsgiauth("check", "--database", "sqlite:///:memory:")
    assert "mode" not in output


def test_a_refusal_is_one_line(wsgiauth):
    for command, reason in {
        "check": "SECRET_KEY must be set",
        "activate nobody": "there is no user 'nobody'",
        "users --database x://y": "DATABASE_URL must begin",
        "users --database mysql://root@127.0.0.1:1/x": "DATABASE_URL cannot be opened",
    }.items():
        status, output, errors = wsgiauth(*command.split())
        assert (status, output) == (1, "")
        assert errors.startswith(f"wsgiauth: {reason}")
        assert errors.count("\n") == 1


def test_a_database_that_fails_later_is_a_refusal(wsgiauth, database):
    database.execute_sql("DROP TABLE wsgiauth_session")
    status, _, errors = wsgiauth("purge")
    assert (status, errors) == (
        1,
        "wsgiauth: the database failed: no such table: wsgiauth_session\n",
    )


def test_wrong_usage_exits_with_2(capsys):
    for argv in (
        ["dance"],
        ["set", "ada"],
        ["logout"],
        ["logout", "ada", "--all"],
        ["users", "--limit", "0"],
        ["users", "--limit", "x"],
        ["users", "--database", ""],
        ["activate"],
        ["grant", "ada", "reports"],
    ):
        status, _, errors = printed(capsys, *argv)
        assert (status, "usage: wsgiauth" in errors) == (2, True), argv


def test_without_a_command_the_help_is_printed(wsgiauth):
    status, output, errors = wsgiauth()
    assert (status, errors) == (0, "")
    assert output.startswith("usage: wsgiauth")
    assert "createsuperuser" in output


def printed(capsys, *argv):
    with pytest.raises(SystemExit) as exit_:
        main(argv)
    captured = capsys.readouterr()
    return exit_.value.code, captured.out, captured.err


def test_the_version_is_printed(wsgiauth):
    assert wsgiauth("--version") == (0, f"wsgiauth {__version__}\n", "")


def test_a_mistyped_command_gets_a_suggestion(capsys):
    for mistyped, suggestion in {
        "createsuperusr": "; did you mean 'createsuperuser'?",
        "adduser": "; did you mean 'createuser'?",
        "delete": "; did you mean 'deleteuser'?",
        "groupadd": "; did you mean 'creategroup'?",
        "goups": "; did you mean 'groups'?",
        "dance": "",
    }.items():
        status, _, errors = printed(capsys, mistyped)
        complaint = f"wsgiauth: error: there is no command '{mistyped}'{suggestion}\n"
        assert (status, errors.endswith(complaint)) == (2, True), mistyped


def test_an_option_before_the_command_is_explained(capsys):
    status, _, errors = printed(capsys, "--database", "sqlite:///accounts.db", "users")
    complaint = "wsgiauth: error: --database must follow the command\n"
    assert (status, errors.endswith(complaint)) == (2, True)


@pytest.mark.promise(29)
def test_a_secret_in_the_wrong_place_is_not_shown(capsys):
    for arguments in (
        ["createuser", "--username", "bob", "--password", "CANARY"],
        ["createuser", "--password=CANARY"],
        ["createuser", "-pCANARY"],
        ["createuser", "--password-stdin=CANARY"],
        ["createuser", "bob", "CANARY"],
        ["--password", "CANARY", "createuser"],
        ["changepassword", "ada", "--", "-CANARY"],
        ["users", "x", "postgresql://u:a CANARY@127.0.0.1/db"],
        ["postgresql://127.0.0.1/db?user=u&password=CANARY"],
    ):
        status, output, errors = printed(capsys, *arguments)
        assert (status, "CANARY" in output + errors) == (2, False), arguments


def test_a_value_that_a_command_does_not_take_is_explained_with_its_usage(capsys):
    needs = "a value needs the name of its option"
    for command, reason in {
        "createuser bob": f"{needs}: --username NAME or --email ADDRESS",
        "logout ada a1b2": f"{needs}: --session HANDLE",
        "migrate sqlite:///accounts.db": f"{needs}: --database URL",
        "createuser sqlite:///accounts.db": f"{needs}: --database URL",
        "deleteuser ada bob": "too many values",
        "users --gruop a": "unrecognized arguments: --gruop",
    }.items():
        name, *arguments = command.split()
        status, _, errors = printed(capsys, name, *arguments)
        assert (status, errors.splitlines()[-1]) == (2, f"wsgiauth {name}: error: {reason}")
        assert errors.startswith(f"usage: wsgiauth {name} ")


def test_a_value_too_many_shows_the_usage_of_its_command(capsys):
    for name in all_commands():
        status, _, errors = printed(capsys, name, *["a b"] * 9)
        assert (status, errors.startswith(f"usage: wsgiauth {name} ")) == (2, True), name


def test_options_are_not_abbreviated(capsys):
    assert printed(capsys, "createuser", "--staf")[0] == 2


def test_every_option_has_help(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")  # a short entry and its help stand on one line
    names = re.findall(r"^    (\w+)", printed(capsys, "--help")[1], re.MULTILINE)
    assert "deleteuser" in names
    for name in names:
        text = printed(capsys, name, "--help")[1].partition("\nexample")[0]
        entries = re.findall(r"^  (\S.*(?:\n {10,}\S.*)*)", text, re.MULTILINE)
        assert [entry for entry in entries if not re.search(r"\s{2,}\S", entry)] == []


def test_the_examples_of_every_help_are_accepted(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    helps = {name: printed(capsys, name, "--help")[1] for name in all_commands()}
    for name in ("client", "webhooks"):
        for action in re.findall(r"^    (\w+) ", helps[name], re.MULTILINE):
            helps[f"{name} {action}"] = printed(capsys, name, action, "--help")[1]
    examples = {
        name: re.findall(r"^  wsgiauth (.*)$", text.partition("\nexample")[2], re.MULTILINE)
        for name, text in helps.items()
    }
    assert sum(map(len, examples.values())) > len(all_commands())
    for name, lines in examples.items():
        for line in lines:
            assert f"{line} ".startswith(f"{name} ")
            typed = shlex.split(line.partition(" > ")[0])
            assert callable(make_parser(typed).parse_args(typed).run), line


def test_a_command_with_arguments_of_its_own_has_an_example(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    shared = r"\[-h\] \[--database URL\] \[--log \{text,json\}\]( \[--json\])?"
    for name in all_commands():
        _, text, _ = printed(capsys, name, "--help")
        is_plain = re.match(rf"usage: wsgiauth {name} (?:{shared}\n|.* ACTION )", text)
        assert is_plain or "\nexample" in text, name


def test_a_password_among_the_arguments_is_warned_of(wsgiauth, monkeypatch):
    for url, is_visible in {
        "mysql://root:canary@127.0.0.1:1/x": True,
        "postgresql://127.0.0.1:1/x?password=canary": True,
        "mysql://root@127.0.0.1:1/x": False,
    }.items():
        _, _, errors = wsgiauth("users", "--database", url)
        assert errors.startswith("warning: other users of this machine") is is_visible, url
        assert "canary" not in errors
        monkeypatch.setenv("DATABASE_URL", url)
        for argv, stdin in (([], ""), (["--database", "-"], url)):
            status, _, errors = wsgiauth("users", *argv, stdin=stdin)
            assert (status, errors.count("\n"), "warning" in errors) == (1, 1, False)


def test_a_script_gives_the_url_and_then_the_password(wsgiauth, monkeypatch, settings):
    url = settings.DATABASE_URL
    monkeypatch.setenv("DATABASE_URL", "x://y")
    stdin = f"{url}\n{PASSWORD}\n"
    assert wsgiauth("createuser", *CREATE, "--database", "-", stdin=stdin)[0] == 0
    assert verify_password(PASSWORD, stored().hashed_password)


def test_standard_input_without_a_url_is_refused(wsgiauth):
    refused = (1, "", "wsgiauth: unexpected end of input\n")
    assert wsgiauth("users", "--database", "-") == refused
    with pytest.raises(SystemExit):
        wsgiauth("users", "--database", "-", stdin="\n")


def test_a_bad_key_does_not_hinder_managing_users(wsgiauth, monkeypatch):
    for name in ("SECRET_KEY", "SECRET_KEY_FALLBACKS"):
        monkeypatch.setenv(name, "short")
        assert wsgiauth("users")[0] == 0


def test_output_that_nobody_reads_is_no_error(settings):
    script = 'python -m wsgiauth users 2>&1 >&"$0" | cat'
    reader, writer = os.pipe()
    os.close(reader)
    environ = {**os.environ, "DATABASE_URL": settings.DATABASE_URL}
    command = ["bash", "-c", script.replace("python", sys.executable), str(writer)]
    printed = subprocess.check_output(command, env=environ, pass_fds=[writer])
    os.close(writer)
    assert printed == b""


def talk(settings, *argv, answers):
    """Run a command on a terminal, answer each prompt; return its exit status and the screen."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ |= {"DATABASE_URL": settings.DATABASE_URL, "BCRYPT_ROUNDS": "4"}
        os.execv(sys.executable, [sys.executable, "-m", "wsgiauth", *argv])  # noqa: S606
    screen = b""
    for prompt, answer in answers:
        unanswered = b""
        while not unanswered.endswith(prompt):
            unanswered += os.read(terminal, 1024)
        screen += unanswered
        os.write(terminal, answer)
    try:
        while part := os.read(terminal, 1024):
            screen += part
    except OSError:  # how Linux says that the other side has closed the terminal
        pass
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), screen.decode()


def test_createsuperuser_asks_until_the_answers_will_do_and_shows_no_secret(settings, person):
    url = settings.DATABASE_URL
    status, screen = talk(
        settings,
        "createsuperuser",
        "--database",
        "-",
        answers=[
            (b"Database URL: ", url.encode() + b"\n"),
            (b"Username: ", b"a da\n"),
            (b"Username: ", b"ADA\n"),
            (b"Username: ", b"Grace\n"),
            (b"Email: ", b"nowhere\n"),
            (b"Email: ", b"grace@example.org\n"),
            (b"Password: ", b"password1\n"),
            (b"Password: ", b"four unrelated words\n"),
            (b"Password (again): ", b"four unrelated birds\n"),
            (b"Password: ", b"four unrelated words\n"),
            (b"Password (again): ", b"four unrelated words\n"),
        ],
    )
    assert status == 0
    assert "Created superuser Grace." in screen
    assert "A username cannot contain spaces" in screen
    assert "This username is taken." in screen
    assert "one of the most common" in screen
    assert "The two passwords differ" in screen
    rules, _, _ = screen.partition("Password: ")
    assert "at least 8 characters and at most 72 bytes" in rules
    assert "unrelated" not in screen
    assert url not in screen


def interrupt():
    raise KeyboardInterrupt


def test_an_interrupted_command_says_nothing_more(wsgiauth, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", Terminal("", before=interrupt))
    assert main(["createuser"]) == 130
    assert capsys.readouterr().err == "\n"


@pytest.mark.slow
def test_both_programs_are_the_same_command_line():
    by_module = subprocess.check_output([sys.executable, "-m", "wsgiauth", "--help"])
    by_script = subprocess.check_output([f"{sys.prefix}/bin/wsgiauth", "--help"])
    assert by_module == by_script


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
@pytest.mark.slow
def test_a_name_that_the_terminal_cannot_show_is_escaped(database, settings, encoding):
    create_user("żółw", EMAIL, PASSWORD, settings=settings)
    environ = {**os.environ, "DATABASE_URL": settings.DATABASE_URL, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "wsgiauth", "users"]
    assert "\\u017c" in subprocess.check_output(command, env=environ).decode(encoding)


def test_what_a_terminal_would_obey_is_escaped(wsgiauth, person, database):
    database.execute_sql(
        "UPDATE wsgiauth_user SET username = 'a' || char(27) || '[31m' || char(10)"
    )
    _, output, _ = wsgiauth("users")
    assert "a\\x1b[31m\\n" in output
    assert output.count("\n") == 2


def test_createsuperuser_says_at_its_question_how_to_make_a_user_a_superuser(
    wsgiauth, monkeypatch, capsys, person
):
    monkeypatch.setattr(sys, "stdin", Terminal("ada\n"))
    assert main(["createsuperuser"]) == 1
    assert "python -m wsgiauth set NAME --staff --superuser" in capsys.readouterr().err


def test_output_may_go_into_a_text(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert main(["secret"]) == 0
    assert len(sys.stdout.getvalue().strip()) == 64
