"""The command that removes second factors, and what `check` says of them."""

from tests.support.authenticators import PASSKEYS
from tests.support.factors import FACTOR_KEY
from tests.support.sites import SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.accounts import update_user
from wsgiauth.authentication import factors, recovery_codes, sessions, totp
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.events.models import RecordedEvent

NOW = 2_000_000_000
SETTINGS = Settings(SECRET_KEY=SECRET_KEY)


def add_app(user):
    device = totp.begin(user, "Phone", NOW)
    key = totp.derive_key(FACTOR_KEY, device.salt)
    assert totp.confirm(device, totp.code_of_step(key, NOW // totp.STEP), FACTOR_KEY, NOW)


def test_removefactor_removes_all_apps_and_recovery_codes(wsgiauth, person):
    add_app(person)
    add_app(person)
    recovery_codes.replace(person)
    login = sessions.start(person, Tokens(SETTINGS), methods="pwd otp")
    output = "Removed 2 second factors of Ada and the recovery codes, and revoked all sessions.\n"
    assert wsgiauth("removefactor", "ada") == (0, output, "")
    assert not factors.list_factors(person)
    assert recovery_codes.count(person) == 0
    assert sessions.find(login.token, Tokens(SETTINGS)) is None
    (event,) = RecordedEvent.select().where(RecordedEvent.name == "factor_removed")
    assert (event.user_id, event.actor) == (person.id, "command line")


def test_check_and_a_start_warn_if_second_factors_are_not_asked_for(
    wsgiauth, person, monkeypatch, caplog
):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    warning = "FACTOR_KEY is not set, but users have second factors"
    assert warning not in wsgiauth("check")[1]
    add_app(person)
    assert warning in wsgiauth("check")[1]
    AuthMiddleware(echo)
    assert warning in caplog.text
    caplog.clear()
    monkeypatch.setenv("FACTOR_KEY", FACTOR_KEY)
    assert warning not in wsgiauth("check")[1]
    AuthMiddleware(echo)
    assert warning not in caplog.text


def test_removefactor_refuses_a_user_without_a_factor(wsgiauth, person):
    login = sessions.start(person, Tokens(SETTINGS))
    assert wsgiauth("removefactor", "ada") == (1, "", "wsgiauth: Ada has no second factor\n")
    assert sessions.find(login.token, Tokens(SETTINGS)) is not None


def test_check_warns_if_a_second_factor_is_demanded_and_no_superuser_has_one(
    wsgiauth, person, monkeypatch
):
    for name, value in (("SECRET_KEY", SECRET_KEY), ("FACTOR_KEY", FACTOR_KEY)):
        monkeypatch.setenv(name, value)
    warning = "SECOND_FACTOR is staff, but no active superuser has a second factor"
    update_user(person, is_superuser=True)
    assert warning not in wsgiauth("check")[1]
    monkeypatch.setenv("SECOND_FACTOR", "staff")
    output = wsgiauth("check")[1]
    assert warning in output
    assert "/auth/totp" in output
    add_app(person)
    assert warning not in wsgiauth("check")[1]


def test_check_does_not_warn_of_that_where_there_is_no_superuser(wsgiauth, person, monkeypatch):
    for name, value in (("SECRET_KEY", SECRET_KEY), ("FACTOR_KEY", FACTOR_KEY)):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SECOND_FACTOR", "all")
    assert "no active superuser" not in wsgiauth("check")[1]


def test_check_says_what_to_do_if_a_demanded_factor_is_switched_off(wsgiauth, person, monkeypatch):
    update_user(person, is_superuser=True)
    add_app(person)
    changed = {"SECRET_KEY": SECRET_KEY, "SECOND_FACTOR": "all", **PASSKEYS, "PASSKEYS": "on"}
    for name, value in changed.items():
        monkeypatch.setenv(name, value)
    output = wsgiauth("check")[1]
    assert "set FACTOR_KEY to its former value, or run `python -m wsgiauth removefactor" in output
    assert "no active superuser has a second factor" not in output
