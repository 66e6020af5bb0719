"""/auth/logout where an entry of OIDC_PROVIDERS says `logout=provider`."""

from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.support.federated import connected, logged_in_at_provider
from tests.support.provider_keys import DROP
from tests.support.provider_logins import with_provider
from tests.support.sites import BROWSER, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.testing import logged_in, make_user

LOCAL = "/auth/login?done=logout"


@pytest.fixture
def changes():
    """Return the parameters of the entry."""
    return {"logout": "provider"}


@pytest.fixture
def site(settings, provider, changes):
    made = AuthMiddleware(echo, with_provider(settings, provider, entry=changes))
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def identity(site, ada, provider):
    return connected(site, ada, provider="google", issuer=provider.issuer, subject="ada")


@pytest.fixture
def browser(site, ada, identity):
    return logged_in_at_provider(site, ada, identity)


def is_logged_in(browser):
    return browser.get("/auth/me", expect_errors=True).status_int == 200


@pytest.mark.every_database
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_session_that_began_at_the_provider_ends_there_too(browser, provider, method):
    logout = f"/auth/logout{'?next=/bye' if method == 'POST' else ''}"  # which is not followed
    answer = browser.request(logout, method=method, headers=SAME_ORIGIN, status=303)
    url, _, query = answer.location.partition("?")
    assert url == f"{provider.origin}/logout"
    assert dict(parse_qsl(query)) == {
        "client_id": "wsgiauth",
        "post_logout_redirect_uri": "https://example.org/auth/login",
    }
    assert "wsgiauth" not in browser.cookies
    assert not is_logged_in(browser)


def test_a_script_gets_the_url(browser, provider):
    headers = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
    answer = browser.post("/auth/logout", headers=headers)
    assert answer.json["detail"] == "Logged out."
    assert urlsplit(answer.json["next"]).path == "/logout"


def test_the_login_page_is_at_the_mount(settings, provider):
    changed = with_provider(settings, provider, entry={"logout": "provider"})
    site = AuthMiddleware(
        echo, replace(changed, PUBLIC_URL="https://example.org/app/"), mount="/account"
    )
    user = make_user(site)
    identity = connected(site, user, provider="google", issuer=provider.issuer)
    browser = logged_in_at_provider(site, user, identity)
    answer = browser.post("/account/logout", headers=SAME_ORIGIN, status=303)
    back = dict(parse_qsl(urlsplit(answer.location).query))["post_logout_redirect_uri"]
    assert back == "https://example.org/app/account/login"
    storage.discard_connection(site.database)


def test_another_session_of_the_user_ends_here_alone(site, ada, identity):
    browser = logged_in(site, ada)
    answer = browser.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert answer.location == LOCAL


@pytest.mark.parametrize("changes", [{}, {"logout": "local"}], ids=str)
def test_without_the_parameter_the_logout_is_local(browser, provider):
    answer = browser.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert answer.location == LOCAL
    assert provider.requests == {}


def test_the_account_of_another_entry_ends_here_alone(site, ada):
    gone = connected(site, ada, provider="google", issuer="https://gone.example")
    browser = logged_in_at_provider(site, ada, gone)
    answer = browser.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert answer.location == LOCAL


def test_if_the_provider_is_away_the_session_ends_here(browser, provider):
    with provider.down():
        answer = browser.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert answer.location == LOCAL
    assert not is_logged_in(browser)


def test_a_provider_without_such_a_logout_is_left_alone(browser, provider):
    provider.discovery["end_session_endpoint"] = DROP
    answer = browser.post("/auth/logout", headers=SAME_ORIGIN, status=303)
    assert answer.location == LOCAL
    assert not is_logged_in(browser)


@pytest.mark.promise(17)
def test_another_site_does_not_log_out(browser, provider):
    headers = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    browser.post("/auth/logout", headers=headers, status=403)
    assert is_logged_in(browser)
    assert provider.requests == {}


@pytest.mark.parametrize(
    ("changes", "targets"),
    [({"logout": "provider"}, "'self' https: {}"), ({}, "'self'")],
    ids=["provider", "local"],
)
def test_the_forms_of_every_page_can_lead_to_the_provider(browser, provider, targets):
    page = browser.get("/auth/account", headers=BROWSER)
    policy = page.headers["Content-Security-Policy"]
    assert f"form-action {targets.format(provider.origin)};" in policy
