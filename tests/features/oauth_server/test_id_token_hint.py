"""`id_token_hint` of an authorization request: the client means one user, and no other."""

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from webtest import TestApp

from tests.support.oauth_apps import AUTHORIZE, CONSENT, App, answer_in, join_long_groups, walk
from tests.support.sites import BROWSER
from tests.support.tables import row_by_row
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.features.services.signed_tokens import ID_TOKEN, SignedTokens
from wsgiauth.testing import logged_in
from wsgiauth.web.request import MAX_BODY

BYE = "https://wiki.example.org/bye"
CROSS_SITE = {**BROWSER, "Sec-Fetch-Site": "cross-site", "Origin": "https://wiki.example.org"}


@pytest.fixture
def id_token(wiki, browser):
    """Return an ID token of Ada for the app."""
    return wiki.log_in(browser)["id_token"]


def silent_answer(app, browser, hint):
    """Return the answer to a silent request with the hint."""
    return answer_in(walk(browser, app.url(prompt="none", id_token_hint=hint)))


def test_the_user_of_the_hint_gets_a_code(wiki, browser, id_token):
    assert "code" in silent_answer(wiki, browser, id_token)


def test_an_id_token_that_has_expired_is_a_hint(wiki, browser, id_token, clock):
    clock.move(600)
    assert "code" in silent_answer(wiki, browser, id_token)


@pytest.fixture
def long_token(wiki, ada, browser):
    """Return an ID token of Ada with the names of 120 groups."""
    join_long_groups(ada)
    Client.update(scopes="openid groups", logout_redirects=BYE).execute()
    token = wiki.log_in(browser, scope="openid groups")["id_token"]
    assert len(token) > MAX_BODY
    return token


def sent_as(method, browser, url):
    """Send a request as a query or as a form; return the answer of the query."""
    if method == "GET":
        return browser.get(url, headers=BROWSER, status=303)
    path, _, query = url.partition("?")
    answer = browser.post(path, query, headers=CROSS_SITE, status=303)
    assert len(answer.location) < 2000
    return browser.get(answer.location, headers=BROWSER, status=303)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_long_id_token_is_a_hint_as_any_other(site, wiki, browser, grace, long_token, method):
    url = wiki.url(prompt="none", id_token_hint=long_token)
    assert "code" in answer_in(sent_as(method, browser, url).location)
    refused = answer_in(sent_as(method, logged_in(site, grace), url).location)
    assert refused["error"] == "login_required"
    changed = wiki.url(prompt="none", id_token_hint=f"{long_token[:-4]}AAAA")
    assert answer_in(sent_as(method, browser, changed).location)["error"] == "login_required"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_long_id_token_logs_out(browser, long_token, method):
    query = urlencode({"id_token_hint": long_token, "post_logout_redirect_uri": BYE})
    assert sent_as(method, browser, f"/auth/oauth/logout?{query}").location == BYE
    assert browser.get("/").json["user"] is None


def test_a_hint_has_a_bound_of_its_own(wiki, browser):
    hint = "x" * (32 * 1024)
    path, _, query = wiki.url(prompt="none", id_token_hint=hint, state="s" * 1000).partition("?")
    answer = browser.post(path, query, headers=CROSS_SITE, status=303)
    assert answer_in(answer.location)["error"] == "login_required"
    browser.post(path, f"{query}&x={'y' * 8000}", headers=CROSS_SITE, status=400)
    browser.post(path, f"{query}&x={'y' * 16_384}", headers=CROSS_SITE, status=413)
    browser.post("/auth/oauth/logout", f"x={'y' * 17_000}", headers=CROSS_SITE, status=413)


def test_a_long_request_with_a_long_id_token_is_for_its_user(
    site, wiki, browser, grace, long_token
):
    changes = {"id_token_hint": long_token, "state": "s" * 2000, "prompt": "none"}
    for user, answer in ((browser, "code"), (logged_in(site, grace), "error")):
        begun = user.post(AUTHORIZE, wiki.parameters(**changes), headers=CROSS_SITE, status=303)
        assert len(begun.location) < 2048
        assert answer in answer_in(user.get(begun.location, headers=BROWSER, status=303).location)


def of_another_user(site, app, browser, grace, tokens):
    return app.log_in(logged_in(site, grace))["id_token"]


def of_another_app(site, app, browser, grace, tokens):
    return App(site, "Other").log_in(browser)["id_token"]


def an_access_token(site, app, browser, grace, tokens):
    return tokens["access_token"]


def changed(site, app, browser, grace, tokens):
    return tokens["id_token"][:-4] + "AAAA"


def of_no_user(site, app, browser, grace, tokens):
    claims = {"sub": "client:x", "aud": app.id, "exp": 1}
    return site.site.require(SignedTokens).sign(claims, kind=ID_TOKEN)


def no_token(site, app, browser, grace, tokens):
    return "hint"


@pytest.mark.promise(95)
@row_by_row(
    "hint", [of_another_user, of_another_app, of_no_user, an_access_token, changed, no_token]
)
def test_any_other_hint_is_refused(site, wiki, browser, grace, hint):
    sent = hint(site, wiki, browser, grace, wiki.log_in(browser))
    assert silent_answer(wiki, browser, sent)["error"] == "login_required"


def test_another_user_is_refused_without_a_page(site, wiki, id_token, grace):
    browser = logged_in(site, grace)
    answer = answer_in(walk(browser, wiki.url(id_token_hint=id_token)))
    assert answer["error"] == "login_required"


def next_after_login(site, app, **changes):
    """Return the URL to which the login leads that an anonymous browser is sent to."""
    answer = TestApp(site).get(app.url(**changes), headers=BROWSER, status=303)
    return parse_qs(urlsplit(answer.location).query)["next"][0]


def test_the_hint_counts_after_the_login_that_it_needs(site, wiki, browser, id_token, grace):
    url = next_after_login(site, wiki, id_token_hint=id_token)
    assert "code" in answer_in(walk(browser, url))
    assert answer_in(walk(logged_in(site, grace), url))["error"] == "login_required"


def test_a_wrong_hint_is_refused_before_a_login(site, wiki):
    answer = TestApp(site).get(wiki.url(id_token_hint="hint"), headers=BROWSER, status=303)
    assert answer_in(answer.location)["error"] == "login_required"


def test_the_page_of_consent_is_only_for_the_user_of_the_hint(site, wiki, id_token, grace):
    answer = logged_in(site, grace).get(
        wiki.url(CONSENT, id_token_hint=id_token), headers=BROWSER, status=303
    )
    assert urlsplit(answer.location).path == AUTHORIZE


def test_the_hint_is_in_no_url_after_a_redirect(site, wiki, browser, id_token):
    url = next_after_login(site, wiki, id_token_hint=id_token)
    assert id_token not in url
    assert len(url) < len(wiki.url()) + 100
