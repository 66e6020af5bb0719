"""The commands for accounts of other providers."""

import json

import pytest

from tests.support.identities import ENTRY, ISSUER, account
from tests.support.mails import MAIL
from tests.support.sites import SECRET_KEY
from wsgiauth import Settings
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.provider_sessions import ProviderLogin
from wsgiauth.mail.outbox import Mail

NOW = 2_000_000_000
TOKENS = Tokens(Settings(SECRET_KEY=SECRET_KEY))


@pytest.fixture
def row(person):
    """Return the account of a provider that a user has connected."""
    return identities.connect(person, account(name="ada\x1b[2J@example.com"), NOW)


def test_identities_lists_the_accounts_of_a_user(wsgiauth, row):
    status, table, _ = wsgiauth("identities", "ada")
    heading, line = table.splitlines()
    assert (status, heading.split()[:4]) == (0, ["id", "provider", "issuer", "subject"])
    time = "2033-05-18T03:33:20Z"
    shown = [row.handle, "example", ISSUER, "s-1", r"ada\x1b[2J@example.com", time, time]
    assert line.split() == shown


def test_identities_prints_json(wsgiauth, person, row):
    documents = [each.document() for each in identities.list_identities(person)]
    assert json.loads(wsgiauth("identities", "ada", "--json")[1]) == documents


@pytest.mark.promise(51)
def test_unlink_disconnects_one_and_ends_its_sessions(wsgiauth, person, row, monkeypatch):
    for name, value in MAIL.items():
        monkeypatch.setenv(name, value)
    other = identities.connect(person, account("s-2"), NOW)
    sessions.start(person, TOKENS, federated_login=ProviderLogin(row.id, "", None))
    goes_on = sessions.start(person, TOKENS).session_id
    output = (
        r"Disconnected ada\x1b[2J@example.com of example from Ada, and revoked the sessions that"
        " began or were confirmed with it.\n"
    )
    assert wsgiauth("unlink", "ada", row.handle) == (0, output, "")
    assert identities.rows_of(person) == [other]
    assert [each.id for each in Session.select()] == [goes_on]
    event = RecordedEvent.get(RecordedEvent.name == "identity_disconnected")
    assert (event.user_id, event.actor, event.reason) == (person.id, "command line", "example")
    assert [each.kind for each in Mail.select()] == ["notice identity_disconnected"]


def test_unlink_refuses_what_the_user_has_not_connected(wsgiauth, person, row):
    status, _, errors = wsgiauth("unlink", "ada", "0123456789ab")
    reason = "Ada has no account 0123456789ab; `identities` lists them"
    assert (status, errors) == (1, f"wsgiauth: {reason}\n")


@pytest.mark.promise(73)
def test_unlink_leaves_the_last_way_in(wsgiauth, person, row, monkeypatch):
    User.update(hashed_password="").execute()
    status, _, errors = wsgiauth("unlink", "ada", row.handle)
    assert status == 1
    assert errors.startswith("wsgiauth: with these settings, Ada has no other way to log in: set ")
    assert identities.rows_of(person) == [row]
    other = identities.connect(User.get(), account("s-2"), NOW)
    monkeypatch.setenv("OIDC_PROVIDERS", ENTRY)
    monkeypatch.setenv("PUBLIC_URL", "https://example.org")
    assert wsgiauth("unlink", "ada", row.handle)[0] == 0
    assert identities.rows_of(person) == [other]
