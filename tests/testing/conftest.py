"""A site as the tests of an application make it."""

import bcrypt
import pytest
from webtest import TestApp

from tests.support.sites import echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.testing import (
    make_settings,
)


@pytest.fixture
def make_site():
    """Return a function that wraps an application as its tests would."""
    opened = []

    def make(app=echo, **changes):
        site = AuthMiddleware(app, make_settings(**changes))
        opened.append(site.database)
        return site

    yield make
    for database in opened:
        storage.discard_connection(database)


@pytest.fixture
def site(make_site):
    return make_site()


@pytest.fixture
def hashings(monkeypatch):
    """Return the costs of what bcrypt is asked to hash or to check."""
    costs = []

    def note(action):
        def noting(password, salt):
            costs.append(int(salt[4:6]))
            return action(password, salt)

        return noting

    for name in ("hashpw", "checkpw"):
        monkeypatch.setattr(bcrypt, name, note(getattr(bcrypt, name)))
    return costs


def caller(site, headers):
    return TestApp(site).get("/", headers=headers).json["user"]
