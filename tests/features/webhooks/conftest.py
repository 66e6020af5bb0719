"""A site with webhooks, whose queue the tests deliver, and their receiver."""

import time
from dataclasses import replace

import pytest

from tests.support.mails import Clock
from tests.support.webhook_receiver import KEY, receiving
from wsgiauth import events, storage
from wsgiauth.features.webhooks import sending
from wsgiauth.features.webhooks.queue import Webhooks
from wsgiauth.storage import context


@pytest.fixture(scope="module")
def server():
    """Return what receives webhooks."""
    with receiving() as receiver:
        yield receiver


@pytest.fixture
def receiver(server, unsent):
    """Return what receives the webhooks of a site, which the test delivers."""
    server.reset()
    return server


@pytest.fixture
def further():
    """Return further settings; tests give others by a parameter."""
    return {}


@pytest.fixture
def settings(settings, receiver, further):
    """Return settings with one receiver of all changes."""
    return replace(settings, **{"WEBHOOKS": (receiver.url,), "WEBHOOK_KEY": (KEY,), **further})


@pytest.fixture
def site(site):
    """Return the site, whose clock tests move."""
    clock = Clock(int(time.time()))
    site.site.tokens.now = clock
    site.site.require(Webhooks).now = clock
    return site


@pytest.fixture
def clock(site):
    """Return the clock of the site."""
    return site.site.tokens.now


@pytest.fixture
def queue(site):
    """Return the queue of webhooks."""
    return site.site.require(Webhooks)


@pytest.fixture
def heard(site):
    """Return the events of the site."""
    heard = []
    events.subscribe(site.database, [heard.append])
    return heard


@pytest.fixture
def while_sending(monkeypatch):
    """Return a function that lets another one be called after the next webhook was sent."""
    send, database = sending.send, storage.current()

    def act_after(action):
        def send_and_act(*arguments):
            monkeypatch.setattr(sending, "send", send)
            status = send(*arguments)
            with context.using(database):  # in the thread of the request
                action()
                storage.discard_connection(database)
            return status

        monkeypatch.setattr(sending, "send", send_and_act)

    return act_after
