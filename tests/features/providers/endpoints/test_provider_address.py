"""Links that prove an address which a provider has not verified."""

import pytest
from webtest import TestApp

from tests.support.mails import MAIL
from tests.support.provider_logins import log_in, path_of
from tests.support.sites import BROWSER, EMAIL, SAME_ORIGIN, USERNAME
from tests.support.tabs import PROVIDER, give_cookies, tab_cookies
from wsgiauth import Field
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.identities import Identity
from wsgiauth.testing import logged_in, make_user

NEW = "eve@example.net"


@pytest.fixture
def make_site(make_provider_site, provider):
    provider.people["eve"] = {"email": NEW, "email_verified": False}
    provider.people["mallory"] = {"email": NEW, "email_verified": False}
    return lambda entry=None, **changes: make_provider_site(entry, **MAIL, **changes)


@pytest.fixture
def site(make_site):
    return make_site()


@pytest.fixture
def post_of(letters):
    """Return a function that sends the letters of a site, and returns the path of the last link."""

    def send(site):
        site.site.outbox.stop()
        site.site.outbox.deliver()
        return letters.links[-1].removeprefix(MAIL["PUBLIC_URL"]) if letters.links else None

    return send


def ask(client, provider, subject="eve", email=NEW, **fields):
    """Ask for a link as a user of a provider."""
    log_in(client, provider, subject, status=303, **fields)
    page = client.get("/auth/complete", headers=BROWSER)
    page.form["email"] = email
    return page.form.submit(headers=SAME_ORIGIN, status=202)


def who(client):
    return client.get("/").json["user"]


@pytest.mark.every_database
def test_the_link_creates_the_account_with_its_address_proven_after_another_login_too(
    client, site, provider, post_of, letters
):
    sent = ask(client, provider, next="/reports")
    assert "Check your email" in sent
    assert not User.select().exists()
    link = post_of(site)
    assert letters.recipients == [NEW]
    client.reset()
    client.get(link, headers=BROWSER, status=403)
    log_in(client, provider, "eve", status=303, next="/reports")
    page = client.get(link, headers=BROWSER)
    assert NEW in page.html.main.text
    assert page.form["username"].value == "eve"
    assert page.form.submit(headers=SAME_ORIGIN, status=303).location == "/reports"
    user = User.get()
    assert (who(client), user.email, user.has_password) == ("eve", NEW, False)
    assert user.email_verified_at is not None
    assert user.email_verified_by == "link"
    assert identities.find(provider.issuer, "eve").user_id == user.id
    client.get(link, headers=BROWSER, status=410)


@pytest.mark.every_database
@pytest.mark.promise(68)
def test_the_click_of_the_owner_gives_a_strangers_account_nothing(client, site, provider, post_of):
    """An attacker types the address of a victim, who opens the link in another browser."""
    ask(client, provider, "mallory")
    link = post_of(site)
    victim = TestApp(site)
    page = victim.get(link, headers=BROWSER, status=403)
    assert "in which you asked" in page.html.main.text
    assert page.html.find("a", string="Go to the login page")
    token = link.partition("=")[2]
    fields = {"token": token, "username": "eve"}
    assert victim.post_json("/auth/verify", fields, status=403).json["code"] == "other_browser"
    log_in(victim, provider, "eve", status=303)  # an account of the provider, but another one
    victim.get(link, headers=BROWSER, status=403)
    victim.post("/auth/verify", fields, headers=SAME_ORIGIN, status=403)
    assert not User.select().exists()
    assert not Identity.select().exists()


@pytest.mark.promise(68)
def test_the_owner_of_a_taken_address_learns_of_it_if_active(
    client, site, ada, provider, post_of, letters
):
    provider.people["eve"] = {"email": EMAIL, "email_verified": False}
    for is_active in (False, True):
        update_user(User.get(), is_active=is_active)
        ask(client, provider, email=EMAIL)
        post_of(site)
        assert letters.recipients == [EMAIL][:is_active]
        client.reset()
    assert not any("verify" in link for link in letters.links)
    assert not Identity.select().exists()


def test_a_link_that_can_create_nothing_is_refused(
    client, site, provider, post_of, make_site, monkeypatch
):
    ask(client, provider)
    link = post_of(site)
    closed = TestApp(make_site({"create": "off"}))
    give_cookies(closed, tab_cookies(client, PROVIDER))
    refused = closed.get(link, headers=BROWSER, status=410)
    assert "cannot be created now" in refused.html.main.text
    page = client.get(link, headers=BROWSER)
    with monkeypatch.context() as at_the_same_moment:
        at_the_same_moment.setattr("wsgiauth.authentication.one_time.use", lambda *_: False)
        page.form.submit(headers=SAME_ORIGIN, status=410)
    assert not User.select().exists()
    make_user(site, "Grace", email=NEW)
    refused = page.form.submit(headers=SAME_ORIGIN, status=410)
    assert "This address has an account" in refused.html.main.text
    client.get(link, headers=BROWSER, status=410)
    assert not Identity.select().exists()


def test_what_is_wrong_with_the_form_of_the_link_is_asked_for_again(make_site, provider, post_of):
    site = make_site(registration=[Field("phone", "Phone", required=True)])
    client = TestApp(site)
    ask(client, provider)
    make_user(site, "EVE")
    refused = client.get(post_of(site), headers=BROWSER).form.submit(
        headers=SAME_ORIGIN, status=422
    )
    refused.form["phone"] = "030 1"
    again = refused.form.submit(headers=SAME_ORIGIN, status=409)
    assert "taken" in again.html.select_one("#username-error").text
    again.form["username"] = "Evelyn"
    again.form.submit(headers=SAME_ORIGIN, status=303)
    assert who(client) == "Evelyn"


def test_a_browser_that_is_logged_in_keeps_its_session(client, site, ada, provider, post_of):
    ask(client, provider)
    link = post_of(site)
    member = logged_in(site, ada)
    give_cookies(member, tab_cookies(client, PROVIDER))
    answer = member.get(link, headers=BROWSER).form.submit(headers=SAME_ORIGIN, status=303)
    assert path_of(answer) == "/auth/login"
    assert (who(member), User.select().count()) == (USERNAME, 2)
    assert Session.select().count() == 1
