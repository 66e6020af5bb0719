"""The sites of the tests."""

import pytest
from support import DATABASE_URL, Site, hello
from wsgi_accounts_organisations.tables import Organisation

from wsgiauth import User


@pytest.fixture
def make_site():
    """Return a function that makes a site, whose rows a server forgets afterwards."""
    yield Site
    if not DATABASE_URL.startswith("sqlite"):
        Organisation.delete().execute()
        User.delete().execute()


@pytest.fixture
def site(make_site):
    """Return a site."""
    return make_site(hello)
