"""Who can send a request: the security schemes of the document. And the groups of operations."""

from wsgiauth.openapi.answers import Scheme, Tag
from wsgiauth.openapi.schemas import Component


def scheme(component: str, caller: str, about: str, **further: str) -> Scheme:
    """Return a security scheme."""
    value = {**further, "description": about}
    return Scheme(Component("securitySchemes", component, value), caller)


def _cookie(name: str, shown: str, over: str) -> Scheme:
    about = f"The same token, kept by a browser. This is the cookie's name over {over}."
    return scheme(name, "a session", about, type="apiKey", **{"in": "cookie"}, name=shown)


BEARER = scheme(
    "bearer",
    "a session",
    "The `access_token` of a session (RFC 6750). It is valid until it expires or its session ends.",
    type="http",
    scheme="bearer",
    bearerFormat="JWT",
)
KEY = scheme(
    "key",
    "an API key",
    "An API key, which `/keys` makes. It does no more than its permissions, and those that its"
    " owner has.",
    type="http",
    scheme="bearer",
    bearerFormat="wsgiauth_{id}_{secret}",
)
BASIC = scheme(
    "basic",
    "an API key",
    "With `BASIC_AUTH`: the owner's username or email address, and an API key as the password (RFC"
    " 7617).",
    type="http",
    scheme="basic",
)
COOKIE = _cookie("cookie", "wsgiauth", "plain http")
SECURE_COOKIE = _cookie("secureCookie", "__Host-wsgiauth", "https")

COOKIES = (COOKIE, SECURE_COOKIE)
SESSION = (BEARER, *COOKIES)
KEYS = (KEY, BASIC)
PERHAPS_COOKIES = (None, *COOKIES)
SESSION_OR_KEY = (*SESSION, *KEYS)
PERHAPS_SESSION = (None, *SESSION)  # anonymous clients as well

ACCOUNTS = Tag("accounts", "Accounts and their profiles.")
SESSIONS = Tag("sessions", "Logging in and out, the list of sessions, and API keys.")
ADMINISTRATION = Tag(
    "administration", "The staff panel: only for users with `is_staff`; 404 for all others."
)
CONTRACT = Tag("contract", "This document.")
