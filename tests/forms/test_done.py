"""What a page says of the form before it: only what that form has done."""

from base64 import urlsafe_b64encode

import pytest

from tests.support.sites import BROWSER, SAME_ORIGIN

COOKIE = "wsgiauth-done"


def notice(page):
    found = page.html.find(role="status")
    return found and found.text


def log_out(client):
    return client.post("/auth/logout", headers=SAME_ORIGIN, status=303)


def test_a_link_alone_makes_no_page_say_that_something_was_done(client):
    for url in ["login?done=closed", "login?done=reset", "login?done=logout"]:
        assert notice(client.get(f"/auth/{url}", headers=BROWSER)) is None


def test_a_page_says_what_was_done_also_after_a_reload(client):
    location = log_out(client).location
    for _ in range(2):
        assert notice(client.get(location, headers=BROWSER)) == "You are logged out."


def test_another_page_does_not_say_it(client):
    for url in ["login?done=closed", "login"]:
        log_out(client)
        assert notice(client.get(f"/auth/{url}", headers=BROWSER)) is None


@pytest.mark.promise(16)
def test_the_cookie_has_the_attributes_of_the_others_and_lasts_a_minute(client):
    for scheme, name, secure in (("http", COOKIE, ""), ("https", f"__Host-{COOKIE}", "; Secure")):
        client.extra_environ = {"wsgi.url_scheme": scheme}
        cookie = log_out(client).headers.getall("Set-Cookie")[-1]
        assert cookie.partition("=")[0] == name
        assert cookie.endswith(f"; Max-Age=60; Path=/; HttpOnly; SameSite=Lax{secure}")


def test_a_cookie_that_is_not_of_this_page_says_nothing(client):
    for case, value in {
        "too short": "x",
        "not ASCII": "é",
        "not UTF-8": urlsafe_b64encode(b"\xff").decode(),
        "another path": urlsafe_b64encode(b"/auth/account?done=logout ").decode(),
    }.items():
        headers = {**BROWSER, "Cookie": f"{COOKIE}={value}".encode().decode("latin-1")}
        assert notice(client.get("/auth/login?done=logout", headers=headers)) is None, case


def test_a_page_that_the_user_asked_for_after_it_is_not_said_to_be_the_result(client):
    answer = client.post("/auth/logout?next=/auth/login%3Fdone=closed", headers=SAME_ORIGIN)
    assert notice(client.get(answer.location, headers=BROWSER)) is None
