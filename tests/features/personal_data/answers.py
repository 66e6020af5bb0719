"""Requests that draw the answers of /auth/data."""

from tests.support.contract import Request


def answers(world):
    """Yield downloads, of which the last one is too much."""
    login = world.login()
    for _again in range(11):
        yield Request("GET", "/data", login)
    yield Request("GET", "/data", login | {"Sec-Fetch-Site": "cross-site"})
