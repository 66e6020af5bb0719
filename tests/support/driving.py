"""A site with everything, and what sends requests to it."""

from contextlib import contextmanager
from dataclasses import replace

from webtest import TestApp

from tests.support import features
from tests.support.identities import ENTRY
from tests.support.mails import Post
from tests.support.sites import BROWSER, echo
from wsgiauth import AuthMiddleware, Settings, storage


def make_site(url, folder, provider=None, *, has_demands=False, **changes):
    """Return a site with everything; see `features.settings`."""
    entry = ENTRY if provider is None else provider.entry("google")
    given = features.settings(folder, entry, has_demands=has_demands)
    settings = Settings.from_mapping({**given, "DATABASE_URL": url, **changes})
    return AuthMiddleware(echo, settings, send_mail=Post())


@contextmanager
def changed(site, **changes):
    """Yield a site with the same database and other settings."""
    settings = replace(site.site.settings, **changes)
    made = AuthMiddleware(echo, settings, send_mail=Post())
    try:
        yield made
    finally:
        storage.discard_connection(made.database)


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
