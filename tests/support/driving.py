"""A site with everything, and what sends requests to it."""

from contextlib import contextmanager

from webtest import TestApp

from tests.support.factors import FACTOR_KEY
from tests.support.mails import MAIL, Post
from tests.support.service_keys import REPORTS, write_key
from tests.support.sites import BROWSER, SECRET_KEY, echo
from wsgiauth import (
    AuthMiddleware,
    Settings,
)


def make_site(url, folder, provider, **changes):
    given = {
        "SECRET_KEY": SECRET_KEY,
        "BCRYPT_ROUNDS": "4",
        "DATABASE_URL": url,
        "FACTOR_KEY": FACTOR_KEY,
        "PASSKEYS": "on",
        "TRUSTED_BROWSER_DAYS": "30",
        "LOGIN_CODES": "on",
        "FORWARD_AUTH": "on",
        "SERVICE_KEYS": str(write_key(folder / "key")),
        "SERVICES": REPORTS,
        "OAUTH_SERVER": "on",
        "OAUTH_REGISTRATION": "on",
        "OIDC_PROVIDERS": provider.entry("google"),
        **MAIL,
        **changes,
    }
    return AuthMiddleware(echo, Settings.from_mapping(given), send_mail=Post())


def send(site, method, path, headers, body=None, environ=None, cookies=None):
    """Send a request of the OpenAPI tests, as a program and as a browser."""
    for accept in ({}, BROWSER):
        client = TestApp(site, extra_environ=environ or {}, lint=False)
        for name, value in (cookies or {}).items():
            client.set_cookie(name, value)
        client.request(
            f"/auth{path}",
            method=method,
            headers={**headers, **accept},
            body=(body or "").encode(),
            status="*",
        )


def post(site, path, body, headers=None, status="*"):
    return TestApp(site).post_json(f"/auth{path}", body, headers=headers, status=status)


@contextmanager
def moved_clock(site, seconds):
    """Let the site believe that it is later."""
    now = site.site.tokens.now
    site.site.tokens.now = lambda: now() + seconds
    try:
        yield
    finally:
        site.site.tokens.now = now
