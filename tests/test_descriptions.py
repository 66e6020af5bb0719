"""Lists with several entries of one name: what a screen reader says tells their buttons apart.

A button has a name, its text, and a description, the texts that `aria-describedby` names.
"""

import time
from collections import Counter
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from tests.support.authenticators import Authenticator, add_passkey
from tests.support.driving import make_site
from tests.support.factors import add_app
from tests.support.identities import account
from tests.support.keys import make_key
from tests.support.mails import MAIL
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from wsgiauth import Group, storage
from wsgiauth.accounts.tables import Session
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.features.factors.totp import Totp
from wsgiauth.features.providers import identities
from wsgiauth.testing import logged_in, make_user

RTL = "\u05d0\u05d3\u05d4(2)!"  # a Hebrew name, and characters without a direction
BUTTONS = "button[type=submit], summary, a.button, td input[type=checkbox]"


@pytest.fixture
def site(database_url, tmp_path, provider, unsent):
    made = make_site(database_url, tmp_path, provider)
    yield made
    made.site.outbox.stop()
    storage.discard_connection(made.database)


def authenticator():
    """Return an authenticator that is used at the address of the site."""
    made = Authenticator()
    made.origin, made.host = MAIL["PUBLIC_URL"], urlsplit(MAIL["PUBLIC_URL"]).hostname
    return made


@pytest.fixture
def user(site, provider):
    """Return a superuser with two or more of everything, each with the same name."""
    made = make_user(
        site, RTL, email="ada@example.org", password=PASSWORD, is_staff=True, is_superuser=True
    )
    group = Group.objects.create(name=RTL)
    group.grant("reports.read", "reports.write")
    for each in (made, *(make_user(site, f"user{number}") for number in range(2))):
        each.join(group)
    for number in range(2):
        add_app(site, made)
        add_passkey(site, made, authenticator=authenticator())
        make_key(made)
        theirs = account(
            f"s-{number}", provider="google", issuer=provider.issuer, name=f"ada{number}"
        )
        identities.connect(made, theirs, time.time())
        logged_in(site, made)
    for row, day in zip(Session.select(), range(1, 9), strict=False):
        Session.update(created_at=row.created_at - timedelta(day)).where(
            Session.id == row.id
        ).execute()
    for model, column in ((Totp, Totp.confirmed_at), (Passkey, Passkey.created_at)):
        of_first = model.id == model.select().first().id
        model.update({column: column - 10**6}).where(of_first).execute()
    return made


@pytest.fixture
def browser(site, user):
    return logged_in(site, user)


def name_and_description(page, button):
    described_by = button.get("aria-describedby", "").split()
    described = [page.html.find(id=each).get_text(" ", strip=True) for each in described_by]
    name = button.get("aria-label") or button.get_text(" ", strip=True)
    return name, " ".join(described)


PAGES = [
    *("/auth/sessions", "/auth/keys", "/auth/passkeys", "/auth/totp", "/auth/identities"),
    *("/auth/admin/users", "/auth/admin/users/1", "/auth/admin/groups/1"),
]


def test_no_two_buttons_of_a_page_have_one_name_and_description(browser):
    for path in PAGES:
        page = browser.get(path, headers=BROWSER)
        said = Counter(name_and_description(page, each) for each in page.html.select(BUTTONS))
        assert (path, [each for each, number in said.items() if number > 1]) == (path, [])
        assert len({name for name, _ in said}) < len(said) or path == "/auth/admin/users"


def test_a_name_in_a_heading_has_its_own_direction(browser):
    for path in ("/auth/admin/users/1", "/auth/admin/groups/1"):
        page = browser.get(path, headers=BROWSER)
        assert page.html.h1.find("bdi").text == RTL
        assert page.html.title.text.startswith(RTL)


def test_a_name_in_a_sentence_has_its_own_direction(browser):
    Totp.update(name=RTL).execute()
    page = browser.get("/auth/totp", headers=BROWSER)
    removal = page.html.find("input", {"name": "remove"})["value"]
    done = browser.post("/auth/totp", {"remove": removal}, headers=SAME_ORIGIN, status=303)
    page = done.follow(headers=BROWSER)
    assert page.html.find(role="status").bdi.text == RTL


def test_browsers_do_not_translate_what_people_copy(browser):
    for path, fields, shown in (
        ("/auth/totp", {"name": "Phone"}, ".key"),
        ("/auth/recovery-codes", {}, ".codes"),
        ("/auth/keys", {"name": "x", "days": "1"}, "#made"),
    ):
        page = browser.post(path, fields, headers=SAME_ORIGIN)
        page = page if page.status_int < 300 else page.follow(headers=BROWSER)
        assert page.html.select_one(shown)["translate"] == "no"
