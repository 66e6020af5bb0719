"""Logins with GitHub and Discord, from the button to the session."""

import re

import pytest
from webtest import TestApp

from tests.support.federated import remove_password
from tests.support.hostile_provider import CLIENT_SECRET
from tests.support.logins import make_stale
from tests.support.mails import MAIL
from tests.support.oauth_providers import Discord, GitHub, email
from tests.support.provider_logins import begin, come_back, connect, errand, log_in, path_of
from tests.support.sites import BROWSER, SAME_ORIGIN
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.oidc.errands import CONFIRM, CONNECT
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import logged_in, make_user

TITLES = {GitHub: "GitHub", Discord: "Discord"}
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def provider(request):
    with getattr(request, "param", GitHub)() as made:
        yield made


BOTH = pytest.mark.parametrize("provider", TITLES, indirect=True, ids=TITLES.values())


@pytest.fixture
def number(provider):
    """Return the number of Ada's account."""
    return str(provider.number_of("ada"))


@pytest.fixture
def client(make_provider_site):
    return TestApp(make_provider_site())


def set_verified(provider, is_verified):
    for each in provider.accounts.values():
        if "emails" in each:
            each["emails"][0]["verified"] = is_verified
        else:
            each["verified"] = is_verified


def rename(provider, name, new):
    key = "login" if provider.kind == "github" else "username"
    provider.accounts[provider.number_of(name)][key] = new


def who(client):
    return client.get("/").json["user"]


def arrive(client, provider, subject="ada"):
    assert path_of(log_in(client, provider, subject, status=303)) == "/auth/complete"
    return client.get("/auth/complete", headers=BROWSER)


def create(client, provider):
    page = arrive(client, provider)
    page.form.submit(headers=SAME_ORIGIN, status=303)
    return page


@BOTH
@pytest.mark.promise(86)
def test_a_first_login_creates_an_account_with_the_verified_address(client, provider, number):
    login = client.get("/auth/login", headers=BROWSER)
    assert f"Log in with {TITLES[type(provider)]}" in login.text
    page = create(client, provider)
    assert page.form["username"].value == "ada"
    user = User.get()
    assert (user.email, user.email_verified_at is not None) == ("ada@example.org", True)
    assert user.email_verified_by == provider.origin
    (identity,) = Identity.select()
    assert (identity.issuer, identity.subject) == (provider.origin, number)
    assert who(client) == "ada"


@BOTH
@pytest.mark.promise(86)
def test_an_address_that_the_provider_has_not_verified_is_not_verified_here(client, provider):
    set_verified(provider, False)
    page = arrive(client, provider)
    page.form["email"] = "ada@example.org"
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert User.get().email_verified_at is None


def test_with_mail_a_link_proves_an_address_that_is_not_verified(
    make_provider_site, provider, letters
):
    site = make_provider_site(**MAIL)
    client = TestApp(site)
    set_verified(provider, False)
    page = arrive(client, provider)
    page.form["email"] = "ada@example.org"
    page.form.submit(headers=SAME_ORIGIN, status=202)
    site.site.outbox.stop()
    site.site.outbox.deliver()
    assert User.select().count() == 0
    assert any("/verify?" in each for each in letters.links)


@BOTH
@pytest.mark.promise(86)
def test_an_account_is_its_number_and_not_its_name(make_provider_site, provider):
    client = TestApp(make_provider_site({"link": "verified"}))
    create(client, provider)
    client.reset()
    rename(provider, "ada", "countess")
    stranger = {"emails": [email("stranger@example.net")]}
    if provider.kind == "discord":
        stranger = {"email": "stranger@example.net"}
    provider.register("ada", **stranger)
    page = arrive(client, provider)
    assert who(client) is None
    refused = page.form.submit(headers=SAME_ORIGIN, status=409)
    assert "taken" in refused.html.select_one("#username-error").text
    log_in(client, provider, "countess", status=303)
    assert who(client) == "ada"


@pytest.mark.promise(86)
def test_an_address_connects_only_if_both_sides_have_verified_it(make_provider_site, provider):
    site = make_provider_site({"link": "verified"})
    client, ada = TestApp(site), make_user(site, "countess", email="ada@example.org")
    update_user(ada, email_verified_at=utc_now(), email_verified_by="link")
    set_verified(provider, False)
    arrive(client, provider)
    assert Identity.select().count() == 0
    set_verified(provider, True)
    log_in(client, provider, status=303)
    assert who(client) == "countess"


def test_a_user_connects_an_account(make_provider_site, provider, number):
    site = make_provider_site()
    user = make_user(site, "countess")
    browser = logged_in(site, user)
    url = errand(browser, site, CONNECT, user_id=user.id)
    answer = come_back(browser, provider.authorize(url), status=303)
    assert path_of(answer) == "/auth/identities"
    listed = browser.get("/auth/identities", headers=SCRIPT).json["identities"]
    assert [(each["subject"], each["issuer"]) for each in listed] == [(number, provider.origin)]


@pytest.fixture
def stale(make_provider_site, provider, number):
    """Return a browser with an old session of a user who has an account of the provider alone."""
    site = make_provider_site()
    user = remove_password(make_user(site, "countess"))
    connect(user, provider, number)
    browser = logged_in(site, user)
    make_stale()
    return browser


@pytest.mark.promise(86)
def test_the_page_to_confirm_leads_to_a_new_login_and_back_instead(stale, provider):
    page = stale.get("/auth/close", headers=BROWSER, status=302).follow(headers=BROWSER)
    assert not page.html.find_all("button", attrs={"name": "provider"})
    assert "To continue, log in here again." in re.sub(r"\s+", " ", page.html.main.text)
    button = page.html.find("a", string="Log in again")
    login = stale.get(button["href"], headers=BROWSER)
    (form,) = [each for each in login.forms.values() if each.action == "/auth/login"]
    url = begin(stale, next=form["next"].value)
    answer = come_back(stale, provider.authorize(url), status=303)
    assert path_of(answer) == "/auth/close"
    stale.get("/auth/close", headers=BROWSER, status=200)
    assert Session.select().count() == 1


@pytest.mark.promise(86)
def test_a_request_to_confirm_by_it_is_refused(stale):
    for wants in (BROWSER, SCRIPT):
        headers = {**SAME_ORIGIN, **wants}
        answer = stale.post("/auth/confirm", {"provider": "google"}, headers=headers, status=422)
        assert "An account of this provider cannot confirm that it is you." in answer.text


@pytest.mark.promise(86)
def test_an_errand_to_confirm_by_it_is_refused(stale, provider):
    url = errand(stale, stale.app, CONFIRM, user_id=User.get().id)
    page = come_back(stale, provider.authorize(url), status=403)
    assert "did not ask you to log in again" in page
    stale.get("/auth/close", headers=BROWSER, status=302)


def test_a_login_after_a_logout_opens_a_sensitive_page(stale, provider):
    stale.post("/auth/logout", headers={**SAME_ORIGIN, **BROWSER})
    log_in(stale, provider, status=303)
    stale.get("/auth/close", headers=BROWSER, status=200)


def test_a_logout_token_is_refused(client, provider):
    form = {"logout_token": provider.logout_token()}
    answer = client.post("/auth/oidc/google/logout", form, status=400)
    assert answer.json["error"] == "invalid_request"
    assert not provider.requests


def test_a_provider_with_too_many_requests_is_a_page_and_an_event(client, provider, heard, caplog):
    provider.limit, provider.is_limited = {"Retry-After": "60"}, True
    answer = log_in(client, provider, status=503)
    assert f"{TITLES[type(provider)]} does not answer at the moment." in answer.text
    assert answer.headers["Retry-After"] == "10"
    assert [each.reason for each in heard] == ["google: user: rate limit"]
    assert not any(each in caplog.text for each in (CLIENT_SECRET, *provider._access_tokens))


def test_a_callback_counts_once_and_in_the_browser_that_began(client, provider, make_provider_site):
    query = provider.authorize(begin(client))
    other = TestApp(make_provider_site())
    come_back(other, query, status=400)  # login CSRF
    assert who(other) is None
    come_back(client, query, status=303)
    come_back(client, query, status=400)
