"""A site that is an OpenID provider, an app, and the browser of a user."""

import time

import pytest

from tests.support.logout_receiver import receiving
from tests.support.mails import Clock
from tests.support.oauth_apps import App, as_provider
from tests.support.service_keys import write_key
from wsgiauth import storage
from wsgiauth.features.oauth_server import logout_sending
from wsgiauth.features.oauth_server.logouts import Logouts
from wsgiauth.storage import context
from wsgiauth.testing import logged_in


@pytest.fixture
def further():
    """Return further settings; tests give others by a parameter."""
    return {}


@pytest.fixture
def settings(settings, tmp_path, further):
    """Return settings of a provider."""
    return as_provider(settings, write_key(tmp_path / "key"), **further)


@pytest.fixture
def site(site, unsent):
    """Return the site, whose clock tests move, and which has no thread of its own."""
    clock = Clock()
    clock.now = int(time.time())  # as for what decides whether a proof is recent
    site.site.tokens.now = clock
    logouts = site.site.part(Logouts)
    if logouts is not None:  # the site is a provider
        logouts.now = clock
    return site


@pytest.fixture
def clock(site):
    """Return the clock of the site."""
    return site.site.tokens.now


@pytest.fixture
def wiki(site):
    """Return an app."""
    return App(site)


@pytest.fixture
def browser(site, ada):
    """Return Ada's browser, in which she has just logged in to the site."""
    return logged_in(site, ada)


@pytest.fixture(scope="module")
def server_of_app():
    """Return what receives logout tokens."""
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def receiver(server_of_app, unsent):
    """Return what receives the logout tokens of a site, which the test delivers."""
    server_of_app.reset()
    return server_of_app


@pytest.fixture
def while_sending(monkeypatch):
    """Return a function that lets another one be called after the next logout token was sent."""
    send, database = logout_sending.send, storage.current()

    def act_after(action):
        def send_and_act(*arguments):
            monkeypatch.setattr(logout_sending, "send", send)
            status = send(*arguments)
            with context.using(database):  # in the thread of the request
                action()
                storage.discard_connection(database)
            return status

        monkeypatch.setattr(logout_sending, "send", send_and_act)

    return act_after


@pytest.fixture
def logouts(site):
    """Return the queue of logout tokens."""
    return site.site.require(Logouts)
