"""What tests of all features ask of API keys."""

from unittest.mock import ANY

import pytest
from webtest import TestApp

from tests.support.driving import post
from tests.support.event_scene import ADDRESS, LOGIN
from tests.support.keys import make_key
from tests.support.sites import BROWSER, USERNAME
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


def create_and_revoke(scene):
    """Create a key, and revoke it."""
    headers = scene.bearer()
    fields = {"name": "export", "permissions": []}
    made = scene.client.post_json("/auth/keys", fields, headers=headers).json
    scene.client.post_json("/auth/keys", {"end": made["id"]}, headers=headers)


EVENTS = [
    pytest.param(
        create_and_revoke,
        [
            LOGIN,
            ("key_created", USERNAME, ADDRESS, ANY),
            ("key_ended", USERNAME, ADDRESS, ANY),
        ],
        id="API key",
    )
]
