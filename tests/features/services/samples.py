"""What tests of all features ask of tokens for other services."""

from webtest import TestApp

from tests.support.driving import post
from tests.support.service_keys import REPORTS, write_key
from wsgiauth.features.services.introspection import INTROSPECT
from wsgiauth.testing import api_key, bearer, make_user


def settings(folder, provider):
    """Issue tokens for a service."""
    return {"SERVICE_KEYS": str(write_key(folder / "key")), "SERVICES": REPORTS}


def drive(site, provider):
    """Issue a token, and describe tokens and keys."""
    user = make_user(site, "sera", permissions=[INTROSPECT, "a.read"])
    key, login = api_key(site, user, [INTROSPECT]), bearer(site, user)
    TestApp(site).get("/", headers=key)
    issued = post(site, "/token", {"audience": REPORTS}, login, status=200).json["access_token"]
    tokens = (each["Authorization"].removeprefix("Bearer ") for each in (login, key))
    for each in (*tokens, "x", issued):
        post(site, "/introspect", {"token": each}, key)


WITHOUT_JSON = {"/introspect": 403}  # needs an API key first
