"""Requests of browsers that come back from a provider, which draw each described answer."""

import json
import time

from tests.support.identities import account
from tests.support.provider_logins import PUBLIC_URL, connect
from tests.support.sites import BROWSER
from tests.support.tabs import OIDC, PROVIDER, named
from wsgiauth.accounts import update_user
from wsgiauth.features.providers import unclaimed
from wsgiauth.features.providers.oidc import Providers
from wsgiauth.features.providers.oidc.errands import CONNECT, LOG_IN, Errand
from wsgiauth.storage import context
from wsgiauth.testing import bearer, make_user

JSON = {"Content-Type": "application/json"}
CALLBACK = "/oidc/google/callback"


def cookie_of(site, user, **further):
    """Return the cookie of a session."""
    token = bearer(site, user, **further)["Authorization"].removeprefix("Bearer ")
    return {"wsgiauth": token}


def waiting(site, subject, **changes):
    """Return the cookie of an account of a provider that no user has."""
    [entry] = site.site.part(Providers)
    values = {"provider": "google", "issuer": entry.entry.issuer, **changes}
    what = account(subject, email=f"{subject}@example.com", **values)
    with context.using(site.database):
        cookie = unclaimed.start(what, destination="", remember=False, now=time.time())
    return named(PROVIDER, cookie)


def completion(site):
    """Return a request that creates an account, if that is possible."""
    cookies = waiting(site, f"zoe{time.monotonic_ns()}")
    return "POST", "/complete", JSON, json.dumps({"username": "zoe"}), None, cookies


def completions(site):
    """Yield requests with accounts that wait."""
    member = make_user(site, "kim")
    stale = bearer(site, member, confirmed_minutes_ago=60)
    stale_cookie = cookie_of(site, member, confirmed_minutes_ago=60)
    for method in ("GET", "POST"):
        yield method, "/complete", {}, None, None, waiting(site, "a") if method == "GET" else {}
        yield method, "/complete", JSON | stale, "{}", None, waiting(site, "b")
        yield method, "/complete", JSON, "{}", None, waiting(site, "c") | stale_cookie
    for number, (fields, changes) in enumerate(
        (
            ({"cancel": True}, {}),
            ({"username": "lee"}, {}),
            ({"username": "lee"}, {}),  # taken
            ({}, {}),
            ({"username": "mia", "email": "mia@example.com"}, {"email_verified": False}),
        )
    ):
        cookies = waiting(site, f"d{number}", **changes)
        yield "POST", "/complete", JSON, json.dumps(fields), None, cookies


def callback_of(site, provider, errand=None, subject="nia", cookies=None):
    """Return a callback as the provider sends it."""
    found = site.site.part(Providers).find("google")
    uri = f"{PUBLIC_URL}/auth/oidc/google/callback"
    begun = found.begin(errand or Errand(LOG_IN), redirect_uri=uri)
    query = provider.authorize(begun.url, subject)
    cookies = {**(cookies or {}), **named(OIDC, begun.cookie)}
    return "GET", CALLBACK, {}, None, {"QUERY_STRING": query}, cookies


def callbacks_of(site, limited, provider):
    """Yield sites and callbacks that count once, each for a program and for a browser."""
    inactive, member = make_user(site, "oda"), make_user(site, "pia")
    with context.using(site.database):
        connect(inactive, provider, "oda")
        update_user(inactive, is_active=False)
    to_connect = Errand(CONNECT, user_id=member.id)
    for accept in ({}, BROWSER):
        yield site, (accept, *callback_of(site, provider))
        yield site, (accept, *callback_of(site, provider, subject="oda"))
        yield (
            site,
            (accept, *callback_of(site, provider, to_connect, "oda", cookie_of(site, member))),
        )
        provider.claims["aud"] = "another"
        for where in (site, limited, limited):  # the second one is throttled at once
            yield where, (accept, *callback_of(where, provider))
        provider.claims.clear()
        yield limited, (accept, *callback_of(limited, provider))
