"""A browser that logs in with a provider."""

from dataclasses import replace
from urllib.parse import urlsplit

from tests.support.sites import BROWSER, SAME_ORIGIN

PUBLIC_URL = "https://example.org"


def with_provider(settings, provider, *, entry=None, further=(), **changes):
    """Return settings with a provider; `entry` are parameters such as `link`."""
    entries = (provider.entry("google", **entry or {}), *further)
    return replace(settings, **{"OIDC_PROVIDERS": entries, "PUBLIC_URL": PUBLIC_URL, **changes})


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
