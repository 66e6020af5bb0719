"""Stand-ins of the providers without OpenID Connect."""

import pytest

from tests.support.oauth_providers import Discord, GitHub


@pytest.fixture
def github():
    with GitHub() as made:
        yield made


@pytest.fixture
def discord():
    with Discord() as made:
        yield made
