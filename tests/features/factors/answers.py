"""Requests that draw the answers about second factors."""

import time
from functools import partial

from tests.support.authenticators import Authenticator, add_passkey
from tests.support.contract import JSON, Request, sent, unreadable
from tests.support.factors import add_app
from tests.support.federated import remove_password
from tests.support.mails import MAIL
from tests.support.tabs import SECOND, named
from wsgiauth.authentication import pending
from wsgiauth.features.factors import totp
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.storage import context
from wsgiauth.testing import bearer
from wsgiauth.throttling.counts import AttemptCount


def answers(world):
    """Yield the second steps of logins, and the set-up of apps and passkeys."""
    site, user = world.site, world.user()
    app = add_app(site, user)
    with context.using(site.database):
        start = partial(pending.start, user, destination="", remember=False, now=time.time())
        first, second = (named(SECOND, start()) for _ in range(2))
        (device,) = totp.devices(user)
    yield Request("GET", "/second", cookies=second)
    yield from unreadable("/second", JSON, cookies=second)
    for fields in ({}, *({"code": "x"},) * 4):
        yield sent("POST", "/second", fields, cookies=second)
    with context.using(site.database):
        AttemptCount.delete().execute()
        first = named(SECOND, start())
    yield sent("POST", "/second", {"code": app.code()}, cookies=first)
    yield sent("POST", "/totp", {"remove": device.id}, bearer(site, user))
    yield sent("POST", "/totp", {"name": "Phone"}, world.login())
    yield from _passkeys(world)


def _passkeys(world):
    """Yield requests that add a passkey, make recovery codes for it, and remove it."""
    site, user, key = world.site, world.user(), Authenticator()
    key.host, key.origin = "example.org", MAIL["PUBLIC_URL"]
    with context.using(site.database):
        options = site.site.part(RelyingParty).creation_options(user, time.time())
    added = {"name": "Laptop", "credential": key.create(options)}
    yield sent("POST", "/passkeys", added, bearer(site, user))
    with context.using(site.database):
        handle = Passkey.get(Passkey.user == user.id).id
    login = bearer(site, user)  # the first passkey renewed the other
    yield sent("POST", "/recovery-codes", {}, login)
    yield sent("POST", "/recovery-codes", {"saved": True}, login)
    yield sent("POST", "/passkeys", {"remove": handle}, login)
    only, other = world.user(), Authenticator()
    other.host, other.origin = key.host, key.origin
    add_passkey(site, only, "Laptop", other)
    with context.using(site.database):
        remove_password(only)
        handle = Passkey.get(Passkey.user == only.id).id
    yield sent("POST", "/passkeys", {"remove": handle}, bearer(site, only))


def without_a_database(world):
    """Return the second steps of a login."""
    cookies = {f"wsgiauth-second-{'0' * 16}": "x"}
    return [
        Request("GET", "/second", cookies=cookies),
        sent("POST", "/second", {"code": "x"}, cookies=cookies),
    ]
