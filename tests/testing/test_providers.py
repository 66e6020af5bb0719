"""Logins with other providers in tests: by the real callback, without a network."""

from http import HTTPStatus

import pytest
from webtest import TestApp

from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from wsgiauth import Session
from wsgiauth.features.providers import identities, provider_sessions
from wsgiauth.features.providers.oidc import Providers, transport
from wsgiauth.features.providers.oidc.failures import ProviderError
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.storage import context
from wsgiauth.testing import (
    add_authenticator,
    logged_in,
    mailbox,
    make_group,
    make_user,
    provider_account,
)

GOOGLE = "google:https://id:secret@accounts.google.com"
MICROSOFT = "microsoft:https://id:secret@login.example.com?groups=teams&second_factor=trusted"
ISSUER = "https://accounts.google.com"


@pytest.fixture
def site(make_site, monkeypatch):
    """Return a site with two providers, which must not be asked."""

    def fail(*_):
        raise AssertionError("a request to a provider")

    monkeypatch.setattr(transport.Transport, "send", fail)
    return make_site(OIDC_PROVIDERS=(GOOGLE, MICROSOFT), MAIL_URL="memory:")


@pytest.fixture
def browser(site):
    return TestApp(site, extra_environ={"HTTP_ACCEPT": BROWSER["Accept"]})


def log_in(browser, name="google"):
    """Log in with a provider, and return where that leads."""
    at_provider = browser.post(f"/auth/oidc/{name}", {"next": "/welcome"}, headers=SAME_ORIGIN)
    return at_provider.follow(status="*")


def profile(browser):
    return browser.get("/auth/me", headers={"Accept": "application/json"}).json


def test_a_user_who_is_known_logs_in(site, browser):
    make_user(site, identities=[("google", "108")])
    provider_account(site, "google", subject="108", email="ada@gmail.example")
    assert log_in(browser).location.endswith("/welcome")
    assert profile(browser)["username"] == "ada"
    (row,) = rows_of(site)
    assert row.name == "ada@gmail.example"


def rows_of(site):
    with context.using(site.database):
        return list(identities.Identity.select())


def test_an_account_without_a_user_gets_one(site, browser):
    provider_account(
        site, "google", email="ada@example.org", email_verified=True, username="countess"
    )
    form = log_in(browser).follow().form
    assert form["username"].value == "countess"
    form.submit(headers=SAME_ORIGIN, status=303)
    found = profile(browser)
    assert (found["username"], found["email"]) == ("countess", "ada@example.org")
    assert found["email_verified"] is False  # the provider has no link=verified


def test_github_confirms_no_identity(make_site):
    site = make_site(
        OIDC_PROVIDERS=("hub+github:https://id:secret@github.com",), MAIL_URL="memory:"
    )
    make_user(site, identities=[("hub", "583231")])
    provider_account(site, "hub", subject="583231", second_factor=True, groups=["staff"])
    browser = TestApp(site, extra_environ={"HTTP_ACCEPT": BROWSER["Accept"]})
    assert log_in(browser, "hub").location.endswith("/welcome")
    assert profile(browser)["groups"] == []
    with context.using(site.database):
        assert provider_sessions.ProviderSession.get().authenticated_at is None


def test_the_next_account_replaces_the_one_before(site):
    for subject, name in (("1", "ada"), ("2", "grace")):
        make_user(site, name, identities=[("google", subject)])
        provider_account(site, "google", subject=subject)
        browser = TestApp(site)
        log_in(browser)
        assert profile(browser)["username"] == name


def test_the_groups_are_those_of_the_claim_that_the_entry_names(site, browser):
    make_group(site, "editors")
    make_user(site, identities=[("google", "108"), ("microsoft", "108")])
    for name, groups in (("google", []), ("microsoft", ["editors"])):
        provider_account(site, name, subject="108", groups=["editors", "others"])
        log_in(browser, name)
        assert profile(browser)["groups"] == groups


@pytest.mark.parametrize(
    ("name", "leads_to"), [("google", "/auth/second"), ("microsoft", "/welcome")]
)
def test_a_second_factor_counts_if_the_entry_trusts_it(site, browser, name, leads_to):
    ada = make_user(site, identities=[(name, "108")])
    add_authenticator(site, ada)
    provider_account(site, name, subject="108", second_factor=True)
    assert log_in(browser, name).location.partition("?")[0].endswith(leads_to)


def test_a_login_at_the_provider_confirms_who_the_user_is(site, browser):
    make_user(site, identities=[("google", "108")])
    provider_account(site, "google", subject="108")
    log_in(browser)
    page = browser.get("/auth/password", headers=BROWSER)
    page.form["new_password"] = PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert profile(browser)["has_password"] is True


def test_nothing_else_asks_the_provider(site):
    provider_account(site, "google")
    provider = site.site.part(Providers).find("google")
    assert provider.problem() is None
    assert provider.logout_url("https://example.org") is None
    with pytest.raises(ProviderError) as refused:
        provider.verify_logout_token("x")
    assert refused.value.status == HTTPStatus.BAD_REQUEST


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda site: provider_account(site, "gitlab"), id="account"),
        pytest.param(lambda site: make_user(site, identities=[("gitlab", "1")]), id="user"),
        pytest.param(lambda site: logged_in(site, provider="gitlab"), id="login"),
    ],
)
def test_an_unknown_provider_is_named(site, make_site, call):
    for each in (site, make_site()):
        with pytest.raises(ValueError, match="no provider 'gitlab': make_settings"):
            call(each)


def test_a_user_of_a_provider_has_a_password_if_it_is_given(site):
    assert make_user(site).has_password
    assert not make_user(site, "grace", identities=[("google", "1")]).has_password
    both = make_user(site, "lin", password=PASSWORD, identities=[("google", "2")])
    TestApp(site).post_json("/auth/login", {"username": both.username, "password": PASSWORD})
    assert {each.provider for each in rows_of(site)} == {"google"}
    assert mailbox(site) == []


def test_an_account_of_a_provider_has_one_user(site):
    make_user(site, identities=[("google", "1")])
    with pytest.raises(ValueError, match="Another user has the account '1' of google"):
        make_user(site, "grace", identities=[("google", "1")])


@pytest.mark.parametrize(
    ("second_factor", "methods"), [(None, "fed"), (True, "fed otp")], ids=["one", "two factors"]
)
def test_a_session_can_have_begun_at_a_provider(site, second_factor, methods):
    for _ in range(2):
        client = logged_in(site, provider="google", second_factor=second_factor)
    assert client.get("/").json["user"] == "ada"
    (row,) = rows_of(site)
    with context.using(site.database):
        started = list(Session.select())
        assert {each.methods for each in started} == {methods}
        assert {provider_sessions.provider_of(each.id) for each in started} == {row}


def test_a_login_from_a_new_browser_is_told_as_with_a_password(make_site):
    site = make_site(OIDC_PROVIDERS=(GOOGLE,), MAIL_URL="memory:", LOGIN_NOTICES=True)
    make_user(site, identities=[("google", "108")])
    provider_account(site, "google", subject="108")
    for agent in ("Firefox/147.0", "Chrome/143.0"):
        environ = {"HTTP_USER_AGENT": f"Mozilla/5.0 (X11; Linux) {agent}"}
        log_in(TestApp(site, extra_environ=environ | {"REMOTE_ADDR": "192.0.2.7"}))
    (notice,) = mailbox(site)
    assert "Chrome" in plain_text_of(notice)
