"""Requests about accounts of other providers, which draw each described answer."""

from tests.features.providers.callbacks import callback_of, callbacks_of, completion, completions
from tests.support.contract import FORM, Request, sent
from tests.support.federated import connected, remove_password
from wsgiauth.storage import context
from wsgiauth.testing import bearer, make_user

CONNECT = {"connect": "google"}
EXPECTED = {
    "GET /oidc/{provider}/callback": ["400"],  # no browser has begun
    "POST /oidc/{provider}/logout": ["400"],  # the provider has signed no token
}


def provider_requests(site, provider):
    """Yield requests of a user who connects accounts, and of the provider."""
    user = make_user(site, "heidi")
    at = {"provider": "google", "issuer": provider.issuer}
    handle = connected(site, user, **at).handle
    login = bearer(site, user)
    yield sent("POST", "/identities", CONNECT, login)
    yield sent("POST", "/confirm", {"provider": "google"}, login)
    yield sent("POST", "/identities", {"disconnect": handle}, login)
    connected(site, user, **at)
    with context.using(site.database):
        remove_password(user)
    yield sent("POST", "/identities", {"disconnect": handle}, login)
    for path in ("/oidc/google/logout", "/oidc/unknown/logout"):
        yield Request("POST", path, FORM, f"logout_token={provider.logout_token()}")
    yield sent("POST", "/oidc/unknown", {})


def answers(world):
    """Yield requests of users who log in with accounts, and of the provider."""
    site, provider = world.site, world.provider
    yield from provider_requests(site, provider)
    yield Request("GET", "/oidc/unknown/callback")
    yield from (Request(*each) for each in completions(site))
    closed = world.make(OIDC_PROVIDERS=provider.entry("google", create="off"))
    yield Request(*completion(closed), site=closed)
    for _again in range(2):
        yield Request(*completion(world.limited), site=world.limited)
    for where, (accept, *request) in callbacks_of(site, world.limited, provider):
        yield Request(*request, site=where, accepts=(accept,))
    yield from _at_wrong_provider(world)


def _at_wrong_provider(world):
    """Yield requests while the provider does not answer, or sends what is refused."""
    provider = world.provider
    with provider.down():
        yield sent("POST", "/oidc/google", {}, site=world.make())
    provider.discovery["issuer"] = "https://elsewhere.example"
    site = world.make()
    user = make_user(site, "judy")
    connected(site, user, provider="google", issuer=provider.issuer, subject="judy")
    login = bearer(site, user)
    yield sent("POST", "/identities", CONNECT, login, site=site)
    yield sent("POST", "/confirm", {"provider": "google"}, login, site=site)
    yield sent("POST", "/oidc/google", {}, site=site)
    del provider.discovery["issuer"]


def without_a_database(world):
    """Return a callback, a login whose account does not exist yet, and a logout by the provider."""
    unfinished = completion(world.site)
    token = world.provider.logout_token()
    return [
        Request("POST", "/oidc/google/logout", FORM, f"logout_token={token}"),
        Request(*callback_of(world.site, world.provider)),
        Request(*unfinished),
        Request("GET", *unfinished[1:]),
    ]
