"""The commands for API keys."""

import json
import re

import pytest

from tests.support.keys import make_key
from wsgiauth.accounts.tables import Key
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.keys.api_keys import MAX_KEYS

KEY = re.compile(r"wsgiauth_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}\n")


@pytest.fixture
def made(wsgiauth, person):
    """Return the row of a key that a command has made."""
    person.grant("a.read", "a.write")
    argv = ("makekey", "ada", "--name", "nightly export", "--permission", "a.write", "a.read")
    status, printed, errors = wsgiauth(*argv, "--days", "7")
    assert (status, errors) == (0, "")
    assert KEY.fullmatch(printed)
    return Key.get()


def test_makekey_prints_the_key_alone(made):
    assert (made.name, made.permissions) == ("nightly export", "a.read a.write")
    assert made.expires_at - made.created_at == 7 * 86400


def test_a_key_needs_no_permission(wsgiauth, person):
    assert wsgiauth("makekey", "ada", "--name", "export")[0] == 0
    assert Key.get().permissions == ""
    assert Key.get().id in wsgiauth("keys", "ada")[1]


@pytest.mark.promise(51)
def test_the_operator_is_the_actor(made):
    event = RecordedEvent.get(RecordedEvent.name == "key_created")
    assert (event.actor, event.reason) == ("command line", made.id)


def test_makekey_refuses_what_its_user_cannot_do(wsgiauth, person):
    person.grant("a.read")
    asked = ("--permission", "b.write", "--permission", "a.write", "--permission", "a.read")
    status, _, error = wsgiauth("makekey", "ada", "--name", "x", *asked)
    message = "A key can only have permissions of its owner, who lacks a.write, b.write."
    assert (status, error) == (1, f"wsgiauth: {message}\n")


def test_makekey_refuses_an_inactive_user(wsgiauth, person):
    wsgiauth("deactivate", "ada")
    made = wsgiauth("makekey", "ada", "--name", "x", "--permission", "a.read")
    assert made == (1, "", "wsgiauth: Ada is not active\n")


def test_makekey_refuses_more_keys_than_a_user_can_have(wsgiauth, person):
    for _ in range(MAX_KEYS):
        make_key(person)
    status, _, error = wsgiauth("makekey", "ada", "--name", "x", "--permission", "reports.read")
    assert (status, "20 API keys" in error) == (1, True)


def test_keys_lists_the_keys_of_a_user(wsgiauth, made):
    Key.update(created_at=3600, last_used_at=7200).execute()
    status, table, _ = wsgiauth("keys", "ada")
    heading, row = table.splitlines()
    assert (status, heading.split()[:2]) == (0, ["id", "name"])
    assert row.startswith(f"{made.id}  nightly export  1970-01-01T01:00:00Z")
    assert row.endswith("1970-01-01T02:00:00Z  a.read a.write")


def test_keys_prints_json_without_secrets(wsgiauth, made):
    (document,) = json.loads(wsgiauth("keys", "ada", "--json")[1])
    assert document["id"] == made.id
    assert set(document) == {
        "id",
        "name",
        "permissions",
        "created_at",
        "expires_at",
        "last_used_at",
    }
    assert wsgiauth("keys", "ada")[1].count("wsgiauth_") == 0


def test_endkey_ends_one(wsgiauth, made):
    ended = wsgiauth("endkey", "ada", made.id)
    assert ended == (0, f"Revoked the API key {made.id} of Ada.\n", "")
    again = wsgiauth("endkey", "ada", made.id)
    assert again == (1, "", f"wsgiauth: Ada has no API key {made.id}\n")


def test_endkey_ends_all(wsgiauth, made):
    assert wsgiauth("endkey", "ada", "--all") == (0, "Revoked 1 API key of Ada.\n", "")
    assert not Key.select().exists()


def test_purge_deletes_expired_keys(wsgiauth, made):
    Key.update(expires_at=1).execute()
    assert ", 1 expired API key," in wsgiauth("purge")[1]
