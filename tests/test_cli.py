"""The command line: what each command does, prints, and exits with."""

import io
import json
import os
import pty
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tests.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME
from wsgiauth import Settings, User, sessions, verify_password
from wsgiauth.accounts import create_user
from wsgiauth.cli import main
from wsgiauth.settings import PER_ADDRESS
from wsgiauth.throttle import Throttle
from wsgiauth.tokens import Tokens

CREATE = ["--username", USERNAME, "--email", EMAIL, "--password-stdin"]


@pytest.fixture
def wsgiauth(monkeypatch, capsys, database, settings):
    """Return a function that runs a command: its exit status, output and errors."""
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    monkeypatch.setenv("BCRYPT_ROUNDS", "4")
    monkeypatch.delenv("SECRET_KEY", raising=False)

    def run(*argv, stdin=""):
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        status = main(argv)
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def person(database, settings):
    """Return a user to be managed."""
    return create_user(USERNAME, EMAIL, PASSWORD, settings=settings)


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


@pytest.mark.parametrize(
    ("options", "is_staff"),
    [pytest.param([], False, id="member"), pytest.param(["--staff"], True, id="staff")],
)
def test_createuser_makes_no_administrator(wsgiauth, options, is_staff):
    assert wsgiauth("createuser", *CREATE, *options, stdin=PASSWORD)[0] == 0
    assert (stored().is_superuser, stored().is_staff) == (False, is_staff)


@pytest.mark.parametrize(
    ("stdin", "reason"),
    [
        pytest.param("short\n", "A password has at least 8 characters.", id="short"),
        pytest.param("", "the input ended too early", id="none"),
    ],
)
def test_a_password_that_breaks_a_rule_is_refused(wsgiauth, stdin, reason):
    assert wsgiauth("createuser", *CREATE, stdin=stdin) == (1, "", f"wsgiauth: {reason}\n")
    assert User.objects.count() == 0


def test_a_taken_name_is_refused(wsgiauth, person):
    status, _, errors = wsgiauth("createsuperuser", *CREATE, stdin=PASSWORD)
    assert (status, errors) == (
        1,
        "wsgiauth: This username is taken. This e-mail address is taken.\n",
    )


def test_a_script_is_not_asked_for_what_it_left_out(wsgiauth):
    status, _, errors = wsgiauth("createuser")
    assert status == 1
    assert "--username, --email and --password-stdin" in errors


def test_changepassword_ends_all_sessions(wsgiauth, person, bearer, settings):
    bearer(person)
    status, output, _ = wsgiauth("changepassword", "ADA", "--password-stdin", stdin="other words")
    assert (status, output) == (0, "Changed the password of Ada and ended all sessions.\n")
    assert verify_password("other words", stored().hashed_password)
    assert sessions.end_all(person) == 0


def test_deactivate_and_activate_can_be_repeated(wsgiauth, person, bearer):
    bearer(person)
    for _ in range(2):
        status, output, _ = wsgiauth("deactivate", EMAIL)
        assert (status, output) == (0, "Ada can no longer log in; all sessions are ended.\n")
        assert not stored().is_active
    assert sessions.end_all(person) == 0
    for _ in range(2):
        assert wsgiauth("activate", EMAIL) == (0, "Ada can log in.\n", "")
        assert stored().is_active


def test_grant_and_revoke_print_what_is_held(wsgiauth, person):
    assert wsgiauth("grant", "ada", "b.b", "a.a") == (0, "Ada holds: a.a, b.b\n", "")
    assert wsgiauth("grant", "ada", "a.a") == (0, "Ada holds: a.a, b.b\n", "")
    assert wsgiauth("revoke", "ada", "a.a", "b.b") == (0, "Ada holds: no permissions\n", "")


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


def test_sessions_lists_those_that_live(wsgiauth, person, settings):
    live = Tokens(settings)
    over = Tokens(settings, clock=lambda: 1_000_000_000)
    session_id = live.verify(sessions.start(person, live)).session_id
    sessions.start(person, over)
    _, output, _ = wsgiauth("sessions", "ada")
    heading, row = output.splitlines()
    assert heading.split() == ["session", "began", "ends"]
    assert row.split()[0] == session_id


def test_logout_ends_all_sessions(wsgiauth, person, bearer):
    bearer(person)
    assert wsgiauth("logout", "ada") == (0, "Ended 1 session of Ada.\n", "")
    assert wsgiauth("logout", "ada") == (0, "Ended 0 sessions of Ada.\n", "")


def test_purge_counts_what_had_expired(wsgiauth, person, settings):
    for _ in range(2):
        sessions.start(person, Tokens(settings))
    sessions.start(person, Tokens(settings, clock=lambda: 1_000_000_000))
    Throttle(settings, clock=lambda: 1_000_000_000).login(USERNAME, "127.0.0.1").begin()
    assert wsgiauth("purge") == (
        0,
        "Deleted 1 expired session and 2 expired counts of attempts.\n",
        "",
    )
    assert sessions.end_all(person) == 2


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
            "Applied 0001_users_sessions_permissions, 0002_attempt_counts.\n",
            "",
        )
    finally:
        server.execute_sql("DROP SCHEMA behind CASCADE")
        server.close()


def test_secret_prints_a_key_for_any_algorithm(wsgiauth):
    _, output, _ = wsgiauth("secret")
    assert Settings(SECRET_KEY=output.strip(), JWT_ALGORITHM="HS512")
    assert output != wsgiauth("secret")[1]


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
            "warning: BCRYPT_ROUNDS is 4",
            "warning: JWT_EXPIRY_MINUTES is 500000",
            f"warning: {database.database} can be opened by other users (mode 0644)",
            "note: COOKIE_SECURE is auto",
            "note: Client addresses share limits",
            "note: There is no superuser",
        ),
        strict=True,
    ):
        assert risk.startswith(beginning)


@pytest.mark.promise(29)
@pytest.mark.parametrize("command", ["check", "users", "changepassword ada --password-stdin"])
def test_a_bad_file_of_breached_passwords_is_named(command, wsgiauth, monkeypatch, person):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("BREACHED_PASSWORDS", "/no/such/file")
    status, _, complaint = wsgiauth(*command.split())
    assert status == 1
    assert complaint.startswith("wsgiauth: BREACHED_PASSWORDS must be a file of SHA-1 hashes")
    assert "'/no/such/file' does not exist" in complaint


@pytest.mark.parametrize("command", ["users", "purge", "check", "logout ada", "grant ada a.b"])
def test_a_file_that_is_not_there_is_not_made_by_the_way(command, wsgiauth, monkeypatch, tmp_path):
    path = tmp_path / "elsewhere.db"
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{path}")
    status, _, complaint = wsgiauth(*command.split())
    assert (status, complaint.partition(": set")[0]) == (1, f"wsgiauth: there is no {path}")
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


def test_check_of_a_database_in_memory_has_no_file_to_warn_of(wsgiauth, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    _, output, _ = wsgiauth("check", "--database", "sqlite:///:memory:")
    assert "mode" not in output


@pytest.mark.parametrize(
    ("argv", "reason"),
    [
        pytest.param(["check"], "SECRET_KEY must be set", id="no key"),
        pytest.param(["activate", "nobody"], "there is no user 'nobody'", id="no user"),
        pytest.param(["users", "--database", "x://y"], "DATABASE_URL must begin", id="bad url"),
        pytest.param(
            ["users", "--database", "mysql://root:canary@127.0.0.1:1/x"],
            "DATABASE_URL cannot be opened",
            id="no server",
        ),
    ],
)
def test_a_refusal_is_one_line(wsgiauth, argv, reason):
    status, output, errors = wsgiauth(*argv)
    assert (status, output) == (1, "")
    assert errors.startswith(f"wsgiauth: {reason}")
    assert errors.count("\n") == 1
    assert "canary" not in errors


def test_a_database_that_fails_later_is_a_refusal(wsgiauth, database):
    database.execute_sql("DROP TABLE wsgiauth_session")
    status, _, errors = wsgiauth("purge")
    assert (status, errors) == (
        1,
        "wsgiauth: the database failed: no such table: wsgiauth_session\n",
    )


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param([], id="no command"),
        pytest.param(["dance"], id="unknown command"),
        pytest.param(["activate"], id="no user"),
        pytest.param(["grant", "ada", "reports"], id="no permission"),
    ],
)
def test_wrong_usage_exits_with_2(wsgiauth, argv, capsys):
    with pytest.raises(SystemExit) as exit_:
        wsgiauth(*argv)
    assert exit_.value.code == 2
    assert "usage: wsgiauth" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["SECRET_KEY", "SECRET_KEY_FALLBACKS"])
def test_a_bad_key_does_not_hinder_managing_users(name, wsgiauth, monkeypatch):
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


def test_createsuperuser_asks_until_the_answers_will_do(settings, database):
    status, screen = talk(
        settings,
        "createsuperuser",
        answers=[
            (b"Username: ", b"a da\n"),
            (b"Username: ", b"Ada\n"),
            (b"E-mail: ", b"nowhere\n"),
            (b"E-mail: ", b"ada@example.org\n"),
            (b"Password: ", b"four unrelated words\n"),
            (b"Password (again): ", b"four unrelated birds\n"),
            (b"Password: ", b"four unrelated words\n"),
            (b"Password (again): ", b"four unrelated words\n"),
        ],
    )
    assert status == 0
    assert "Created superuser Ada." in screen
    assert "A username cannot contain spaces" in screen
    assert "The two passwords differ" in screen
    assert "unrelated" not in screen


class InterruptedTerminal(io.StringIO):
    def isatty(self):
        return True

    def readline(self, *_):
        raise KeyboardInterrupt


def test_an_interrupted_command_says_nothing_more(wsgiauth, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", InterruptedTerminal())
    assert main(["createuser"]) == 130
    assert capsys.readouterr().err == "\n"


def test_both_programs_are_the_same_command_line():
    by_module = subprocess.check_output([sys.executable, "-m", "wsgiauth", "--help"])
    by_script = subprocess.check_output([f"{sys.prefix}/bin/wsgiauth", "--help"])
    assert by_module == by_script


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
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


def test_a_taken_name_and_a_common_password_are_asked_for_again(settings, person):
    status, screen = talk(
        settings,
        "createuser",
        answers=[
            (b"Username: ", b"ADA\n"),
            (b"Username: ", b"grace\n"),
            (b"E-mail: ", b"grace@example.org\n"),
            (b"Password: ", b"password1\n"),
            (b"Password: ", b"four unrelated words\n"),
            (b"Password (again): ", b"four unrelated words\n"),
        ],
    )
    assert status == 0
    assert "That is taken." in screen
    assert "one of the most common" in screen


def test_output_may_go_into_a_text(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    assert main(["secret"]) == 0
    assert len(sys.stdout.getvalue().strip()) == 64
