"""Requests with the links of emails, which draw the answers to them."""

import time
from urllib.parse import urlencode

from tests.support.authenticators import Authenticator, register_with_passkey
from tests.support.contract import FORM, GARBAGE, JSON_TYPE, Request, cookie_in, sent
from tests.support.mails import MAIL
from tests.support.sites import PASSWORD, SAME_ORIGIN
from wsgiauth.accounts import delete_user
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.authentication.restoring import FormerAddress, make_restore_link, mark_change
from wsgiauth.features.links.address_links import make_address_link
from wsgiauth.features.links.invitations import Invitation
from wsgiauth.features.links.letters import issue_invitation
from wsgiauth.storage import context
from wsgiauth.testing import bearer, make_user

NEW = {"new_password": "another unrelated phrase"}


def answers(world):
    """Yield requests for links, and requests with them."""
    yield sent("POST", "/forgot", {"username": world.user().username})
    yield sent("POST", "/email", {"email": "new@example.org"}, world.login())
    yield from _resets(world)
    yield from _login_links(world)
    yield from _restorations(world)
    yield from _verifications(world)
    for site, domain in ((world.limited, "a.example"), (world.site, "b.example")):
        yield from _invitations(site, domain)
    login = bearer(world.limited, make_user(world.limited, "liv"))
    for _again in range(5):
        yield sent("POST", "/forgot", {"username": "unknown"}, site=world.limited)
        yield sent("POST", "/email", {"email": "x@example.org"}, login, site=world.limited)


def _opened(path, link):
    """Return the request that opens a link, and its token."""
    token = link.partition("=")[2]
    return Request("GET", path, query=f"token={token}"), token


def _resets(world):
    user, settings = world.user(), world.site.site.settings
    with context.using(world.site.database):
        link = make_reset_link(user, settings, mount="/auth", now=time.time())
    opened, token = _opened("/reset", link)
    yield opened
    for password in ("short", NEW["new_password"]):
        yield sent("POST", "/reset", {"token": token, "password": password})


def _login_links(world):
    """Yield logins by links: of a browser with another user, and more than the limit permits."""
    most = world.limited.site.settings.LOGINS_PER_ACCOUNT
    for site, number in ((world.site, 1), (world.limited, most + 1)):
        user = world.user(site, is_verified=True)
        key = Authenticator()
        key.host, key.origin = "example.org", MAIL["PUBLIC_URL"]
        register_with_passkey(site, user, key)
        for cookies in (cookie_in(world.login(site)), *[{}] * number):
            with context.using(site.database):
                link = make_reset_link(user, site.site.settings, mount="/auth", now=time.time())
            sent = (FORM | SAME_ORIGIN, urlencode({"token": link.partition("=")[2]}))
            accepts = ({"Accept": JSON_TYPE},)
            yield Request("POST", "/reset", *sent, site=site, cookies=cookies, accepts=accepts)


def _restorations(world):
    """Yield requests with a link that restores an address, which another user has at first."""
    other = make_user(world.site, "other", email="former@example.org")
    user, settings, now = world.user(), world.site.site.settings, int(time.time())
    with context.using(world.site.database):
        former = FormerAddress(other.email, "2026-01-01T00:00:00+00:00", "link")
        mark = mark_change(user.id, now + 60)
        link = make_restore_link(user.id, former, mark, settings, mount="/auth", now=now)
    opened, token = _opened("/restore", link)
    yield opened
    yield sent("POST", "/restore", {"token": token})
    with context.using(world.site.database):
        delete_user(other)
    yield sent("POST", "/restore", {"token": token})


def _verifications(world):
    """Yield requests with a link of a user, by anonymous clients, another user and the user."""
    site, owner, other = world.site, world.user(), world.user()
    settings, now = site.site.settings, time.time()
    with context.using(site.database):
        taken, free = (
            make_address_link(owner, email, settings, mount="/auth", now=now)
            for email in (other.email, "owner@example.net")
        )
    for link, users in ((taken, (None, other, owner)), (free, (owner,))):
        opened, token = _opened("/verify", link)
        for headers in (GARBAGE if user is None else bearer(site, user) for user in users):
            yield opened._replace(cookies=cookie_in(headers))
            yield sent("POST", "/verify", {"token": token}, headers)
        yield opened
        yield sent("POST", "/verify", {"token": token})


def _invitations(site, domain):
    """Yield requests with links that work, of which the last one is throttled."""
    names = ("Ida", "Ida", "Eve", "Fay")
    with context.using(site.database):
        links = [
            issue_invitation(
                Invitation(email=f"{number}@{domain}", is_requested=True),
                None,
                site.site.settings,
                mount="/auth",
                now=time.time(),
            )
            for number in range(len(names))
        ]
    for name, link in zip(names, links, strict=True):
        opened, token = _opened("/verify", link)
        yield opened._replace(site=site)
        for password in ("short", PASSWORD):
            fields = {"token": token, "username": name, "password": password}
            yield sent("POST", "/verify", fields, site=site)


def without_a_database(world):
    """Return requests with links."""
    opened = [Request("GET", path, query="token=x") for path in ("/reset", "/restore", "/verify")]
    fields = {"token": "x", "password": "x"}
    return opened + [sent("POST", each.path, fields) for each in opened]
