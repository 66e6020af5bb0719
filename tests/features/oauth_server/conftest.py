"""A site that is an OpenID provider, an app, and the browser of a user."""

import time

import pytest

from tests.support.mails import Clock
from tests.support.oauth_apps import App, as_provider
from tests.support.service_keys import write_key
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
def site(site):
    """Return the site, whose clock tests move."""
    clock = Clock()
    clock.now = int(time.time())  # as for what decides whether a proof is recent
    site.site.tokens.now = clock
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
