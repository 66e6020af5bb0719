"""A site with terms, and Ada, who has not accepted them."""

import pytest

from tests.features.terms.sites import with_terms
from tests.support.sites import echo
from wsgiauth import storage
from wsgiauth.testing import bearer, logged_in


@pytest.fixture
def make_site(settings, heard):
    """Return a function that makes a site; see `with_terms`."""
    made = []

    def make(app=echo, **arguments):
        made.append(with_terms(settings, app, on_event=heard.append, **arguments))
        return made[-1]

    yield make
    for each in made:
        if each.site.outbox is not None:
            each.site.outbox.stop()
        storage.discard_connection(each.database)


@pytest.fixture
def site(make_site):
    """Return a site with terms and a privacy policy, on the database of every other one here."""
    yield make_site(of={"PRIVACY_URL": "https://example.org/privacy"})
    storage.discard_connection(storage.current())


@pytest.fixture
def lacking(site, ada):
    """Return the header of a program that has not accepted the terms."""
    return bearer(site, ada, terms=False)


@pytest.fixture
def browser(site, ada):
    """Return a browser in which the terms have not been accepted."""
    return logged_in(site, ada, terms=False)
