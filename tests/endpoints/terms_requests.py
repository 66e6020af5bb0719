"""Requests that draw each described answer of /auth/terms, and show what the site demands."""

import json

from tests.endpoints.app_requests import cookie_in
from wsgiauth.testing import api_key, bearer, make_user

TERMS = {"TERMS_VERSION": "2026-11-28", "TERMS_URL": "/terms"}
JSON = {"Content-Type": "application/json"}
BODIES = (  # malformed, of another type, too long, without a length
    (JSON, "{", {}),
    ({"Content-Type": "text/plain"}, "", {}),
    (JSON, " " * (16 * 1024 + 1), {}),
    (JSON, "{}", {"CONTENT_LENGTH": ""}),
)
PATH = "/terms"


def terms_requests(site):
    """Yield requests of users who have not accepted the terms, and of others."""
    user = make_user(site, "quinn", terms=False)
    login, key = bearer(site, user, terms=False), api_key(site, user, [])
    others = ({}, {"Authorization": "Bearer x"}, key)
    for headers in (*others, login):
        yield "GET", PATH, headers
        yield "POST", PATH, JSON | headers, "{}"
    for version in ("2026-01-01", TERMS["TERMS_VERSION"]):
        yield "POST", PATH, JSON | login, json.dumps({"version": version})
    for headers, body, environ in BODIES:
        yield "POST", PATH, headers | login, body, environ
    yield "GET", PATH, {}, None, {"QUERY_STRING": "next=/reports"}, cookie_in(login)
    yield "POST", PATH, JSON | login, json.dumps({"end": "all"})


def terms_requests_without_a_database(site):
    """Return requests of a user who had logged in before the database went away."""
    login = bearer(site, make_user(site, "rupert"))
    return [("GET", PATH, login), ("POST", PATH, JSON | login, "{}")]
