"""Commands with USERNAMES=off: they neither ask for a username nor show one."""

import json

import pytest

from tests.cli.conftest import Terminal
from tests.support.mails import MAIL
from tests.support.settings import LONG_KEY
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import User
from wsgiauth.accounts import names
from wsgiauth.cli import main

CREATE = ("--email", EMAIL, "--password-stdin")
REFUSAL = "USERNAMES is off, so users have no usernames: leave out --username\n"


@pytest.fixture
def run(wsgiauth, monkeypatch):
    """Return a function that runs a command of a site without usernames."""
    monkeypatch.setenv("USERNAMES", "off")
    return wsgiauth


@pytest.fixture
def handle(run):
    """Return the username that a new user got."""
    assert run("createuser", *CREATE, stdin=PASSWORD)[0] == 0
    return User.select().get().username


@pytest.mark.parametrize(
    ("command", "kind"), [("createsuperuser", "superuser"), ("createuser", "user")]
)
def test_a_new_user_has_an_address_and_a_username_that_is_made(run, command, kind):
    created = (0, f"Created {kind} {EMAIL}.\n", "")
    assert run(command, *CREATE, stdin=f"{PASSWORD}\n") == created
    assert names.is_made(User.select().get().username)


def test_a_person_is_asked_for_the_address_and_the_password(run, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", Terminal(f"ada\n{EMAIL}\n"))
    monkeypatch.setattr("getpass.getpass", lambda _: PASSWORD)
    assert main(["createsuperuser"]) == 0
    output, errors = capsys.readouterr()
    assert output == f"Email: Email: Created superuser {EMAIL}.\n"
    assert "It must not be common or similar to the email address." in errors


def test_a_script_is_not_asked_for_a_username(run):
    status, _, errors = run("createuser")
    assert (status, errors) == (
        1,
        "wsgiauth: standard input is not a terminal: give --email and --password-stdin\n",
    )


@pytest.mark.parametrize(
    "command",
    [
        ("createsuperuser", *CREATE, "--username", "ada"),
        ("createuser", *CREATE, "--username", ""),
        ("set", EMAIL, "--username", "ada"),
        ("invite", EMAIL, "--username", "ada"),
    ],
    ids=lambda command: command[0],
)
def test_a_username_is_refused(run, monkeypatch, tmp_path, capsys, command):
    missing = tmp_path / "missing.db"
    monkeypatch.setenv("DATABASE_URL", f"sqlite:///{missing}")
    with pytest.raises(SystemExit) as caught:
        run(*command, stdin=PASSWORD)
    assert caught.value.code == 2
    assert capsys.readouterr().err.endswith(REFUSAL)
    assert not missing.exists()


def test_a_list_of_users_has_no_usernames(run, handle):
    _, output, _ = run("users")
    assert output.split("\n")[0].split()[:3] == ["id", "email", "active"]
    assert handle not in output
    (listed,) = json.loads(run("users", "--json")[1])
    assert (listed["username"], listed["label"]) == (handle, EMAIL)


def test_a_username_of_a_log_leads_to_its_user(run, handle):
    assert EMAIL in run("users", handle)[1]
    assert EMAIL not in run("users", handle[:-1])[1]


@pytest.mark.parametrize("is_by_handle", [True, False], ids=["username", "address"])
def test_commands_take_both_names_of_a_user_and_print_the_address(run, handle, is_by_handle):
    name = handle if is_by_handle else EMAIL
    outputs = [
        run("set", name, "--staff", "--verified")[1],
        run("set", name, "--staff")[1],
        run("changepassword", name, "--password-stdin", stdin="another quick password")[1],
        run("deactivate", name)[1],
        run("activate", name)[1],
        run("grant", name, "code.edit")[1],
        run("creategroup", "editors")[1] and run("join", name, "editors")[1],
        run("logout", name)[1],
        run("endkey", name, "--all")[1],
        run("events", name)[1],
        run("deleteuser", name, "--yes")[1],
    ]
    assert all(EMAIL in each for each in outputs), outputs
    assert handle not in "".join(outputs)
    assert outputs[0] == f"{EMAIL} (verified) has staff: yes, superuser: no.\n"


def test_the_question_before_a_deletion_names_the_address_once(run, handle, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", Terminal("n\n"))
    assert main(["deleteuser", EMAIL]) == 1
    question = f"Delete {EMAIL} with all sessions and permissions? [y/N] "
    assert capsys.readouterr().out == question


def test_invitations_have_no_usernames(run, monkeypatch):
    monkeypatch.setenv("PUBLIC_URL", "https://example.org")
    monkeypatch.setenv("SECRET_KEY", LONG_KEY)
    assert run("invite", EMAIL)[0] == 0
    headings, listed = run("invitations")[1].splitlines()
    assert headings.split()[:2] == ["email", "staff"]
    assert listed.startswith(EMAIL)
    (document,) = json.loads(run("invitations", "--json")[1])
    assert document["username"] == ""


REGISTRATION = "note: USERNAMES=off without VERIFICATION: /auth/register tells who has an account."


@pytest.mark.parametrize(
    ("changes", "is_noted"),
    [
        ({}, True),
        ({"USERNAMES": "on"}, False),
        ({"REGISTRATION": "off"}, False),
        ({"VERIFICATION": "on", **MAIL, "MAIL_URL": "smtp://localhost"}, False),
    ],
    ids=["off", "usernames", "no registration", "verification"],
)
def test_a_check_notes_that_a_registration_tells_who_has_an_account(
    run, monkeypatch, changes, is_noted
):
    for name, value in {"SECRET_KEY": LONG_KEY, **changes}.items():
        monkeypatch.setenv(name, value)
    status, output, _ = run("check")
    assert (status, REGISTRATION in output) == (0, is_noted), output


def test_an_existing_database_keeps_its_users_when_the_setting_changes(wsgiauth, monkeypatch):
    assert wsgiauth("createuser", "--username", USERNAME, *CREATE, stdin=PASSWORD)[0] == 0
    monkeypatch.setenv("USERNAMES", "off")
    assert wsgiauth("set", USERNAME, "--staff")[1].startswith(f"{EMAIL} has staff: yes")
    grace = ("--email", "grace@example.org", "--password-stdin")
    assert wsgiauth("createuser", *grace, stdin=PASSWORD)[0] == 0
    monkeypatch.setenv("USERNAMES", "on")
    users = {each["email"]: each for each in json.loads(wsgiauth("users", "--json")[1])}
    assert users[EMAIL]["label"] == USERNAME
    made = users["grace@example.org"]["label"]
    assert names.is_made(made)
    assert wsgiauth("set", made, "--email", "hopper@example.org")[0] == 0  # keeps the username
    assert wsgiauth("set", made, "--username", "Grace")[1].startswith("Grace (hopper@")
    assert User.select().where(User.username == made).count() == 0
