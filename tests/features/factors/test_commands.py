"""The command `removefactor`, and the findings of `check` about second factors."""

import pytest

from tests.support.authenticators import ORIGIN, PASSKEYS, Authenticator
from tests.support.factors import FACTOR_KEY
from tests.support.identities import ENTRY, account
from tests.support.logins import find_session
from tests.support.settings import LONG_KEY
from tests.support.sites import EMAIL, SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.factors import factors, recovery_codes, totp
from wsgiauth.features.factors.passkeys import Passkey, PasskeyAccount
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.features.factors.totp import Totp
from wsgiauth.features.providers import identities
from wsgiauth.storage.models import utc_now

NOW = 2_000_000_000
SETTINGS = Settings(SECRET_KEY=SECRET_KEY)


def add_app(user):
    device = totp.begin(user, "Phone", NOW)
    key = totp.derive_key(FACTOR_KEY, device.salt)
    assert totp.confirm(device, totp.code_of_step(key, NOW // totp.STEP), (FACTOR_KEY,), NOW)


def test_removefactor_removes_all_apps_and_recovery_codes(wsgiauth, person):
    add_app(person)
    add_app(person)
    recovery_codes.replace(person, rounds=4)
    login = sessions.start(person, Tokens(SETTINGS), methods="pwd otp")
    output = "Removed 2 second factors of Ada and the recovery codes, and revoked all sessions.\n"
    assert wsgiauth("removefactor", "ada") == (0, output, "")
    assert not factors.list_factors(person)
    assert recovery_codes.count(person) == 0
    assert find_session(login.token, Tokens(SETTINGS)) is None
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


def set_keys(monkeypatch, **keys):
    for name, value in ({"SECRET_KEY": SECRET_KEY} | keys).items():
        monkeypatch.setenv(name, value)


def test_check_counts_the_apps_that_need_a_former_key(wsgiauth, person, monkeypatch):
    set_keys(monkeypatch, FACTOR_KEY=FACTOR_KEY)
    add_app(person)
    assert "FACTOR_KEY_FALLBACKS" not in wsgiauth("check")[1]
    set_keys(
        monkeypatch, FACTOR_KEY=LONG_KEY, FACTOR_KEY_FALLBACKS=f"{LONG_KEY[::-1]} {FACTOR_KEY}"
    )
    output = wsgiauth("check", "--strict")[1]
    assert "note: Authenticator apps with key 1 of FACTOR_KEY_FALLBACKS: 0." in output
    assert "note: Authenticator apps with key 2 of FACTOR_KEY_FALLBACKS: 1." in output
    assert "not known" not in output
    Totp.update(key_id="").execute()
    output = wsgiauth("check")[1]
    assert "note: Authenticator apps with key 2 of FACTOR_KEY_FALLBACKS: 0." in output
    assert "note: Authenticator apps whose key is not known before their next code: 1." in output


def test_check_warns_of_apps_whose_key_is_missing(wsgiauth, person, monkeypatch):
    warning = "warning: Authenticator apps with a key that is neither FACTOR_KEY nor"
    set_keys(monkeypatch, FACTOR_KEY=LONG_KEY)
    assert warning not in wsgiauth("check")[1]
    add_app(person)
    assert f"{warning} in FACTOR_KEY_FALLBACKS: 1." in wsgiauth("check")[1]
    set_keys(monkeypatch, FACTOR_KEY_FALLBACKS=FACTOR_KEY)
    assert warning not in wsgiauth("check")[1]


def test_removefactor_refuses_a_user_without_a_factor(wsgiauth, person):
    login = sessions.start(person, Tokens(SETTINGS))
    assert wsgiauth("removefactor", "ada") == (1, "", "wsgiauth: Ada has no second factor\n")
    assert find_session(login.token, Tokens(SETTINGS)) is not None


def test_check_warns_if_a_second_factor_is_demanded_and_no_superuser_has_one(
    wsgiauth, person, monkeypatch
):
    set_keys(monkeypatch, FACTOR_KEY=FACTOR_KEY, SECOND_FACTOR="all")
    assert "no active superuser" not in wsgiauth("check")[1]  # there is no superuser
    update_user(person, is_superuser=True)
    monkeypatch.delenv("SECOND_FACTOR")
    warning = "SECOND_FACTOR is staff, but no active superuser has a second factor"
    assert warning not in wsgiauth("check")[1]
    monkeypatch.setenv("SECOND_FACTOR", "staff")
    output = wsgiauth("check")[1]
    assert warning in output
    assert "/auth/totp" in output
    add_app(person)
    assert warning not in wsgiauth("check")[1]


def test_check_warns_of_a_superuser_whose_mailbox_can_remove_the_second_factor(
    wsgiauth, person, monkeypatch
):
    mailing = {"MAIL_URL": "console:", "MAIL_FROM": EMAIL, "PUBLIC_URL": "https://example.org"}
    set_keys(monkeypatch, FACTOR_KEY=FACTOR_KEY, **mailing)

    def is_warned_of():
        warning = "warning: Superusers whose address nothing here has proven: Ada. "
        return warning in wsgiauth("check")[1]

    update_user(person, is_superuser=True)
    assert not is_warned_of()  # without a second factor
    add_app(person)
    assert is_warned_of()
    proofs = {"https://a.example": True, "": True, "link": False, "operator": False}
    found = {}
    for proof in proofs:
        update_user(person, email_verified_at=utc_now(), email_verified_by=proof)
        found[proof] = is_warned_of()
    assert found == proofs
    update_user(person, email_verified_by="")
    assert is_warned_of()
    User.update(is_superuser=False).execute()
    assert not is_warned_of()
    User.update(is_superuser=True).execute()
    monkeypatch.setenv("MAIL_URL", "")
    assert not is_warned_of()


def test_check_says_what_to_do_if_a_demanded_factor_is_switched_off(wsgiauth, person, monkeypatch):
    update_user(person, is_superuser=True)
    add_app(person)
    changed = {"SECRET_KEY": SECRET_KEY, "SECOND_FACTOR": "all", **PASSKEYS, "PASSKEYS": "on"}
    for name, value in changed.items():
        monkeypatch.setenv(name, value)
    output = wsgiauth("check")[1]
    assert "set FACTOR_KEY to its former value, or run `python -m wsgiauth removefactor" in output
    assert "no active superuser has a second factor" not in output


@pytest.fixture
def passkey(person):
    party = RelyingParty(Settings(SECRET_KEY=SECRET_KEY, **PASSKEYS))
    answer = Authenticator().create(party.creation_options(person, NOW))
    party.register(person, "Laptop", answer, NOW)


def test_removefactor_removes_passkeys(wsgiauth, person, passkey):
    recovery_codes.replace(person, rounds=4)
    output = "Removed 1 second factor of Ada and the recovery codes, and revoked all sessions.\n"
    assert wsgiauth("removefactor", "ada") == (0, output, "")
    assert not Passkey.select().exists()
    assert recovery_codes.count(person) == 0


def test_removefactor_names_a_passkey_that_replaces_the_password(
    wsgiauth, person, passkey, monkeypatch
):
    User.update(hashed_password="").execute()
    PasskeyAccount.insert(user=person.id, registered_at=NOW).execute()
    set_keys(monkeypatch, PASSKEYS="on", PUBLIC_URL=ORIGIN)
    output = wsgiauth("removefactor", "ada")[1]
    assert output.startswith("Removed 1 passkey of Ada, and revoked all sessions.\n")


@pytest.mark.promise(73)
def test_removefactor_says_if_no_way_in_is_left(wsgiauth, person, passkey, monkeypatch):
    User.update(hashed_password="").execute()
    says = "Ada can no longer log in. Run `resetlink` to print"
    status, output, _ = wsgiauth("removefactor", "ada")
    assert (status, Passkey.select().exists()) == (0, False)
    assert says in output
    identities.connect(User.get(), account(), NOW)
    monkeypatch.setenv("OIDC_PROVIDERS", ENTRY)
    monkeypatch.setenv("PUBLIC_URL", "https://example.org")
    add_app(person)
    status, output, _ = wsgiauth("removefactor", "ada")
    assert status == 0
    assert says not in output


def test_check_and_a_start_warn_of_passkeys_that_are_not_asked_for(
    wsgiauth, person, passkey, monkeypatch, caplog
):
    monkeypatch.setenv("SECRET_KEY", SECRET_KEY)
    warning = "PASSKEYS is off, but users have passkeys"
    assert warning in wsgiauth("check")[1]
    AuthMiddleware(echo)
    assert warning in caplog.text
    monkeypatch.setenv("PASSKEYS", "on")
    monkeypatch.setenv("PUBLIC_URL", ORIGIN)
    assert "passkeys" not in wsgiauth("check")[1].replace("/passkeys", "")
    monkeypatch.setenv("PUBLIC_URL", "https://example.org")
    warning = "PUBLIC_URL names example.org, but users have passkeys of another host"
    assert warning in wsgiauth("check")[1]
