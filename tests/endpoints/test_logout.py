"""GET and POST /auth/logout."""

import pytest

from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME

PREFETCHES = [
    {"Sec-Purpose": "prefetch"},
    {"Sec-Purpose": "prefetch;prerender"},
    {"Purpose": "prefetch"},
    {"X-Moz": "Prefetch"},
    {"X-Sec-Purpose": "prefetch"},
    {"HX-Preloaded": "true"},
    {"Next-Router-Prefetch": "1"},
]
CROSS_SITE = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
]

BROWSER_LINK = {"Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def browser(client, ada):
    """Return a client that has logged in by the form."""
    fields = {"username": USERNAME, "password": PASSWORD}
    client.post("/auth/login", fields, headers=SAME_ORIGIN)
    return client


@pytest.mark.promise(5)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_program_is_logged_out(client, ada, bearer, method):
    headers = bearer(ada)
    answer = client.request("/auth/logout", method=method, headers=headers, status=200)
    assert answer.json == {"detail": "Logged out."}
    client.get("/auth/me", headers=headers, status=401)


@pytest.mark.promise(5)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_browser_is_logged_out_and_led_to_the_login_page(browser, method):
    token = browser.cookies["wsgiauth"]
    answer = browser.request("/auth/logout", method=method, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/auth/login?done=logout"
    assert "wsgiauth" not in browser.cookies
    browser.get("/auth/me", headers={"Cookie": f"wsgiauth={token}"}, status=401)


def test_a_browser_is_led_to_next(browser):
    answer = browser.post("/auth/logout?next=/bye%3Fsoon", headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/bye?soon"


@pytest.mark.promise(18)
def test_an_unsafe_next_leads_to_the_login_page(browser):
    answer = browser.get("/auth/logout?next=//evil.example", headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/auth/login?done=logout"


def test_logging_out_twice_is_answered_as_once(client, ada, bearer):
    headers = bearer(ada)
    first = client.post("/auth/logout", headers=headers)
    second = client.post("/auth/logout", headers=headers)
    assert (first.headerlist, first.body) == (second.headerlist, second.body)


def test_a_stranger_is_answered_as_everybody_else(client, ada, bearer):
    known = client.post("/auth/logout", headers=bearer(ada))
    stranger = client.post("/auth/logout")
    assert (known.headerlist, known.body) == (stranger.headerlist, stranger.body)


@pytest.mark.every_database
def test_only_this_login_ends(client, ada, bearer):
    mine, other = bearer(ada), bearer(ada)
    client.post("/auth/logout", headers=mine)
    client.get("/auth/me", headers=other, status=200)


@pytest.mark.promise(17)
def test_another_site_logs_nobody_out(browser):
    for method in ["GET", "POST"]:
        for headers in CROSS_SITE:
            refused = browser.request("/auth/logout", method=method, headers=headers, status=403)
            assert refused.json["code"] == "cross_origin", method
            assert "Set-Cookie" not in refused.headers, method
        browser.get("/auth/me", status=200)


def test_a_page_fetched_in_advance_logs_nobody_out(browser):
    for headers in PREFETCHES:
        refused = browser.get("/auth/logout", headers={**SAME_ORIGIN, **headers}, status=403)
        assert refused.content_type == "text/html"
        assert "Set-Cookie" not in refused.headers
    browser.get("/auth/me", status=200)


def test_a_bearer_token_logs_out_from_anywhere(client, ada, bearer):
    headers = {**bearer(ada), "Origin": "https://app.example.org", "Sec-Fetch-Site": "cross-site"}
    client.post("/auth/logout", headers=headers, status=200)
    client.get("/auth/me", headers=headers, status=401)


def test_a_followed_link_or_typed_address_logs_out(browser):
    browser.get("/auth/logout", headers={**BROWSER, "Sec-Fetch-Site": "none"}, status=303)
    browser.get("/auth/me", status=401)


def test_a_part_of_a_page_of_this_site_logs_out_no_viewer(browser):
    for part in ["image", "iframe", "script", "style", "video", "empty"]:
        headers = {**BROWSER_LINK, "Sec-Fetch-Dest": part}
        refused = browser.get("/auth/logout", headers=headers, status=403)
        assert refused.json["code"] == "embedded", part
        browser.get("/auth/me", status=200)


@pytest.mark.parametrize(("method", "destination"), [("GET", "document"), ("POST", "empty")])
def test_a_link_and_a_form_of_a_script_of_this_site_log_out(browser, method, destination):
    headers = {**BROWSER_LINK, "Sec-Fetch-Dest": destination}
    browser.request("/auth/logout", method=method, headers=headers, status=200)
    browser.get("/auth/me", status=401)


def test_a_script_with_a_token_logs_out_by_get(client, ada, bearer):
    headers = {**bearer(ada), "Sec-Fetch-Dest": "empty"}
    client.get("/auth/logout", headers=headers, status=200)
    client.get("/auth/me", headers=headers, status=401)


def test_head_ends_nothing(browser):
    browser.head("/auth/logout", headers=BROWSER_LINK, status=403)
    browser.get("/auth/me", status=200)
