"""Requests that draw the answers of /auth/check."""

from tests.support.contract import GARBAGE, Request

FORWARDED = {"X-Forwarded-Method": "GET", "X-Forwarded-Uri": "/"}
EXPECTED = {"GET /check": ["400"]}  # the name of a group can break a rule that no schema tells


def answers(world):
    """Yield questions of a proxy about anonymous clients and users."""
    login = world.login()
    for headers in ({}, GARBAGE, login):
        yield Request("GET", "/check", FORWARDED | headers)
    for query in ("permissions=a.read", "permission=a.write"):
        yield Request("GET", "/check", FORWARDED | login, query=query)
