"""Requests that draw the answers about tokens for other services."""

from tests.support.contract import JSON, sent, unreadable
from tests.support.service_keys import REPORTS
from wsgiauth.features.services.introspect import INTROSPECT
from wsgiauth.testing import api_key, bearer

EXPECTED = {"POST /token": ["400"]}


def answers(world):
    """Yield requests for tokens, and questions about them."""
    user = world.user(permissions=[INTROSPECT, "a.read"])
    login = bearer(world.site, user)
    for scope in ("a.read", "read"):
        yield sent("POST", "/token", {"audience": REPORTS, "scope": scope}, login)
    token = login["Authorization"].removeprefix("Bearer ")
    keys = [api_key(world.site, user, permissions) for permissions in ([], [INTROSPECT])]
    for headers in (*keys, login):
        for fields in ({"token": token}, {"token": "x"}, {}):
            yield sent("POST", "/introspect", fields, headers)
    yield from unreadable("/introspect", JSON, keys[1])
    yield from unreadable("/token", JSON, login)
