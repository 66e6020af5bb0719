"""The commands of a site without passwords."""

import pytest

from tests.support.identities import ENTRY
from tests.support.sites import PASSWORD, SECRET_KEY
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.models import User

NEW = ("--username", "grace", "--email", "grace@example.org")
REFUSAL = "wsgiauth: PASSWORD_LOGIN is off, so users have no passwords\n"


@pytest.fixture
def run(wsgiauth, monkeypatch):
    """Return a function that runs a command with PASSWORD_LOGIN=off."""
    monkeypatch.setenv("PASSWORD_LOGIN", "off")
    monkeypatch.setenv("PUBLIC_URL", "http://localhost")
    return wsgiauth


@pytest.fixture
def check(run, monkeypatch):
    """Return a function that runs `check` with a provider, and returns its output."""
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    monkeypatch.setenv("OIDC_PROVIDERS", ENTRY)
    return lambda: run("check")[1]


@pytest.mark.parametrize("command", ["createuser", "createsuperuser"])
def test_a_user_is_created_without_a_password(run, command):
    status, printed, errors = run(command, *NEW)
    assert (status, printed) == (0, f"Created {command.removeprefix('create')} grace.\n")
    assert errors == "note: PASSWORD_LOGIN is off, so the user has no password\n"
    assert not User.get().has_password


def test_a_command_about_passwords_is_refused(run, person):
    for argv in (
        ("createuser", *NEW, "--password-stdin"),
        ("changepassword", "ada", "--password-stdin"),
        ("resetlink", "ada"),
    ):
        assert run(*argv, stdin="another unrelated phrase\n") == (1, "", REFUSAL)
        assert User.select().count() == 1
        assert User.get().hashed_password == person.hashed_password


def test_check_refuses_a_site_that_users_cannot_log_in_to(run, monkeypatch):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    status, _, errors = run("check")
    assert status == 1
    assert (
        "PASSWORD_LOGIN must be on, because no other way to log in is set, such as OIDC_PROVIDERS,"
        " PASSKEYS or LOGIN_CODES." in errors
    )


def test_check_names_the_users_who_cannot_log_in(check, person, settings):
    update_user(create_user("Eve", "eve@example.org", PASSWORD, settings=settings), is_active=False)
    assert "PASSWORD_LOGIN is off, and 1 active user cannot log in: Ada. They need" in check()


def test_check_names_ten_users_and_counts_them_all(check, settings):
    for number in range(11):
        create_user(f"u{number}", f"u{number}@example.org", None, settings=settings)
    named = ", ".join(f"u{number}" for number in range(10))
    assert f"11 active users cannot log in: {named}, …. They need" in check()


def test_check_is_content_if_everyone_has_another_way(check, database):
    assert "cannot log in" not in check()


def test_with_passwords_check_asks_nobody(check, person, monkeypatch):
    monkeypatch.setenv("PASSWORD_LOGIN", "on")
    assert "cannot log in" not in check()
