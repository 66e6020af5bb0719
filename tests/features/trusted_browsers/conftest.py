"""A site with trusted browsers, and the app of a user."""

from dataclasses import replace
from functools import partial

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.mails import Clock
from tests.support.sites import echo
from tests.support.trusted import COOKIE, DAYS
from wsgiauth import AuthMiddleware, storage
from wsgiauth.authentication.trusted_browsers import TrustedBrowsers
from wsgiauth.storage import context
from wsgiauth.throttling.throttle import Throttle
from wsgiauth.web.clients import Client


@pytest.fixture
def clock(monkeypatch):
    """Return the clock of the site, which tests move."""
    made = Clock()
    monkeypatch.setattr("wsgiauth.site.Throttle", partial(Throttle, clock=made))
    return made


@pytest.fixture
def heard():
    """Return a list that gets all events."""
    return []


@pytest.fixture
def make_site(settings, clock, heard):
    """Return a function that makes a site with trusted browsers, with other settings."""
    made = []

    def make(**changes):
        changes = {"FACTOR_KEY": FACTOR_KEY, "TRUSTED_BROWSER_DAYS": DAYS, **changes}
        middleware = AuthMiddleware(echo, replace(settings, **changes), on_event=heard.append)
        middleware.site.tokens.now = clock
        made.append(middleware)
        return middleware

    yield make
    for each in made:
        storage.discard_connection(each.database)


@pytest.fixture
def site(make_site):
    return make_site()


@pytest.fixture
def app(site, ada):
    """Return Ada's authenticator app."""
    return add_app(site, ada)


@pytest.fixture
def browser(site, app, ada, heard):
    """Return a browser that Ada trusts."""
    # With its host, so that a cookie of the site replaces the one that is set here.
    client = TestApp(site, {"REMOTE_ADDR": "192.0.2.1", "HTTP_HOST": "localhost:80"})
    with context.using(site.database):
        kinds, now = site.site.factors, site.site.tokens.now()
        browsers, here = site.site.require(TrustedBrowsers), Client("192.0.2.1")
        secret = browsers.trust("", ada, kinds.state(ada), kinds, client=here, now=now)
    client.set_cookie(COOKIE, secret)
    (cookie,) = client.cookiejar
    cookie.value = secret  # without the quotes of WebTest
    heard.clear()
    return client


@pytest.fixture
def again(browser):
    """Return a function that returns a client with the cookie of the trusted browser alone."""

    def make():
        made = TestApp(browser.app, browser.extra_environ)
        for each in browser.cookiejar:
            if each.name == COOKIE:
                made.cookiejar.set_cookie(each)
        return made

    return make
