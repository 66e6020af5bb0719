"""One provider for all tests of a file, and a person with a browser for each test."""

import pytest

from tests.support.provider_site import Person, provider_site


@pytest.fixture(scope="module")
def changes():
    """Return settings of the provider."""
    return {}


@pytest.fixture(scope="module")
def site(tmp_path_factory, changes):
    with provider_site(tmp_path_factory.mktemp("provider"), **changes) as site:
        yield site


@pytest.fixture
def person(site):
    with Person(site.address) as person:
        yield person
