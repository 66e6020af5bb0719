"""Trusted browsers: logins that make one, and logins that need no second step."""

from tests.support.provider_logins import path_of
from tests.support.sites import PASSWORD, SAME_ORIGIN, USERNAME

COOKIE = "wsgiauth-trusted"
DAYS = 30


def first_step(client, name=USERNAME, password=PASSWORD, **further):
    """Log in with the password; return the path to which the answer leads."""
    form = {"username": name, "password": password, **further}
    return path_of(client.post("/auth/login", form, headers=SAME_ORIGIN, status=303))


def second_step(client, code, status=303, **further):
    form = {"code": code, "trust": "on", **further}
    return client.post("/auth/second", form, headers=SAME_ORIGIN, status=status)


def trust(client, code, name=USERNAME):
    """Let a client become a trusted browser, and log out."""
    assert first_step(client, name) == "/auth/second"
    answer = second_step(client, code)
    client.post("/auth/logout", headers=SAME_ORIGIN)
    return answer


def is_asked(client, name=USERNAME, password=PASSWORD):
    """Return whether a login of a client is asked for the second step; then log out."""
    path = first_step(client, name, password)
    client.post("/auth/logout", headers=SAME_ORIGIN)
    return {"/auth/second": True, "/": False}[path]
