"""GET and POST /auth/login."""

from dataclasses import replace
from unicodedata import normalize

import bcrypt
import pytest
from webtest import TestApp

from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import create_user
from wsgiauth.app import AuthApp
from wsgiauth.authentication import sessions
from wsgiauth.features.registry import FEATURES
from wsgiauth.site import Site
from wsgiauth.throttling.counts import AttemptCount
from wsgiauth.throttling.hash_slots import Claim, HashSlots
from wsgiauth.throttling.throttle import Throttle

# What a script of the same site sends when it asks for JSON.
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
WRONG = {
    "wrong password": (USERNAME, "wrong"),
    "wrong password for an e-mail": (EMAIL, "wrong"),
    "unknown username": ("nobody", PASSWORD),
    "unknown e-mail": ("nobody@example.org", PASSWORD),
    "NUL in the username": (USERNAME + "\0", PASSWORD),
    "over-long username": ("x" * 5000, PASSWORD),
}
TOO_LONG = "A password must have at most 72 bytes in UTF-8."
INCOMPLETE = {
    "no name": ({"password": PASSWORD}, ["username"]),
    "an empty name": ({"username": "", "password": PASSWORD}, ["username"]),
    "a space for a name": ({"username": " ", "password": PASSWORD}, ["username"]),
    "no password": ({"username": USERNAME}, ["password"]),
    "an empty password": ({"username": USERNAME, "password": ""}, ["password"]),
    "nothing": ({}, ["username", "password"]),
}
IMPOSSIBLE = {
    "73 bytes": (PASSWORD.ljust(73, "x"), TOO_LONG),
    "37 characters in 74 bytes": ("é" * 37, TOO_LONG),
    "9000 bytes": ("x" * 9000, TOO_LONG),
    "a hostile normal form": ("\u0344\u0334" * 700, TOO_LONG),
    "NUL at the end": (PASSWORD + "\0", "A password cannot contain NUL."),
    "more after NUL": (PASSWORD + "\0x", "A password cannot contain NUL."),
}
MESSAGES = {
    "username": ["Enter your username or email address."],
    "password": ["Enter your password."],
}
DAMAGES = [
    pytest.param("UPDATE wsgiauth_user SET is_active = false", id="inactive"),
    pytest.param("UPDATE wsgiauth_user SET hashed_password = ''", id="no hash"),
    pytest.param("UPDATE wsgiauth_user SET hashed_password = '$2b$04$abc'", id="cut hash"),
    pytest.param(
        "UPDATE wsgiauth_user SET hashed_password = '$2b$04$"
        "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'",
        id="hash with an impossible salt",
    ),
]


@pytest.fixture
def costs(monkeypatch):
    """Return a list that grows by the cost of every bcrypt that is computed."""
    spent = []

    def counting(compute):
        def counted(password, salt_or_hash):
            spent.append(salt_or_hash[4:6])
            return compute(password, salt_or_hash)

        return counted

    for name in ("checkpw", "hashpw"):
        monkeypatch.setattr(bcrypt, name, counting(getattr(bcrypt, name)))
    return spent


def refusals(client, username, password):
    """Return all that a failing login shows: by JSON, and by form."""
    credentials = {"username": username, "password": password}
    answers = (
        client.post_json("/auth/login", credentials, status=401),
        client.post("/auth/login", credentials, headers=SAME_ORIGIN, status=401),
    )
    return [(each.status, each.headerlist, each.body) for each in answers]


@pytest.mark.every_database
def test_a_program_gets_a_token_and_no_cookie(client, ada):
    answer = client.post_json("/auth/login", CREDENTIALS, status=200)
    token = answer.json["access_token"]
    lifetime = answer.json["expires_in"]  # less what the login took
    assert answer.json == {"access_token": token, "token_type": "bearer", "expires_in": lifetime}
    assert 3600 - 60 < lifetime <= 3600
    assert "Set-Cookie" not in answer.headers
    headers = {"Authorization": f"Bearer {token}"}
    assert client.get("/auth/me", headers=headers).json["username"] == USERNAME


@pytest.mark.every_database
def test_the_username_or_the_e_mail_in_any_letter_case_logs_in(client, ada):
    for name in (USERNAME.upper(), USERNAME.lower(), EMAIL.upper(), EMAIL.lower()):
        client.post_json("/auth/login", {**CREDENTIALS, "username": name}, status=200)


def test_spaces_around_a_name_do_not_count(client, ada):
    for name in (f"{USERNAME} ", f"\t{EMAIL}\u3000\n", f"\ufeff{USERNAME}\u200b \u200e"):
        fields = {**CREDENTIALS, "username": name}
        client.post_json("/auth/login", fields, status=200)
        client.post("/auth/login", fields, headers=SAME_ORIGIN, status=303)
    client.post_json("/auth/login", {**CREDENTIALS, "password": f"{PASSWORD} "}, status=401)


def test_a_refused_program_is_challenged(client, ada):
    refused = client.post_json("/auth/login", {**CREDENTIALS, "password": "wrong"}, status=401)
    assert refused.headers["WWW-Authenticate"] == 'Bearer realm="wsgiauth"'
    assert refused.content_type == "application/problem+json"
    assert refused.json == {
        "type": "about:blank",
        "title": "Unauthorized",
        "status": 401,
        "detail": "The username and password do not match an active account.",
        "code": "invalid_credentials",
    }


@pytest.mark.promise(9)
def test_wrong_credentials_look_and_cost_as_if_there_were_no_accounts(site, settings, costs):
    client = TestApp(AuthMiddleware(echo, replace(settings, LOGIN_FAILURES_PER_ACCOUNT=0)))
    without_accounts = refusals_of_wrong_credentials(client)
    assert costs == [b"04"] * 2 * len(WRONG)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    costs.clear()
    assert refusals_of_wrong_credentials(client) == without_accounts
    assert costs == [b"04"] * 2 * len(WRONG)


def refusals_of_wrong_credentials(client):
    return {name: refusals(client, *credentials) for name, credentials in WRONG.items()}


@pytest.mark.promise(9)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_spoilt_account_looks_and_costs_as_if_there_were_none(client, settings, costs, damage):
    without_account = refusals(client, USERNAME, PASSWORD)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    storage.current().execute_sql(damage)
    costs.clear()
    assert refusals(client, USERNAME, PASSWORD) == without_account
    assert costs == [b"04"] * 2


@pytest.mark.promise(9)
def test_all_failing_programs_get_one_answer(client, ada):
    unknown, wrong = refusals(client, "nobody", PASSWORD), refusals(client, USERNAME, "wrong")
    assert unknown[0] == wrong[0]


def test_a_login_that_lacks_a_field_is_no_attempt(client, ada, costs):
    for case, (fields, missing) in INCOMPLETE.items():
        refused = client.post_json("/auth/login", fields, status=422)
        assert refused.content_type == "application/problem+json", case
        assert (refused.json["code"], [*refused.json["errors"]]) == ("invalid", missing), case
        assert refused.json["errors"] == {name: MESSAGES[name] for name in missing}, case
        page = client.post("/auth/login", {"next": "/", **fields}, headers=SAME_ORIGIN, status=422)
        page.mustcontain(*(MESSAGES[name][0] for name in missing), no=[PASSWORD])
        assert costs == [], case
    assert not AttemptCount.select().exists()


def test_a_password_of_72_bytes_is_compared_to_its_end(client, settings):
    password = "four unrelated words ".ljust(72, "x")
    create_user(USERNAME, EMAIL, password, settings=settings)
    client.post_json("/auth/login", {"username": USERNAME, "password": password}, status=200)
    for other in (password[:-1], password[:-1] + "y"):
        client.post_json("/auth/login", {"username": USERNAME, "password": other}, status=401)


@pytest.mark.promise(9)
def test_a_password_that_no_account_can_have_is_no_attempt(client, ada, costs):
    for case, (password, problem) in IMPOSSIBLE.items():  # more than a throttle would let pass
        for username in [USERNAME, "nobody"]:
            fields = {"username": username, "password": password}
            refused = client.post_json("/auth/login", fields, status=422)
            assert refused.json["errors"] == {"password": [problem]}, (case, username)
            client.post("/auth/login", fields, headers=SAME_ORIGIN, status=422).mustcontain(problem)
            assert costs == [], (case, username)


def test_a_password_logs_in_from_keyboards_that_compose_letters_in_another_way(client, settings):
    one, other = (normalize(form, "cà phê sữa đá") for form in ("NFC", "NFD"))
    for index, (chosen, presented) in enumerate([(one, other), (other, one)]):
        create_user(f"user{index}", f"user{index}@example.org", chosen, settings=settings)
        fields = {"username": f"user{index}", "password": presented}
        client.post_json("/auth/login", fields, status=200)


@pytest.mark.promise(9)
def test_a_wrong_password_of_another_form_costs_the_same_for_every_name(client, ada, costs):
    for username in (USERNAME, "nobody"):
        fields = {"username": username, "password": "cafe\N{COMBINING ACUTE ACCENT} au lait"}
        client.post_json("/auth/login", fields, status=401)
        assert costs == [b"04"] * 2
        costs.clear()


@pytest.mark.promise(11)
def test_what_is_not_a_text_is_malformed(client, ada):
    for field in CREDENTIALS:
        for value in ([USERNAME, PASSWORD], 1, 1.5, True, None, {"a": "b"}):
            refused = client.post_json("/auth/login", {**CREDENTIALS, field: value}, status=400)
            assert refused.json["code"] == "malformed"


def test_the_page_shows_a_form_that_carries_next(client):
    form = client.get("/auth/login?next=/reports%3Fpage=2", headers=BROWSER, status=200).form
    assert (form.method, form.action) == ("post", "/auth/login")
    assert form["next"].value == "/reports?page=2"
    assert (form["username"].value, form["password"].value) == ("", "")


def test_the_page_offers_to_register(client):
    page = client.get("/auth/login?next=/reports")
    assert page.html.find("a", string="Create an account")["href"] == (
        "/auth/register?next=%2Freports"
    )


def test_the_form_logs_a_browser_in(client, ada):
    answer = client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/"
    assert client.get("/auth/me").json["username"] == USERNAME


def test_the_form_leads_to_next(client, ada):
    fields = {**CREDENTIALS, "next": "/reports?page=2"}
    answer = client.post("/auth/login", fields, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/reports?page=2"


def test_a_refused_form_is_shown_again_without_the_password(client, ada):
    fields = {"username": USERNAME, "password": "not the password", "next": "/reports"}
    refused = client.post("/auth/login", fields, headers=SAME_ORIGIN, status=401)
    assert refused.headers["WWW-Authenticate"] == 'Bearer realm="wsgiauth"'
    assert "Set-Cookie" not in refused.headers
    refused.mustcontain(
        "The username and password do not match an active account.", no=["not the password"]
    )
    assert (refused.form["username"].value, refused.form["next"].value) == (USERNAME, "/reports")


@pytest.mark.every_database
def test_logging_in_again_ends_the_browsers_previous_login(client, ada):
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN)
    previous = client.cookies["wsgiauth"]
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=303)
    client.get("/auth/me", status=200)
    client.reset()
    client.get("/auth/me", headers={"Cookie": f"wsgiauth={previous}"}, status=401)


def test_a_program_that_logs_in_again_ends_the_login_of_the_token_that_it_sends(
    client, ada, bearer, settings
):
    create_user("Bob", "bob@example.org", PASSWORD, settings=settings)
    for username in (USERNAME, "Bob"):
        previous, other = bearer(ada), bearer(ada)
        credentials = {"username": username, "password": PASSWORD}
        answer = client.post_json("/auth/login", credentials, headers=previous, status=200)
        client.get("/auth/me", headers=previous, status=401)
        client.get("/auth/me", headers=other, status=200)
        token = {"Authorization": f"Bearer {answer.json['access_token']}"}
        assert client.get("/auth/me", headers=token).json["username"] == username


def test_a_refused_program_keeps_the_login_of_the_token_that_it_sends(client, ada, bearer):
    headers = bearer(ada)
    client.post_json("/auth/login", {**CREDENTIALS, "password": "no"}, headers=headers, status=401)
    client.get("/auth/me", headers=headers, status=200)


def test_a_script_that_fetches_a_token_leaves_the_browser_logged_in(client, ada):
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN)
    client.post_json("/auth/login", CREDENTIALS, headers=SCRIPT, status=200)
    client.get("/auth/me", status=200)


# The page for a user who has been logged out, by a new password or a command.

LOGGED_OUT = "You have been logged out."


def test_the_page_tells_a_user_whose_login_was_ended(client, ada):
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN)
    sessions.revoke_all(ada)
    notice = client.get("/auth/login").html.find(role="status")
    assert notice.text == f"{LOGGED_OUT} Log in again to continue."


def test_the_page_tells_only_a_user_whose_login_was_ended(client, ada):
    client.get("/auth/login").mustcontain(no=LOGGED_OUT)
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN)
    client.get("/auth/login?switch=1").mustcontain(no=LOGGED_OUT)
    client.post("/auth/logout", headers=SAME_ORIGIN)
    client.get("/auth/login").mustcontain(no=LOGGED_OUT)


@pytest.mark.promise(16)
def test_a_user_whose_browser_sends_two_different_cookies_is_told_what_to_delete(client, ada):
    """A neighbouring host has set one for the whole domain, so each login led to another one."""
    client.set_cookie("wsgiauth", "planted")
    fields = {"username": USERNAME, "password": PASSWORD, "next": "/auth/account"}
    answer = client.post("/auth/login", fields, headers=SAME_ORIGIN, status=303)
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    headers = {**BROWSER, "Cookie": f"wsgiauth=planted; {cookie}"}
    asked = client.get(answer.location, headers=headers, status=302)
    page = client.get(asked.location, headers=headers)
    notice = page.html.find(role="status").text
    assert notice.startswith("Your browser sends two different cookies named wsgiauth, so")
    assert page.form["next"].value == "/auth/account"
    client.get("/auth/account", headers={**BROWSER, "Cookie": f"{cookie}; {cookie}"}, status=200)


def test_a_refusal_takes_the_place_of_the_notice(client, ada):
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN)
    sessions.revoke_all(ada)
    wrong = {**CREDENTIALS, "password": "wrong"}
    refused = client.post("/auth/login", wrong, headers=SAME_ORIGIN, status=401)
    refused.mustcontain("do not match", no=LOGGED_OUT)


# The page for a user who is logged in.


def logged_in(client, ada, path):
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN)
    return client.get(path, headers=BROWSER, status=200)


def test_the_page_tells_a_user_who_is_logged_in(client, ada):
    page = logged_in(client, ada, "/auth/login")
    page.mustcontain("You are logged in", "<strong", USERNAME)
    page.mustcontain(no=['name="password"', "If a page sent you here"])
    assert page.headers["Cache-Control"] == "no-store"
    urls = [link["href"] for link in page.html.main.find_all("a")]
    assert urls == ["/", "/auth/login?switch=1", "/auth/account"]
    assert (page.form.method, page.form.action) == ("post", "/auth/logout")


def test_the_page_of_a_user_who_is_logged_in_leads_to_next_and_explains_a_refusal(client, ada):
    page = logged_in(client, ada, "/auth/login?next=/reports%3Fpage=2")
    urls = [link["href"] for link in page.html.main.find_all("a")]
    assert urls[:2] == ["/reports?page=2", "/auth/login?switch=1&next=%2Freports%3Fpage%3D2"]
    page.mustcontain("your account does not have permission to open it")
    form = page.click("Use another account").form
    assert form["next"].value == "/reports?page=2"
    login = page.form.submit(headers=SAME_ORIGIN, status=303).headers["Location"]
    form = client.get(login).form
    assert (form["next"].value, form["username"].value) == ("/reports?page=2", "")


@pytest.mark.promise(18)
def test_the_page_of_a_user_who_is_logged_in_leads_to_no_other_site(client, ada):
    for wanted in ("//evil.example", "/auth/logout", "/auth/login"):
        page = logged_in(client, ada, f"/auth/login?next={wanted}")
        assert page.html.main.a["href"] == "/", wanted
        assert "evil.example" not in page


def test_a_refused_form_is_shown_to_a_user_who_is_logged_in_too(client, ada):
    logged_in(client, ada, "/auth/login")
    wrong = {**CREDENTIALS, "password": "wrong"}
    client.post("/auth/login", wrong, headers=SAME_ORIGIN, status=401).form["password"]


def test_the_form_asks_the_database_for_nothing_without_a_credential(client, ada, queries):
    assert queries(lambda: client.get("/auth/login")) == []
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN)
    assert queries(lambda: client.get("/auth/login?switch=1")) == []
    assert len(queries(lambda: client.get("/auth/login"))) == 1


def test_the_page_for_an_ended_login_is_the_form(client, ada):
    logged_in(client, ada, "/auth/login")
    sessions.revoke_all(ada)
    assert client.get("/auth/login", headers=BROWSER, status=200).form.action == "/auth/login"


# Forms that scripts send: `fetch(url, {method: "POST", body: new URLSearchParams(...)})`


def test_a_form_that_asks_for_json_logs_in_and_gets_json_and_the_cookie(client, ada):
    for accept in ["application/json", "application/json, text/plain, */*"]:
        fields = {**CREDENTIALS, "next": "/reports?page=2"}
        headers = {"Sec-Fetch-Site": "same-origin", "Accept": accept}
        answer = client.post("/auth/login", fields, headers=headers, status=200)
        assert answer.json == {"detail": "Logged in.", "next": "/reports?page=2"}, accept
        assert client.cookies["wsgiauth"] not in answer.text, accept
        assert client.get("/auth/me").json["username"] == USERNAME, accept


@pytest.mark.promise(18)
def test_a_form_that_asks_for_json_is_led_to_no_other_site(client, ada):
    for wanted in ["", "//evil.example", "/auth/logout"]:
        answer = client.post("/auth/login", {**CREDENTIALS, "next": wanted}, headers=SCRIPT)
        assert answer.json["next"] == "/", wanted


def test_a_form_that_asks_for_json_ends_the_browsers_previous_login(client, ada):
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN)
    previous = client.cookies["wsgiauth"]
    client.post("/auth/login", CREDENTIALS, headers=SCRIPT, status=200)
    client.reset()
    client.get("/auth/me", headers={"Cookie": f"wsgiauth={previous}"}, status=401)


def test_a_refused_form_that_asks_for_json_gets_problem_details(client, ada):
    wrong = client.post(
        "/auth/login", {**CREDENTIALS, "password": "no"}, headers=SCRIPT, status=401
    )
    assert wrong.headers["WWW-Authenticate"] == 'Bearer realm="wsgiauth"'
    assert wrong.json["code"] == "invalid_credentials"
    incomplete = client.post("/auth/login", {"username": USERNAME}, headers=SCRIPT, status=422)
    assert incomplete.json["errors"] == {"password": MESSAGES["password"]}
    for refused in (wrong, incomplete):
        assert "Set-Cookie" not in refused.headers


@pytest.mark.promise(17)
def test_a_form_of_another_site_is_refused_whatever_it_asks_for(client, ada):
    headers = {"Accept": "application/json", "Sec-Fetch-Site": "cross-site"}
    refused = client.post("/auth/login", CREDENTIALS, headers=headers, status=403)
    assert refused.json["code"] == "cross_origin"
    assert "Set-Cookie" not in refused.headers


def test_a_form_that_does_not_ask_for_json_gets_pages(client, ada):
    for accept in [BROWSER["Accept"], "*/*", "", "text/html, application/json;q=0.9"]:
        headers = {"Sec-Fetch-Site": "same-origin", "Accept": accept}
        client.post("/auth/login", CREDENTIALS, headers=headers, status=303)
        refused = client.post("/auth/login", {"username": USERNAME}, headers=headers, status=422)
        assert refused.content_type == "text/html", accept


def test_each_login_has_a_session_of_its_own(client, ada):
    first, second = (
        client.post_json("/auth/login", CREDENTIALS).json["access_token"] for _ in range(2)
    )
    client.post("/auth/logout", headers={"Authorization": f"Bearer {first}"})
    client.get("/auth/me", headers={"Authorization": f"Bearer {second}"}, status=200)


def test_a_login_does_not_lead_to_its_own_end(client, ada):
    for wanted in ["/auth/logout", "/auth/%6Cogout?next=/", "/x/../auth/logout"]:
        form = {"username": USERNAME, "password": PASSWORD, "next": wanted}
        answer = client.post("/auth/login", form, headers=SAME_ORIGIN)
        assert answer.headers["Location"] == "/", wanted


# Refused for now


@pytest.fixture
def parts(settings, database):
    """Return the parts of a site where time stands still and one password is hashed at once."""
    chosen = replace(settings, HASHING_THREADS=1)
    throttle = Throttle(chosen, clock=lambda: 2_000_000_000)
    slots = HashSlots(chosen, queue=0)
    return replace(
        Site.from_settings(chosen, "/auth", FEATURES), throttle=throttle, hash_slots=slots
    )


@pytest.fixture
def strict(parts):
    """Return a client of that site."""
    environ = {"SCRIPT_NAME": "/auth", "wsgiauth.root": "", "wsgiauth.site": parts}
    return TestApp(AuthApp(parts), extra_environ=environ)


@pytest.mark.promise(12)
def test_a_throttled_form_is_shown_again_with_the_reason(strict, ada):
    fields = {"username": USERNAME, "password": "not the password", "next": "/reports"}
    for _ in range(5):
        strict.post("/login", fields, headers=SAME_ORIGIN, status=401)
    refused = strict.post("/login", fields, headers=SAME_ORIGIN, status=429)
    assert refused.headers["Retry-After"] == "1"
    assert "WWW-Authenticate" not in refused.headers
    assert "Set-Cookie" not in refused.headers
    reason = "There were too many attempts. Try again in a second."
    assert refused.html.find(id="message").text == reason
    refused.mustcontain(no=["not the password"])
    assert refused.form.action == "/auth/login"
    assert (refused.form["username"].value, refused.form["next"].value) == (USERNAME, "/reports")


@pytest.mark.promise(12)
def test_guesses_at_a_name_with_spaces_around_it_are_guesses_at_the_name(strict, ada):
    for spaces in range(5):
        fields = {"username": f"{USERNAME}{spaces * ' '}", "password": "wrong"}
        strict.post("/login", fields, headers=SCRIPT, status=401)
    strict.post("/login", {**CREDENTIALS, "username": f" {USERNAME}"}, headers=SCRIPT, status=429)


@pytest.mark.promise(12)
def test_a_throttled_form_that_asks_for_json_gets_problem_details(strict, ada):
    fields = {"username": USERNAME, "password": "wrong"}
    for _ in range(5):
        strict.post("/login", fields, headers=SCRIPT, status=401)
    refused = strict.post("/login", fields, headers=SCRIPT, status=429)
    assert (refused.json["code"], refused.headers["Retry-After"]) == ("throttled", "1")


@pytest.mark.promise(14)
def test_a_form_for_which_there_was_no_slot_is_shown_again_with_the_reason(strict, parts, ada):
    fields = {"username": USERNAME, "password": PASSWORD, "next": "/reports"}
    with parts.hash_slots.slot(Claim(("192.0.2.1",))):
        refused = strict.post("/login", fields, headers=SAME_ORIGIN, status=503)
    assert refused.headers["Retry-After"] == "1"
    refused.mustcontain(
        "Too many people are logging in or registering. Try again in a few seconds.", no=[PASSWORD]
    )
    assert (refused.form["username"].value, refused.form["next"].value) == (USERNAME, "/reports")
    strict.post("/login", fields, headers=SAME_ORIGIN, status=303)


@pytest.mark.promise(14)
def test_a_login_without_a_slot_has_not_failed(strict, parts, ada):
    with parts.hash_slots.slot(Claim(("192.0.2.1",))):
        for _ in range(6):
            refused = strict.post_json("/login", CREDENTIALS, status=503)
            assert refused.json["code"] == "busy"
    strict.post_json("/login", CREDENTIALS, status=200)


def test_the_page_promises_no_more_days_than_a_browser_keeps_a_cookie(settings):
    site = AuthMiddleware(echo, replace(settings, REMEMBER_DAYS=3650))
    page = TestApp(site).get("/auth/login", headers=BROWSER)
    page.mustcontain("Keep me logged in for up to 400 days")
    storage.discard_connection(site.database)
