"""What tests of all features ask of API keys."""

from webtest import TestApp

from tests.support.driving import post
from tests.support.keys import make_key
from tests.support.sites import BROWSER
from wsgiauth.testing import bearer, make_user


def settings(folder, provider):
    """Accept keys as the passwords of Basic authentication."""
    return {"BASIC_AUTH": "keys"}


def fill(site, user):
    """Create a key."""
    make_key(user, name=f"key of {user.username}", permissions=[f"{user.username.lower()}.read"])


def drive(site, provider):
    """Create a key, list and revoke it."""
    login = bearer(site, make_user(site, "kate"))
    made = post(site, "/keys", {"name": "x", "permissions": []}, login).json
    for accept in ({}, BROWSER):
        TestApp(site).get("/auth/keys", headers=login | accept)
    post(site, "/keys", {"end": made["id"]}, login)


def commands(folder):
    """Return the commands."""
    return ("makekey cli --name export", "keys cli", "endkey cli --all")
