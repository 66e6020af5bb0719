"""A browser that logs in with a provider."""

import time
from dataclasses import replace
from urllib.parse import urlsplit

from tests.support.identities import account
from tests.support.sites import BROWSER, SAME_ORIGIN
from tests.support.tabs import OIDC, give_cookies, named
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.oidc import Providers
from wsgiauth.features.providers.oidc.errands import Errand

PUBLIC_URL = "https://example.org"


def with_provider(settings, provider, *, entry=None, further=(), **changes):
    """Return settings with a provider; `entry` are parameters such as `link`."""
    entries = (provider.entry("google", **entry or {}), *further)
    return replace(settings, **{"OIDC_PROVIDERS": entries, "PUBLIC_URL": PUBLIC_URL, **changes})


def errand(client, site, purpose, name="google", **values):
    """Begin an errand as a page would; return the URL of the provider."""
    found = site.site.part(Providers).find(name)
    uri = f"{PUBLIC_URL}/auth/oidc/{name}/callback"
    begun = found.begin(Errand(purpose, **values), redirect_uri=uri)
    give_cookies(client, named(OIDC, begun.cookie))
    return begun.url


def connect(user, provider, subject="ada", name="google"):
    """Connect an account of a provider to a user."""
    what = account(subject, provider=name, issuer=provider.issuer)
    return identities.connect(user, what, time.time())


def begin(client, name="google", **fields):
    """Begin a login; return the URL of the provider."""
    fields = {"next": "", **fields}
    return client.post(f"/auth/oidc/{name}", fields, headers=SAME_ORIGIN, status=303).location


def come_back(client, query, name="google", status="*"):
    """Open the callback as a browser does; return the answer."""
    return client.get(f"/auth/oidc/{name}/callback?{query}", headers=BROWSER, status=status)


def log_in(client, provider, subject="ada", name="google", status="*", **fields):
    """Log in with a provider; return the answer of the callback."""
    query = provider.authorize(begin(client, name, **fields), subject)
    return come_back(client, query, name, status)


def path_of(answer):
    """Return where an answer leads, without a query."""
    return urlsplit(answer.location).path
