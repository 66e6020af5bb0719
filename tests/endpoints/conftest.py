"""Sites with a provider."""

import pytest

from tests.support.mails import Post
from tests.support.provider_logins import with_provider
from tests.support.sites import echo
from wsgiauth import AuthMiddleware, storage


@pytest.fixture
def heard():
    """Return the events of the sites."""
    return []


@pytest.fixture
def letters():
    """Return the transport of the sites with mail."""
    return Post()


@pytest.fixture
def make_provider_site(settings, provider, heard, letters):
    """Return a function that makes a site; `entry` are parameters of its provider."""
    made = []

    def make(entry=None, *, registration=(), on_registered=None, claims=None, **changes):
        changed = with_provider(settings, provider, entry=entry, **changes)
        site = AuthMiddleware(
            echo,
            changed,
            on_event=heard.append,
            send_mail=letters if changed.MAIL_URL else None,
            registration=registration,
            on_registered=on_registered,
            claims=claims,
        )
        made.append(site)
        return site

    yield make
    for each in made:
        if each.site.outbox is not None:
            each.site.outbox.stop()
        storage.discard_connection(each.database)
