"""What the commands say and do about passkeys."""

import pytest

from tests.support.authenticators import ORIGIN, PASSKEYS, Authenticator
from tests.support.sites import SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.authentication import recovery_codes
from wsgiauth.authentication.passkeys import Passkey
from wsgiauth.authentication.passkeys.relying_party import RelyingParty

NOW = 2_000_000_000


@pytest.fixture
def passkey(person):
    party = RelyingParty(Settings(SECRET_KEY=SECRET_KEY, **PASSKEYS))
    answer = Authenticator().create(party.creation_options(person, NOW))
    party.register(person, "Laptop", answer, NOW)


def test_removefactor_removes_passkeys(wsgiauth, person, passkey):
    recovery_codes.replace(person)
    output = "Removed 1 second factor of Ada and the recovery codes, and revoked all sessions.\n"
    assert wsgiauth("removefactor", "ada") == (0, output, "")
    assert not Passkey.select().exists()
    assert recovery_codes.count(person) == 0


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
