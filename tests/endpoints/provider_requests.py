"""Requests about accounts of other providers, which draw each described answer."""

import json

from tests.support.authenticators import Authenticator, add_passkey
from tests.support.federated import connected, remove_password
from tests.support.mails import MAIL
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.storage import context
from wsgiauth.testing import bearer, make_user

JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
CONNECT = json.dumps({"connect": "google"})


def provider_requests(site, provider):
    """Yield requests of a user who connects accounts, and of the provider."""
    user = make_user(site, "heidi")
    at = {"provider": "google", "issuer": provider.issuer}
    handle = connected(site, user, **at).handle
    login = JSON | bearer(site, user)
    yield "POST", "/identities", login, CONNECT
    yield "POST", "/identities", login, "{}"
    yield "POST", "/confirm", login, json.dumps({"provider": "google"})
    yield "POST", "/identities", login, json.dumps({"disconnect": handle})
    connected(site, user, **at)
    with context.using(site.database):
        remove_password(user)
    yield "POST", "/identities", login, json.dumps({"disconnect": handle})
    for path in ("/oidc/google/logout", "/oidc/unknown/logout"):
        yield "POST", path, FORM, f"logout_token={provider.logout_token()}"
    yield "POST", "/oidc/unknown", JSON, "{}"
    yield from _last_passkey(site)


def _last_passkey(site):
    """Yield a request that would remove the only way in."""
    user, key = make_user(site, "ivan"), Authenticator()
    key.host, key.origin = "example.org", MAIL["PUBLIC_URL"]
    add_passkey(site, user, "Laptop", key)
    with context.using(site.database):
        remove_password(user)
        handle = Passkey.get(Passkey.user == user.id).id
    yield "POST", "/passkeys", JSON | bearer(site, user), json.dumps({"remove": handle})


def requests_at_wrong_provider(site, provider):
    """Yield requests while the provider sends what is refused."""
    user = make_user(site, "judy")
    connected(site, user, provider="google", issuer=provider.issuer, subject="judy")
    login = JSON | bearer(site, user)
    yield "POST", "/identities", login, CONNECT
    yield "POST", "/confirm", login, json.dumps({"provider": "google"})
    yield "POST", "/oidc/google", JSON, "{}"
