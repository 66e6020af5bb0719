"""A site with trusted browsers, and the app of a user."""

from dataclasses import replace
from functools import partial

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.mails import Clock
from tests.support.sites import echo
from tests.support.trusted import DAYS, trust
from wsgiauth import AuthMiddleware, storage
from wsgiauth.throttling.throttle import Throttle


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
def browser(site, app, heard):
    """Return a browser that Ada trusts."""
    client = TestApp(site, {"REMOTE_ADDR": "192.0.2.1"})
    trust(client, app.code())
    heard.clear()
    return client
