"""What an application's function can return as claims, and what it cannot."""

import asyncio
import enum
import math
import time
from collections import UserDict, UserList
from datetime import UTC, datetime
from types import MappingProxyType

import pytest

from wsgiauth import User
from wsgiauth.authentication.claims import MAX_DEPTH, RESERVED
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.exceptions import ClaimsError
from wsgiauth.testing import make_settings


@pytest.fixture
def carried():
    """Return a function that returns the claims in a token, besides those of wsgiauth."""

    def carry(returned, **changes):
        tokens = Tokens(make_settings(**changes), claims=lambda user: returned)
        token = tokens.issue(7, "x" * 22, int(time.time()), tokens.claims_for(User(id=7)))
        found = tokens.all_claims(token)
        return {name: found[name] for name in found if name not in RESERVED}, token

    return carry


class Plan(enum.StrEnum):
    FREE = "free"


def nested(depth):
    value = "x"
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.promise(75)
def test_what_another_thread_changes_meanwhile_changes_no_token():
    shared = {"teams": ["editors"]}
    tokens = Tokens(make_settings(), claims=lambda user: shared)
    claims = tokens.claims_for(User(id=7))
    shared["teams"].append(object())
    token = tokens.issue(7, "x" * 22, int(time.time()), claims)
    assert tokens.all_claims(token)["teams"] == ["editors"]


def test_json_is_carried(carried):
    for case, (returned, expected) in {
        "nothing": ({}, {}),
        "JSON": ({"a": [1, 1.5, True, None, {"b": "ü\0"}]}, None),
        "tuple": ({"a": (1, 2)}, {"a": [1, 2]}),
        "enum": ({"a": Plan.FREE}, {"a": "free"}),
        "integer": ({"a": 2**4096 - 1}, None),
        "proxy": (MappingProxyType({"a": 1}), {"a": 1}),
        "mapping": (UserDict(a=1), {"a": 1}),
        "names": ({"": 1, "https://example.org/a": 2}, None),
        "depth": ({"a": nested(MAX_DEPTH - 1)}, None),
    }.items():
        found, _ = carried(returned)
        assert found == (returned if expected is None else expected), case


CYCLE = []
CYCLE.extend([CYCLE] * 1000)


def test_anything_else_is_an_error_that_names_it(carried):
    for returned, reason in (
        (None, "it returned NoneType, not a mapping"),
        ([("a", 1)], "it returned list, not a mapping"),
        ("tenant", "it returned str, not a mapping"),
        ({1: 2}, "the name 1 is not a string"),
        ({"a": {1: 2}}, "'a' is not JSON"),
        ({"b": 1, "a": math.nan}, "'a' is not JSON"),
        ({"a": [-math.inf]}, "'a' is not JSON"),
        ({"a": {1, 2}}, "'a' is not JSON"),
        ({"a": b"x"}, "'a' is not JSON"),
        ({"a": datetime.now(UTC)}, "'a' is not JSON"),
        ({"a": UserList()}, "'a' is not JSON"),
        ({"a": 2**4096}, "'a' is not JSON"),
        ({"a": CYCLE}, "'a' is not JSON, or is nested more than 16 deep"),
        ({"a": nested(MAX_DEPTH)}, "'a' is not JSON, or is nested more than 16 deep"),
        *(({each: "x"}, f"the name '{each}' is reserved") for each in sorted(RESERVED)),
        ({"wsgiauth_tenant": 1}, "the name 'wsgiauth_tenant' is reserved"),
    ):
        with pytest.raises(ClaimsError) as raised:
            carried(returned)
        sentence = str(raised.value)
        assert sentence.startswith("no token for user 7: the function of `claims`: "), reason
        assert reason in sentence


def test_a_coroutine_is_an_error(carried):
    async def claims_of(user):
        return {}

    made = claims_of(None)
    with pytest.raises(ClaimsError, match="it returned coroutine, not a mapping"):
        carried(made)
    asyncio.run(made)


# In Base64, with which the token of a session with a refresh token is longer.
NUMBER_LENGTH = len(',"wsgiauth_generation":999999999') // 3 * 4 + 4


def test_the_longest_token_has_room_for_the_number_of_its_refresh_token(carried):
    _, token = carried({"a": "x" * 2700}, COOKIE_NAME="w")
    room = (4096 - NUMBER_LENGTH - len(token)) * 3 // 4
    claims = {"a": "x" * (2700 + room)}
    tokens = Tokens(make_settings(COOKIE_NAME="w"), claims=lambda user: claims)
    tokens.claims_for(User(id=7))
    token = tokens.issue(7, "x" * 22, int(time.time()), claims, 10**9 - 1)
    assert 4096 - 4 <= len(token) <= 4096
    assert tokens.verify(token, 0).generation == 10**9 - 1


SHARED = {"COOKIE_DOMAIN": "example.org", "PUBLIC_URL": "https://example.org"}


@pytest.mark.parametrize(
    ("name", "prefix", "changes"),
    [
        pytest.param("wsgiauth", "__Host-", {}, id="a short name"),
        pytest.param("w" * 64, "__Host-", {}, id="a long name"),
        pytest.param("w" * 64, "__Secure-", SHARED, id="a long name for a domain"),
    ],
)
def test_a_token_is_as_long_as_a_cookie_can_be_and_no_longer(name, prefix, changes, carried):
    longest = 4096 - max(len(f"{prefix}{name}="), NUMBER_LENGTH)
    changes = {"COOKIE_NAME": name, **changes}
    _, token = carried({"a": "x" * 2700}, **changes)
    room = (longest - len(token)) * 3 // 4  # Base64 makes four characters of three bytes
    _, token = carried({"a": "x" * (2700 + room)}, **changes)
    assert longest - 2 <= len(token) <= longest
    with pytest.raises(ClaimsError, match=f"at most {longest} can be stored"):
        carried({"a": "x" * (2703 + room)}, **changes)
