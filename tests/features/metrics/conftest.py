"""A site that shows its metrics."""

import re
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY
from tests.support.mails import Post, with_mail
from tests.support.sites import echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.features.metrics.metrics import PERMISSION
from wsgiauth.testing import api_key, make_user


@pytest.fixture
def site(settings):
    """Return a site with metrics, whose emails wait."""
    shown = replace(with_mail(settings), METRICS=True, FACTOR_KEY=FACTOR_KEY)
    middleware = AuthMiddleware(echo, shown, send_mail=Post())
    middleware.site.outbox.keep_messages()
    yield middleware
    storage.discard_connection(middleware.database)


@pytest.fixture
def key(site):
    """Return the header of an API key that can read the metrics."""
    return api_key(site, make_user(site, "meter", permissions=[PERMISSION]), [PERMISSION])


@pytest.fixture
def scrape(site, key):
    """Return a function that returns the samples of the metrics by name and labels."""

    def samples():
        page = TestApp(site).get("/auth/metrics", headers=key).text
        lines = (line for line in page.splitlines() if not line.startswith("#"))
        found = (re.fullmatch(r"([^ ]+) ([-+.e\d]+)", line).groups() for line in lines)
        return {name: float(value) for name, value in found}

    return samples
