"""Requests that are too long for the URLs of a login, which have the names of rows instead."""

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from webtest import TestApp

from tests.features.oauth_server.test_authorize import log_in_here, open_page, path_of
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.oauth_apps import (
    AUTHORIZE,
    CALLBACK,
    CONSENT,
    App,
    RegisteredApp,
    answer_in,
    code_in,
    walk,
)
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from tests.support.tables import row_by_row
from wsgiauth.features.oauth_server import stored_requests
from wsgiauth.features.oauth_server.authorization import ASKED, MAX_IN_URL, MAX_STATE, size_of
from wsgiauth.features.oauth_server.stored_requests import PREFIX
from wsgiauth.features.oauth_server.tables import Client, StoredRequest
from wsgiauth.storage.upkeep import purge_expired
from wsgiauth.testing import logged_in

LONG = "\u65e5" * (MAX_STATE // 3)
HOUR = 3600  # seconds


@pytest.fixture
def anonymous(site):
    """Return a browser that is not logged in."""
    return TestApp(site, {"HTTP_HOST": "localhost:80"})


def named_by(answer):
    """Return the parameters of the request that a redirect leads to, or back to."""
    return {name: each for name, (each,) in parse_qs(path_of(answer)[1]).items()}


# The way of a browser


@pytest.mark.every_database
def test_a_long_state_comes_back_after_a_login_and_a_consent(anonymous, ada, wiki):
    begun = open_page(anonymous, wiki.url(state=LONG), 303)
    assert path_of(begun)[0] == "/auth/login"
    location = walk(
        anonymous, log_in_here(anonymous, open_page(anonymous, begun.location)).location
    )
    assert answer_in(location)["state"] == LONG
    assert wiki.exchange(code_in(location))["scope"] == "openid profile email"
    assert StoredRequest.select().count() == 1


@row_by_row("prompt", [None, "login", "create"])
@row_by_row("page", ["login", CONSENT])
def test_its_urls_have_the_name_of_the_row_alone(site, ada, anonymous, wiki, prompt, page):
    browser = anonymous if page == "login" else logged_in(site, ada)
    answer = open_page(browser, wiki.url(state=LONG, prompt=prompt), 303)
    assert len(answer.location) < 2048
    named = named_by(answer)
    assert (named.pop("client_id"), named.pop("request_uri")[: len(PREFIX)]) == (wiki.id, PREFIX)
    assert named.keys() <= {ASKED}


def test_an_app_that_is_allowed_gets_its_answer_without_a_row(browser, anonymous, wiki):
    walk(browser, wiki.url())
    answer = open_page(browser, wiki.url(state=LONG), 303)
    assert answer_in(answer.location)["state"] == LONG
    silent = open_page(anonymous, wiki.url(state=LONG, prompt="none"), 303)
    assert answer_in(silent.location)["state"] == LONG
    assert not StoredRequest.select().exists()


def test_a_short_request_stays_in_the_url(anonymous, browser, wiki):
    state = "x" * (MAX_IN_URL - size_of(wiki.parameters(state="").items()))
    for client in (anonymous, browser):
        assert named_by(open_page(client, wiki.url(state=state), 303))["state"] == state
        answer = open_page(client, wiki.url(state=f"{state}x"), 303)
        assert "request_uri" in named_by(answer)


def test_a_short_request_needs_no_statement_for_rows(anonymous, wiki, queries):
    made = queries(lambda: open_page(anonymous, open_page(anonymous, wiki.url(), 303).location))
    assert made
    assert not [each for each in made if "wsgiauth_oauth_request" in each]


def test_each_page_of_the_login_can_be_opened_again(browser, wiki):
    asked = open_page(browser, wiki.url(state=LONG), 303)
    for _ in range(2):
        page = open_page(browser, asked.location, 200)
        assert page.html.find("form")["action"].startswith(f"{CONSENT}?client_id={wiki.id}&")
        assert answer_in(walk(browser, asked.location))["state"] == LONG
    assert StoredRequest.select().count() == 1


def test_a_consent_with_a_long_request_stores_one_row(browser, wiki):
    page = open_page(browser, wiki.url(CONSENT, state=LONG), 200)
    assert len({*_request_uris(page)}) == StoredRequest.select().count() == 1
    assert answer_in(walk(browser, wiki.url(CONSENT, state=LONG)))["state"] == LONG


def _request_uris(page):
    for each in page.html.find_all(["form", "a"]):
        url = urlsplit(each.get("action") or each.get("href"))
        yield from parse_qs(url.query).get("request_uri", [])


def test_a_new_proof_is_asked_for_once(browser, wiki, clock):
    clock.move(10)
    answer = open_page(browser, wiki.url(state=LONG, prompt="login"), 303)
    assert path_of(answer)[0] == "/auth/confirm"
    clock.move(10)
    page = open_page(browser, answer.location)
    confirmed = log_in_here_again(page)
    assert answer_in(walk(browser, confirmed.location))["state"] == LONG


def log_in_here_again(page):
    form = next(each for each in page.forms.values() if "password" in each.fields)
    form["password"] = PASSWORD
    return form.submit(headers=SAME_ORIGIN, status=303)


@pytest.mark.parametrize("further", [{"FACTOR_KEY": FACTOR_KEY}], ids=[""])
def test_a_second_step_leads_back_to_it(site, ada, wiki, anonymous):
    factor = add_app(site, ada)
    begun = open_page(anonymous, wiki.url(state=LONG), 303)
    second = log_in_here(anonymous, open_page(anonymous, begun.location))
    form = next(
        each
        for each in open_page(anonymous, second.location).forms.values()
        if "code" in each.fields
    )
    form["code"] = factor.code()
    answer = form.submit(headers=SAME_ORIGIN, status=303)
    assert answer_in(walk(anonymous, answer.location))["state"] == LONG


def test_the_login_page_knows_the_request(anonymous, wiki):
    answer = open_page(anonymous, wiki.url(state=LONG, login_hint="Ada"), 303)
    page = open_page(anonymous, answer.location)
    form = next(each for each in page.forms.values() if "password" in each.fields)
    assert form["username"].value == "Ada"
    assert "form-action 'self' https://wiki.example.org" in page.headers["Content-Security-Policy"]
    StoredRequest.delete().execute()
    page = open_page(anonymous, answer.location)
    form = next(each for each in page.forms.values() if "password" in each.fields)
    assert form["username"].value == ""


def test_head_writes_no_row(anonymous, wiki):
    answer = anonymous.head(wiki.url(state=LONG), headers=BROWSER, status=303)
    assert path_of(answer)[0] == "/auth/login"
    assert "request_uri" in named_by(answer)
    assert not StoredRequest.select().exists()


def test_a_long_form_begins_a_request(browser, wiki):
    answer = browser.post(AUTHORIZE, wiki.parameters(state=LONG), headers=BROWSER, status=303)
    assert named_by(answer).keys() == {"client_id", "request_uri"}
    assert answer_in(walk(browser, answer.location))["state"] == LONG


@row_by_row("destination", ["iframe", "empty"])
def test_no_page_can_let_its_visitors_store_rows_unnoticed(browser, wiki, destination):
    headers = {**BROWSER, "Sec-Fetch-Dest": destination}
    browser.post(AUTHORIZE, wiki.parameters(state=LONG), headers=headers, status=403)
    browser.get(wiki.url(state=LONG), headers=headers, status=403)
    assert not StoredRequest.select().exists()


def test_a_long_form_with_a_mistake_is_an_answer_to_the_app(browser, wiki):
    fields = wiki.parameters(state=LONG, response_type="token")
    answer = browser.post(AUTHORIZE, fields, headers=BROWSER, status=303)
    assert answer.location.startswith(CALLBACK)
    assert answer_in(answer.location)["state"] == LONG
    assert not StoredRequest.select().exists()


@pytest.mark.parametrize("further", [{"OAUTH_REGISTRATION": True}])
def test_an_app_that_has_registered_itself_can_send_one(site, browser):
    editor = RegisteredApp(site)
    assert answer_in(walk(browser, editor.url(state=LONG)))["state"] == LONG


def test_all_parts_of_an_answer_can_be_long(browser, site):
    """The code has the nonce, the scopes and the redirect URI."""
    uri = f"{CALLBACK}?a={'a' * 900}"
    app = App(site, uri=uri, scopes=["openid"])
    unknown = " ".join(f"unknown{each:03}" for each in range(100))
    changes = {"state": "s" * 4000, "nonce": "\u65e5" * 300, "scope": f"openid {unknown}"}
    tokens = app.exchange(code_in(walk(browser, app.url(**changes))))
    assert tokens["scope"] == "openid"


# The name of a row


def expired(page):
    """Return whether a page says that a login has expired."""
    return (page.html.h1.text, "Location" in page.headers) == ("This login has expired", False)


@pytest.mark.promise(89)
def test_a_row_is_for_its_client_alone(browser, site, wiki):
    named = named_by(open_page(browser, wiki.url(state=LONG), 303))
    other = App(site, "Other")
    for ids in (other.id, "x", ""):
        query = urlencode({**named, "client_id": ids})
        for path in (AUTHORIZE, CONSENT):
            page = open_page(browser, f"{path}?{query}", 400)
            assert expired(page)
    twice = f"{AUTHORIZE}?{urlencode(named)}&client_id={other.id}"
    assert expired(open_page(browser, twice, 400))


@row_by_row("name", ["x" * 43, "x" * 42, "x" * 44, "../" * 14, "", "' OR 1=1 --"])
def test_an_unknown_name_is_a_page(browser, wiki, name):
    query = urlencode({"client_id": wiki.id, "request_uri": f"{PREFIX}{name}"})
    assert expired(open_page(browser, f"{AUTHORIZE}?{query}", 400))


@pytest.mark.promise(89)
def test_a_row_lives_for_an_hour(anonymous, wiki, clock):
    query = urlencode(named_by(open_page(anonymous, wiki.url(state=LONG), 303)))
    clock.move(HOUR - 1)
    assert open_page(anonymous, f"{AUTHORIZE}?{query}", 303)
    clock.move(1)
    assert expired(open_page(anonymous, f"{AUTHORIZE}?{query}", 400))
    open_page(anonymous, wiki.url(state=LONG), 303)
    assert StoredRequest.select().count() == 1
    clock.move(HOUR)
    assert purge_expired(StoredRequest, clock.now) == 1


def test_only_the_row_counts(browser, wiki):
    named = named_by(open_page(browser, wiki.url(state=LONG), 303))
    query = urlencode(
        {**named, **wiki.parameters(state="other", redirect_uri="https://evil.example")}
    )
    assert answer_in(walk(browser, f"{AUTHORIZE}?{query}"))["state"] == LONG


def test_a_removed_client_has_no_rows(browser, wiki):
    query = urlencode(named_by(open_page(browser, wiki.url(state=LONG), 303)))
    Client.delete().execute()
    page = open_page(browser, f"{AUTHORIZE}?{query}", 400)
    assert page.html.h1.text == "This app is not known here"


@pytest.mark.promise(89)
def test_a_row_gives_another_user_no_more_than_a_link(browser, site, grace, anonymous, wiki):
    query = urlencode(named_by(open_page(browser, wiki.url(state=LONG), 303)))
    walk(browser, f"{AUTHORIZE}?{query}")  # Ada allows the app
    hers = open_page(logged_in(site, grace), f"{AUTHORIZE}?{query}", 303)
    assert path_of(hers)[0] == CONSENT
    assert path_of(open_page(anonymous, f"{AUTHORIZE}?{query}", 303))[0] == "/auth/login"


def test_names_are_random(anonymous, wiki):
    names = set()
    for _ in range(20):
        named = named_by(open_page(anonymous, wiki.url(state=LONG), 303))
        names.add(named["request_uri"].removeprefix(PREFIX))
    assert {len(each) for each in names} == {43}  # 256 bits
    assert len(names) == 20


# Their number


@pytest.fixture
def few(monkeypatch):
    """Let few rows be stored."""
    monkeypatch.setattr(stored_requests, "MOST", 6)
    monkeypatch.setattr(stored_requests, "MOST_OF_NETWORK", 3)


@pytest.mark.promise(89)
def test_a_flood_from_many_addresses_is_bounded(site, wiki, few):
    for number in range(20):
        address = f"2001:db8:{number}::1"
        TestApp(site, {"REMOTE_ADDR": address}).get(wiki.url(state=LONG), headers=BROWSER)
    assert StoredRequest.select().count() == 6
    StoredRequest.delete().execute()
    for number in range(20):  # of one subscriber
        address = f"2001:db8:0:{number}::1"
        TestApp(site, {"REMOTE_ADDR": address}).get(wiki.url(state=LONG), headers=BROWSER)
    assert StoredRequest.select().count() == 3


def test_a_client_that_is_unknown_stores_nothing(anonymous, wiki):
    for changes in ({"client_id": "x"}, {"redirect_uri": "https://evil.example"}):
        open_page(anonymous, wiki.url(state=LONG, **changes), 400)
        anonymous.post(AUTHORIZE, wiki.parameters(state=LONG, **changes), status=400)
    assert not StoredRequest.select().exists()
