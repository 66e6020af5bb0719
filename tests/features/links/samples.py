"""What tests of all features ask of links in emails."""

import time
from urllib.parse import urlsplit

import pytest
from webtest import TestApp

from tests.support.declared import COMPOSERS
from tests.support.driving import changed, post, send
from tests.support.mails import with_mail
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME
from wsgiauth import User
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.authentication.restoring import FormerAddress, make_restore_link, mark_change
from wsgiauth.features.links.address_links import make_address_link
from wsgiauth.features.links.invitations import Invitation, make_invitation_link
from wsgiauth.features.links.letters import issue_invitation, send_reset
from wsgiauth.features.links.open_invitations import end_invitations
from wsgiauth.mail.outbox import Outbox
from wsgiauth.testing import bearer, make_user


def fill(site, user):
    """Invite somebody."""
    invited = Invitation(email=f"friend-of-{user.username.lower()}@example.org")
    make_invitation_link(invited, site.site.settings, mount="/auth", now=site.site.tokens.now())


def pages(site, user):
    """Return the page that proves a new address."""
    made = {"mount": "/auth", "now": site.site.tokens.now()}
    link = make_address_link(user, f"new-{user.email}", site.site.settings, **made)
    address = urlsplit(link)
    return (f"{address.path}?{address.query}",)


def drive(site, provider):
    """Forget a password and choose a new one; prove an address; accept an invitation."""
    made = {"mount": "/auth", "now": time.time()}
    user = make_user(site, "lena", password=PASSWORD)
    post(site, "/forgot", {"username": "lena"})
    token = _token_of(make_reset_link(user, site.site.settings, **made))
    send(site, "GET", "/reset", {}, None, {"QUERY_STRING": f"token={token}"})
    post(site, "/reset", {"token": token, "password": "another unrelated phrase"})
    user = User.get_by_id(user.id)
    token = _token_of(make_address_link(user, "new@example.net", site.site.settings, **made))
    post(site, "/verify", {"token": token}, bearer(site, user))
    invited = Invitation(email="mary@example.org")
    token = _token_of(issue_invitation(invited, None, site.site.settings, **made))
    send(site, "GET", "/verify", {}, None, {"QUERY_STRING": f"token={token}"})
    post(site, "/verify", {"token": token, "username": "Mary", "password": PASSWORD})
    unproven = make_user(site, "lin-chu", password=PASSWORD)
    token = _token_of(make_reset_link(unproven, site.site.settings, **made))
    with changed(site, PASSWORD_LOGIN=False) as without_passwords:
        sent = {"token": token}
        TestApp(without_passwords).post("/auth/reset", sent, headers=SAME_ORIGIN, status=303)
    _restore(site)


def _restore(site):
    """Undo a change of an address."""
    rosa, now = make_user(site, "rosa"), time.time()
    former = FormerAddress("former@example.org", "2026-01-01T00:00:00+00:00", "link")
    mark = mark_change(rosa.id, int(now) + 3600)
    made = {"mount": "/auth", "now": now}
    link = make_restore_link(rosa.id, former, mark, site.site.settings, **made)
    token = _token_of(link)
    TestApp(site).get(f"/auth/restore?token={token}", headers=BROWSER)
    post(site, "/restore", {"token": token})


def _token_of(link):
    return link.partition("=")[2]


def commands(folder):
    """Return the commands."""
    return (
        *("invite pat@example.org", "invitations", "endinvitation pat@example.org"),
        "resetlink cli",
    )


def send_link(scene):
    outbox = Outbox(with_mail(scene.settings), lambda _message: None, COMPOSERS)
    send_reset(outbox, scene.ada, mount="/auth")
    outbox.stop()


EVENTS = [
    pytest.param(send_link, [("link_sent", USERNAME, None, "reset")], id="link"),
    pytest.param(
        lambda scene: end_invitations("grace@example.net"),
        [("invitation_ended", None, None, None)],
        id="invitation",
    ),
]
