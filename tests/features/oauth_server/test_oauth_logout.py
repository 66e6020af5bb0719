"""GET and POST /auth/oauth/logout: an app asks to log its user out here, too."""

from urllib.parse import urlencode

import pytest
from webtest import TestApp

from tests.support.federated import connected, logged_in_at_provider
from tests.support.oauth_apps import ISSUER, App
from tests.support.provider_logins import with_provider
from tests.support.sites import BROWSER, SAME_ORIGIN, echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, storage
from wsgiauth.features.oauth_server import grants
from wsgiauth.features.oauth_server.tables import Client, Grant
from wsgiauth.testing import api_key, logged_in, make_user

LOGOUT = "/auth/oauth/logout"
BYE = "https://wiki.example.org/bye"
FROM_APP = {**BROWSER, "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}


@pytest.fixture
def wiki(site):
    """Return an app to which a logout can lead back."""
    return App(site, logout_redirects=[BYE])


@pytest.fixture
def hint(wiki, browser):
    """Return an ID token that the app got in the browser."""
    return wiki.log_in(browser)["id_token"]


def url(**parameters):
    """Return the URL of a logout with these parameters."""
    return f"{LOGOUT}?{urlencode(parameters)}"


def leaving(app, **changes):
    """Return the URL to which the app sends a browser to log out."""
    usual = {"client_id": app.id, "post_logout_redirect_uri": BYE, "state": "a b"}
    return url(**usual | changes)


def open_from_app(browser, address, status):
    """Open a URL as a browser that a page of the app sends there."""
    return browser.get(address, headers=FROM_APP, status=status)


def logout_form(page):
    """Return the form of the question."""
    return next(form for form in page.forms.values() if form.action.startswith("/auth/logout"))


def is_logged_in(browser):
    """Return whether the browser has a session."""
    return (
        browser.get("/auth/me", headers={"Accept": "application/json"}, status="*").status_int
        == 200
    )


# With an ID token of this session: at once


@pytest.mark.promise(92)
def test_an_id_token_of_the_session_logs_out_at_once_and_leads_back(browser, wiki, hint):
    answer = open_from_app(browser, leaving(wiki, id_token_hint=hint), 303)
    assert answer.location == f"{BYE}?state=a+b"
    assert not is_logged_in(browser)
    assert "wsgiauth" not in browser.cookies
    assert Grant.get().session_id is None


def test_the_id_token_alone_is_enough_and_has_no_place_in_the_next_url(browser, hint):
    answer = open_from_app(browser, url(id_token_hint=hint), 303)
    assert answer.location == LOGOUT
    page = open_from_app(browser, answer.location, 200)
    assert page.html.h1.text == "You are logged out"
    assert page.html.main.a["href"] == "/auth/login"


def test_an_id_token_counts_after_it_and_its_grant_have_ended(browser, wiki, hint, clock):
    clock.move(600)
    grants.end(Grant.get().id, Client.get())  # an app can revoke its token first
    open_from_app(browser, leaving(wiki, id_token_hint=hint), 303)
    assert not is_logged_in(browser)


@row_by_row(
    ("headers", "code"),
    [
        pytest.param({"Sec-Purpose": "prefetch"}, "prefetch", id="in advance"),
        pytest.param({"Sec-Fetch-Dest": "image"}, "embedded", id="an image"),
    ],
)
def test_only_a_page_that_is_opened_logs_out(browser, wiki, hint, headers, code, caplog):
    address = leaving(wiki, id_token_hint=hint)
    sent = {**FROM_APP, "Accept": "application/json", **headers}
    assert browser.get(address, headers=sent, status=403).content_type == "text/html"
    assert f"reason={code}" in caplog.text
    browser.head(address, headers=FROM_APP, status=403)
    assert is_logged_in(browser)


def test_without_anything_to_end_head_is_answered_as_get(site, browser, wiki, hint):
    assert browser.head(leaving(wiki), status=200).content_type == "text/html"
    for open_with in (TestApp(site).head, TestApp(site).get):
        assert open_with(leaving(wiki, id_token_hint=hint), status=303).location.startswith(BYE)


def test_an_api_key_logs_nobody_out(site, browser, ada, wiki):
    headers = {**FROM_APP, **api_key(site, ada, [])}
    page = browser.get(leaving(wiki), headers=headers, status=200)
    assert "Your account is Ada." in page.html.main.text
    assert is_logged_in(browser)


def test_a_session_of_another_provider_ends_there_and_the_app_waits(settings, provider):
    entry = {"logout": "provider"}
    site = AuthMiddleware(echo, with_provider(settings, provider, entry=entry, PUBLIC_URL=ISSUER))
    user = make_user(site)
    identity = connected(site, user, provider="google", issuer=provider.issuer)
    browser = logged_in_at_provider(site, user, identity)
    app = App(site, logout_redirects=[BYE])
    address = leaving(app, id_token_hint=app.log_in(browser)["id_token"])
    assert open_from_app(browser, address, 303).location.startswith(f"{provider.origin}/logout?")
    assert not is_logged_in(browser)
    storage.discard_connection(site.database)


# Without: a question


@pytest.mark.promise(92)
def test_a_question_is_answered_by_a_form_of_this_site(browser, wiki, ada):
    page = open_from_app(browser, leaving(wiki), 200)
    assert page.html.h1.text == "Log out of this site?"
    assert "Wiki asks to log you out of this site, too." in page.html.main.text
    assert ada.username in page.html.main.text
    assert is_logged_in(browser)
    policy = page.headers["Content-Security-Policy"].split("; ")
    assert "form-action 'self' https://wiki.example.org" in policy
    answer = logout_form(page).submit(headers=SAME_ORIGIN, status=303)
    assert not is_logged_in(browser)
    assert open_from_app(browser, answer.location, 303).location == f"{BYE}?state=a+b"


def test_a_question_of_no_app_leads_to_a_page(browser):
    page = open_from_app(browser, LOGOUT, 200)
    assert "asks" not in page.html.main.text
    assert "form-action 'self'" in page.headers["Content-Security-Policy"].split("; ")
    assert page.html.main.find("a").text == "Stay logged in"
    answer = logout_form(page).submit(headers=SAME_ORIGIN, status=303)
    assert open_from_app(browser, answer.location, 200).html.h1.text == "You are logged out"


def test_the_question_is_for_the_user_who_saw_it(site, browser, wiki, grace):
    form = logout_form(open_from_app(browser, leaving(wiki), 200))
    other = logged_in(site, grace)
    other.post(form.action, form.submit_fields(), headers=SAME_ORIGIN, status=403)
    assert is_logged_in(other)


def test_an_id_token_of_another_session_is_a_question(site, browser, wiki, hint, ada, grace):
    for user in (ada, grace):
        other = logged_in(site, user)
        wiki.log_in(other)
        page = open_from_app(other, leaving(wiki, id_token_hint=hint), 200)
        assert hint not in logout_form(page).action
        assert is_logged_in(other)
    assert is_logged_in(browser)


def test_an_id_token_of_another_app_in_the_session_is_a_mistake(site, browser, wiki, hint):
    other = App(site, "Other", logout_redirects=[BYE])
    page = open_from_app(browser, leaving(other, id_token_hint=hint), 400)
    assert "a request that is not valid" in page.html.main.text
    assert is_logged_in(browser)


# Without a session


@pytest.mark.promise(89)
def test_a_browser_without_a_session_is_led_back_at_once(site, wiki, hint):
    for address in (leaving(wiki), leaving(wiki, id_token_hint=hint, client_id="")):
        answer = open_from_app(TestApp(site), address, 303)
        assert answer.location == f"{BYE}?state=a+b"
        assert answer.headers["Referrer-Policy"] in ("no-referrer", "strict-origin")


# A wrong client or URI


@pytest.mark.promise(89)
def test_a_mistake_is_a_page_that_leads_nowhere(site, browser, wiki, hint):
    evil = leaving(wiki, post_logout_redirect_uri="https://evil.example.org", id_token_hint=hint)
    for client in (TestApp(site), browser):
        page = open_from_app(client, evil, 400)
        assert "The app Wiki asked to send you to an address" in page.html.main.text
        assert "evil" not in page.html.main.prettify()
        assert "evil" not in page.headers["Content-Security-Policy"]
    assert is_logged_in(browser)  # until the user agrees
    answer = logout_form(page).submit(headers=SAME_ORIGIN, status=303)
    assert answer.location == LOGOUT
    assert not is_logged_in(browser)


# The URL has an ID token, and is one that any site can open


@pytest.mark.promise(89)
def test_pages_are_not_stored_or_framed_or_named_to_other_sites(site, browser, wiki):
    for client in (browser, TestApp(site)):
        page = open_from_app(client, url(client_id=wiki.id), 200)
        assert page.headers["Cache-Control"] == "no-store"
        assert page.headers["Referrer-Policy"] == "strict-origin"
        assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"].split("; ")


@pytest.mark.promise(89)
def test_a_redirect_with_the_id_token_in_its_url_has_no_referrer(browser, wiki, hint):
    answer = open_from_app(browser, leaving(wiki, id_token_hint=hint), 303)
    assert answer.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("further", [{"LANGUAGES": ("en", "de")}], ids=["two languages"])
def test_no_page_repeats_the_id_token(site, browser, wiki, hint, ada):
    other = logged_in(site, ada)
    embedded = {**FROM_APP, "Sec-Fetch-Dest": "iframe"}
    for address in (
        leaving(wiki, id_token_hint=hint),
        leaving(wiki, id_token_hint=hint, client_id="unknown"),
        url(id_token_hint=hint, client_id=wiki.id),
    ):
        for headers, status in ((FROM_APP, (200, 400)), (embedded, (403,))):
            page = other.get(address, headers=headers, status="*")
            assert page.status_int in status
            assert ['name="next"' in page.text, hint in page.text] == [True, False]
    language = next(form for form in page.forms.values() if "/language" in form.action)
    assert language["next"].value == url(client_id=wiki.id)


@pytest.mark.promise(95)
@pytest.mark.parametrize("part", ["iframe", "image", "empty", "script"])
def test_a_part_of_a_page_learns_nothing_of_a_session(site, browser, wiki, part):
    headers = {**BROWSER, "Sec-Fetch-Dest": part, "Sec-Fetch-Site": "same-site"}
    for each in (browser, TestApp(site)):
        each.get(leaving(wiki), headers=headers, status=403)
        each.get(LOGOUT, headers=headers, status=403)


@pytest.mark.promise(17)
def test_a_form_of_the_app_begins_the_same_request(browser, wiki, hint):
    sent = {"id_token_hint": hint, "post_logout_redirect_uri": BYE}
    answer = browser.post(LOGOUT, sent, headers={**FROM_APP, "Origin": "null"}, status=303)
    assert answer.location.startswith(url(**sent))
    assert is_logged_in(browser)


@pytest.mark.every_database
def test_a_grant_is_of_one_session_and_one_app(site, browser, wiki, ada):
    wiki.log_in(browser)
    wiki.log_in(logged_in(site, ada))
    first, second = Grant.select()
    client, other = Client.get(), Client(id="0123456789abcdef0123")
    assert grants.has_begun_in(client, first.sid, first.session_id)
    assert not grants.has_begun_in(client, first.sid, second.session_id)
    assert not grants.has_begun_in(other, first.sid, first.session_id)
    assert not grants.has_begun_in(client, second.sid, first.session_id)
