"""GET and POST /auth/sessions."""

import re

import pytest
from webtest import TestApp

from tests.support.logins import insert_session, valid_session_ids
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import create_user
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication.session_list import LISTED, handle_of
from wsgiauth.authentication.sessions import REUSED

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:147.0) Gecko/20100101 Firefox/147.0"
HOSTILE = "\"'><script>alert(1)</script>Firefox/1"
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
TIME = r"[1-9][0-9]? [A-Z][a-z]+ 20[0-9]{2} at [0-9]{2}:[0-9]{2} UTC"


@pytest.fixture
def heard():
    return []


@pytest.fixture
def site(settings, heard):
    middleware = AuthMiddleware(echo, settings, on_event=heard.append)
    yield middleware
    storage.discard_connection(storage.current())


@pytest.fixture
def browser(site, ada):
    """Return a browser that has logged in by the form, at an address of its own."""
    client = TestApp(site, {"REMOTE_ADDR": "192.0.2.1", "HTTP_USER_AGENT": FIREFOX})
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN)
    return client


@pytest.fixture
def program(client, ada, heard):
    """Return the header of a program that has logged in by JSON."""
    token = client.post_json("/auth/login", CREDENTIALS).json["access_token"]
    heard.clear()
    return {"Authorization": f"Bearer {token}"}


def listed(client, headers):
    return client.get("/auth/sessions", headers=headers, status=200).json["sessions"]


def items(page):
    return page.html.find(class_="entries").find_all("li")


def press(page, text):
    """Send the first form with a button of this text."""
    form = next(each for each in page.forms.values() if text in str(each.html))
    return form.submit(headers=SAME_ORIGIN)


# The list


@pytest.mark.every_database
def test_a_program_gets_the_list(client, program):
    (login,) = listed(client, program)
    row = Session.get()
    assert login == {
        "handle": handle_of(row.id),
        "is_current": True,
        "ended_by": None,
        "created_at": login["created_at"],
        "last_seen_at": None,
        "expires_at": login["ends_at"],
        "ends_at": login["ends_at"],
        "address": None,
        "browser": "Unknown browser",
        "methods": ["pwd"],
    }
    times = [login[name] for name in ("created_at", "ends_at")]
    assert all(re.fullmatch(r"[0-9-]{10}T[0-9:]{8}Z", each) for each in times)


def test_a_browser_gets_the_page(browser):
    page = browser.get("/auth/sessions", headers=BROWSER, status=200)
    (item,) = items(page)
    assert item.h2.text == "Firefox on Windows"
    assert item.find(class_="hint").text.strip().endswith(" · 192.0.2.1")
    page.mustcontain("This browser", "password", no=["Log out everywhere else"])
    times = item.find_all("time")
    assert [re.fullmatch(TIME, each.text) is not None for each in times] == [True] * 4
    assert page.headers["Cache-Control"] == "no-store"


def test_each_login_is_listed_and_one_is_this_one(browser, client, program):
    page = browser.get("/auth/sessions", headers=BROWSER)
    assert [item.h2.text for item in items(page)] == ["Firefox on Windows", "Unknown browser"]
    assert ["This browser" in item.text for item in items(page)] == [True, False]
    assert [item.button.text for item in items(page)] == ["Log out", "Revoke"]
    assert [each["is_current"] for each in listed(client, program)] == [True, False]


def test_the_page_says_when_a_login_ends_with_and_without_use(browser, program):
    page = browser.get("/auth/sessions", headers=BROWSER)
    terms = [[term.text for term in item.find_all("dt")][-2:] for item in items(page)]
    assert terms == [
        ["Expires if unused", "Expires at the latest"],
        ["Began", "Expires at the latest"],
    ]


def test_an_unknown_notice_says_nothing(browser):
    page = browser.get("/auth/sessions?done=nothing", headers=BROWSER)
    assert page.html.find(role="status") is None


@pytest.mark.promise(41)
def test_neither_an_id_nor_a_header_is_shown(browser, client, program):
    page = browser.get("/auth/sessions", headers=BROWSER)
    answer = client.get("/auth/sessions", headers=program)
    for row in Session.select():
        page.mustcontain(no=[row.id, "Mozilla"])
        answer.mustcontain(no=[row.id, "Mozilla"])


@pytest.mark.promise(58)
def test_what_a_client_sent_is_escaped(browser):
    for name in ["agent", "address", "methods"]:
        Session.update({getattr(Session, name): HOSTILE}).execute()
        page = browser.get("/auth/sessions", headers=BROWSER)
        page.mustcontain(no="<script>alert")


def test_it_costs_two_queries(browser, queries):
    assert len(queries(lambda: browser.get("/auth/sessions", headers=BROWSER))) == 2


def test_a_long_list_is_cut_and_contains_this_login(browser, ada):
    for number in range(LISTED):
        insert_session(ada, str(number))
    page = browser.get("/auth/sessions", headers=BROWSER)
    page.mustcontain("This browser", "Older sessions are not shown.")
    assert len(items(page)) == LISTED


@pytest.mark.every_database
@pytest.mark.promise(44)
def test_a_login_whose_refresh_token_was_used_twice_is_shown_as_such(browser, client, ada):
    fields = {**CREDENTIALS, "refresh": True}
    token = client.post_json("/auth/login", fields).json["refresh_token"]
    for _ in range(2):
        renewed = client.post_json("/auth/refresh", {"refresh_token": token}).json["refresh_token"]
    client.post_json("/auth/refresh", {"refresh_token": renewed})
    client.post_json("/auth/refresh", {"refresh_token": token}, status=401)
    page = browser.get("/auth/sessions", headers=BROWSER)
    page.mustcontain("one of its refresh tokens was used twice")
    assert page.html.find("a", string="change your password")["href"] == "/auth/password"
    endings = [each["ended_by"] for each in listed(browser, {})]
    assert endings == [None, "refresh_reused"]
    press(page, "Remove from this list").follow().mustcontain(no="used twice")


# Ending


@pytest.mark.promise(41)
def test_a_browser_ends_another_login(browser, client, program, heard):
    page = browser.get("/auth/sessions", headers=BROWSER)
    form = page.forms[1]
    answer = form.submit(headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/auth/sessions?done=login"
    client.get("/auth/me", headers=program, status=401)
    page = answer.follow(headers=BROWSER)
    assert page.html.find(role="status").text == "The session has been revoked."
    assert len(items(page)) == 1
    assert [each.name for each in heard] == ["logout"]


def test_a_browser_ends_its_own_login(browser):
    page = browser.get("/auth/sessions", headers=BROWSER)
    answer = press(page, "Log out")
    assert (answer.status_int, answer.headers["Location"]) == (303, "/auth/login?done=logout")
    assert "wsgiauth" not in browser.cookies
    assert valid_session_ids() == set()


@pytest.mark.every_database
def test_a_browser_ends_all_other_logins(browser, client, program, ada, heard):
    insert_session(ada, "another")
    page = browser.get("/auth/sessions", headers=BROWSER)
    answer = press(page, "Log out the others").follow(headers=BROWSER)
    assert answer.html.find(role="status").text == "You are logged out everywhere else."
    assert ["This browser" in item.text for item in items(answer)] == [True]
    client.get("/auth/me", headers=program, status=401)
    assert [(each.name, each.reason) for each in heard] == [("logout", "all other sessions")]


def test_a_program_ends_another_login_and_gets_the_list(client, program, ada):
    insert_session(ada, "another")
    body = {"end": handle_of("another")}
    answer = client.post_json("/auth/sessions", body, headers=program, status=200)
    assert [each["is_current"] for each in answer.json["sessions"]] == [True]
    assert "Set-Cookie" not in answer.headers


def test_a_program_ends_its_own_login(client, program, ada):
    insert_session(ada, "another")
    (own, _) = listed(client, program)
    body = {"end": own["handle"]}
    answer = client.post_json("/auth/sessions", body, headers=program, status=200)
    assert [each["handle"] for each in answer.json["sessions"]] == [handle_of("another")]
    assert "Max-Age=0" in answer.headers["Set-Cookie"]
    client.get("/auth/me", headers=program, status=401)


def test_a_script_of_the_site_ends_other_logins(browser, program):
    answer = browser.post("/auth/sessions", {"end": "others"}, headers=SCRIPT, status=200)
    assert [each["is_current"] for each in answer.json["sessions"]] == [True]


def test_to_end_all_others_leaves_what_was_reused_to_be_read(client, program, ada):
    insert_session(ada, "reused")
    Session.update(stamp=REUSED).where(Session.id == "reused").execute()
    answer = client.post_json("/auth/sessions", {"end": "others"}, headers=program)
    assert [each["ended_by"] for each in answer.json["sessions"]] == [None, "refresh_reused"]


@pytest.mark.promise(41)
def test_a_login_of_another_user_is_not_found(client, program, settings):
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    insert_session(grace, "hers")
    body = {"end": handle_of("hers")}
    refused = client.post_json("/auth/sessions", body, headers=program, status=404)
    assert refused.json["code"] == "no_such_login"
    client.post_json("/auth/sessions", {"end": "others"}, headers=program)
    assert "hers" in valid_session_ids()


@pytest.mark.promise(41)
def test_a_handle_identifies_no_request(client, program):
    (login,) = listed(client, program)
    headers = {"Authorization": f"Bearer {login['handle']}"}
    client.get("/auth/sessions", headers=headers, status=401)


def test_a_browser_that_ends_a_login_twice_sees_the_list_and_why(browser):
    fields = {"end": handle_of("ended")}
    page = browser.post("/auth/sessions", fields, headers=SAME_ORIGIN, status=404)
    assert page.html.find(role="alert").text == "That session has already ended."
    assert len(items(page)) == 1


@pytest.mark.parametrize("body", [{}, {"end": ""}])
def test_what_is_to_end_must_be_named(client, program, body):
    refused = client.post_json("/auth/sessions", body, headers=program, status=422)
    assert refused.json["errors"] == {"end": ["Name a session, or `others`."]}


# Who may


def test_an_anonymous_browser_is_sent_to_the_login_and_back(client):
    refused = client.get("/auth/sessions", headers=BROWSER, status=302)
    assert refused.headers["Location"] == "/auth/login?next=%2Fauth%2Fsessions"


def test_an_anonymous_program_is_challenged(client):
    assert client.get("/auth/sessions", status=401).json["code"] == "unauthenticated"
    refused = client.post_json("/auth/sessions", {"end": "others"}, status=401)
    assert refused.json["code"] == "unauthenticated"


@pytest.mark.promise(58)
def test_another_site_ends_nothing(browser, program):
    headers = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    browser.post("/auth/sessions", {"end": "others"}, headers=headers, status=403)
    browser.post_json("/auth/sessions", {"end": "others"}, headers=headers, status=302)
    assert len(valid_session_ids()) == 2


@pytest.mark.promise(58)
def test_a_long_body_is_refused(browser):
    fields = {"end": "x" * (16 * 1024 + 1)}
    browser.post("/auth/sessions", fields, headers=SAME_ORIGIN, status=413)


def test_an_odd_address_does_not_prevent_a_login(client, ada):
    for case, (address, kept) in {
        "nul": ("192.0.2.\0007", "192.0.2.7"),
        "surrogate": ("192.0.2.7\ud800", "192.0.2.7"),
        "line break": ("\r\n192.0.2.7", "192.0.2.7"),
        "long": ("unix:" + "x" * 100, "unix:" + "x" * 59),
        "none": ("", None),
    }.items():
        client.extra_environ["REMOTE_ADDR"] = address
        Session.delete().execute()
        token = client.post_json("/auth/login", CREDENTIALS, status=200).json["access_token"]
        listed = client.get("/auth/sessions", headers={"Authorization": f"Bearer {token}"})
        assert [each["address"] for each in listed.json["sessions"]] == [kept], case
