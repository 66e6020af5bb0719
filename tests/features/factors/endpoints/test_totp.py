"""GET and POST /auth/totp and /auth/recovery-codes, and a code at /auth/confirm."""

import sys
from contextlib import nullcontext
from dataclasses import replace
from urllib.parse import quote

import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, App, add_app
from tests.support.logins import make_stale
from tests.support.settings import LONG_KEY
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.factors.totp import Totp
from wsgiauth.testing import bearer, logged_in
from wsgiauth.throttling.hash_slots import HashSlots

SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
TOTP, CODES = "/auth/totp", "/auth/recovery-codes"


@pytest.fixture
def site(settings):
    made = AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY))
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def browser(site, ada):
    return logged_in(site, ada)


@pytest.fixture
def program(site, ada, client):
    """Return a function that sends JSON."""
    return program_of(site, ada, client)


def program_of(site, ada, client):
    headers = bearer(site, ada)

    def send(path, body, status=200):
        answer = client.post_json(path, body, headers=headers, status=status)
        if "login" in answer.json:
            headers["Authorization"] = f"Bearer {answer.json['login']['access_token']}"
        return answer

    return send


def app_on(page, site):
    """Return the app whose set-up a page shows."""
    return App(page.html.find(class_="key").text.replace(" ", ""), site)


@pytest.fixture
def app(site, ada):
    """Return an app that Ada had before she logged in."""
    return add_app(site, ada)


def alert(page):
    return page.html.find(role="alert").text


def status_of(page):
    return page.html.find(role="status").text


def events_named(*names):
    return [each.name for each in RecordedEvent.select() if each.name in names]


@pytest.mark.every_database
def test_a_person_sets_up_an_app(browser, site):
    account = browser.get("/auth/account", headers=BROWSER)
    link = account.html.find("strong", string="Two-step verification").parent["href"]
    page = browser.get(link, headers=BROWSER)
    assert page.form["name"].value == "Phone"  # a proposal
    assert page.html.find(id="name")["data-proposal"] == "on"  # typing replaces it
    page.form["name"] = "  My   phone "
    page = page.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    key = page.html.find(class_="key").text
    assert [len(group) for group in key.split()] == [4] * 8
    link = page.html.find("a", string="Open the app on this device")["href"]
    assert f"secret={key.replace(' ', '')}&" in link
    form = page.forms[0]
    form["code"] = App(key.replace(" ", ""), site).code()
    answer = form.submit(headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == f"{CODES}?done=added"
    assert status_of(answer.follow(headers=BROWSER)).startswith(
        "The authenticator app “My phone” has been added."
    )
    assert browser.get(TOTP, headers=BROWSER).html.find("h2").text == "My phone"
    account = browser.get("/auth/account", headers=BROWSER)
    assert "Two-step verification On: My phone" in " ".join(
        account.html.find(class_="line").text.split()
    )
    assert events_named("factor_added") == ["factor_added"]


def test_an_app_that_is_not_the_first_leads_back_to_the_list(app, browser, site, ada):
    recovery_codes.replace(ada, rounds=4)
    page = logged_in(site, ada).get(TOTP, headers=BROWSER)
    assert page.html.find(attrs={"name": "name"})["value"] == "Phone 2"  # a proposal
    page = browser.post(TOTP, {"name": "Tablet"}, headers=SAME_ORIGIN).follow(headers=BROWSER)
    code = app_on(page, site).code()
    answer = browser.post(TOTP, {"code": code}, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == f"{TOTP}?done=added"


@pytest.mark.promise(58)
def test_the_qr_code_is_a_picture_without_script_or_style(browser, monkeypatch):
    browser.post(TOTP, {"name": "Phone"}, headers=SAME_ORIGIN)
    page = browser.get(TOTP, headers=BROWSER)
    picture = page.html.find(class_="qr")
    assert picture.svg is not None
    assert picture["role"] == "img"
    assert not picture.find_all("script")
    assert not page.html.find_all(style=True)
    monkeypatch.setitem(sys.modules, "segno", None)  # without it there is the key
    page = browser.get(TOTP, headers=BROWSER)
    assert page.html.find(class_="qr") is None
    assert page.html.find(class_="key") is not None


def test_names_that_are_too_long_for_a_qr_code_are_cut_or_leave_the_key(settings, site, ada):
    for site_name, username, has_code in (
        ("図書館" * 50, USERNAME, True),
        ("Библиотека " * 40, "ж" * 75, True),
        ("📚" * 200, "🦉" * 150, False),  # for which no code has room
    ):
        named = replace(settings, FACTOR_KEY=FACTOR_KEY, SITE_NAME=site_name)
        other = AuthMiddleware(echo, named)
        user = User.get()
        update_user(user, username=username)
        form = logged_in(other, user).get(TOTP, headers=BROWSER).form
        page = form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER, status=200)
        assert (page.html.find(class_="qr") is not None) is has_code
        assert app_on(page, other).code().isdecimal()
        storage.discard_connection(other.database)


ISSUERS = [
    ({}, "wsgiauth"),
    ({"PUBLIC_URL": "https://example.org"}, "example.org"),
    ({"PUBLIC_URL": "https://example.org/"}, "example.org"),
    ({"PUBLIC_URL": "https://example.org/app/"}, "example.org%2Fapp"),
    ({"PUBLIC_URL": "https://example.org/", "SITE_NAME": "Library"}, "Library"),
]


def test_the_issuer_names_the_site(settings, site, ada):
    headers = bearer(site, ada)
    for changed, issuer in ISSUERS:
        named = AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY, **changed))
        begun = TestApp(named).post_json(TOTP, {"name": "Phone"}, headers=headers, status=201)
        assert begun.json["uri"].startswith(f"otpauth://totp/{issuer}:Ada?secret=")
        assert begun.json["uri"].endswith(f"&issuer={issuer}")
        storage.discard_connection(named.database)


def test_a_program_sets_up_an_app(program, site):
    begun = program(TOTP, {"name": "Phone"}, 201).json
    assert begun["uri"].startswith("otpauth://totp/wsgiauth:Ada?secret=")
    added = program(TOTP, {"code": App(begun["secret"], site).code()}).json
    ((device,), left) = added["devices"], added["recovery_codes_left"]
    assert (device["name"], left) == ("Phone", 0)
    assert program(TOTP, {"remove": device["handle"]}).json["devices"] == []
    assert events_named("factor_removed") == ["factor_removed"]


def test_a_set_up_goes_on_while_the_key_is_rotated(site, settings, ada):
    """The processes before and after the swap take turns."""
    swapped = replace(settings, FACTOR_KEY=LONG_KEY, FACTOR_KEY_FALLBACKS=(FACTOR_KEY,))
    prepared = replace(settings, FACTOR_KEY=FACTOR_KEY, FACTOR_KEY_FALLBACKS=(LONG_KEY,))
    both = [TestApp(AuthMiddleware(echo, each)) for each in (prepared, swapped)]
    for first, second in (both, reversed(both)):
        headers = bearer(site, ada)
        begun = first.post_json(TOTP, {"name": "Phone"}, headers=headers).json
        app = App(begun["secret"], site)
        added = second.post_json(TOTP, {"code": app.code()}, headers=headers).json
        assert [each["name"] for each in added["devices"]] == ["Phone"]
        Totp.update(counter=0).execute()  # so that its code can be used once more
        login = {"username": USERNAME, "password": PASSWORD, "code": app.code()}
        first.post_json("/auth/login", login, status=200)
        Totp.delete().execute()


def test_a_program_lists_the_apps(client, site, ada):
    add_app(site, ada)
    headers = bearer(site, ada)
    assert [each["name"] for each in client.get(TOTP, headers=headers).json["devices"]] == ["Phone"]
    assert client.get(CODES, headers=headers).json == {"left": 0}


BAD_NAME = "The name must have at most 50 printable characters."
REFUSED = [
    ({"name": ""}, "Enter a name, such as Phone."),
    ({"name": "x" * 51}, BAD_NAME),
    ({"name": "a\x07"}, BAD_NAME),
    ({"code": "123456"}, "This code is wrong. Enter the one that the app shows now."),
    ({"remove": "0"}, "That app has already been removed."),
]


def test_what_cannot_be_done_is_refused(browser, program):
    for sent, message in REFUSED:
        page = browser.post(TOTP, sent, headers=SAME_ORIGIN, status=422)
        assert page.html.select_one(".error" if "name" in sent else ".notice").text == message
        assert [*program(TOTP, sent, 422).json["errors"].values()] == [[message]]


def test_a_wrong_code_leaves_the_set_up(browser, site):
    browser.post(TOTP, {"name": "Phone"}, headers=SAME_ORIGIN)
    page = browser.post(TOTP, {"code": "x"}, headers=SAME_ORIGIN, status=422)
    assert page.html.find(id="code-error").text.startswith("This code is wrong.")
    assert not page.html.select(".notice")
    code = app_on(page, site).code()
    browser.post(TOTP, {"code": code}, headers=SAME_ORIGIN, status=303)


@pytest.mark.promise(53)
def test_a_login_does_not_go_on_with_a_set_up_that_another_began(browser, program, site):
    begun = program(TOTP, {"name": "Thief"}, 201).json
    assert browser.get(TOTP, headers=BROWSER).html.find(class_="key") is None
    code = App(begun["secret"], site).code()
    browser.post(TOTP, {"code": code}, headers=SAME_ORIGIN, status=422)
    page = browser.post(TOTP, {"name": "Phone"}, headers=SAME_ORIGIN).follow(headers=BROWSER)
    program(TOTP, {"name": "Thief"}, 201)
    code = app_on(page, site).code()
    browser.post(TOTP, {"code": code}, headers=SAME_ORIGIN, status=303)
    assert [each.name for each in Totp.select() if each.confirmed_at] == ["Phone"]


@pytest.mark.promise(53)
def test_recovery_codes_from_before_the_first_app_end(program, browser, site, ada):
    codes = recovery_codes.replace(ada, rounds=4)
    secret = program(TOTP, {"name": "Phone"}, 201).json["secret"]
    program(TOTP, {"code": App(secret, site).code()})
    assert not recovery_codes.use(ada, codes[0])
    kept = recovery_codes.replace(ada, rounds=4)
    secret = program(TOTP, {"name": "Tablet"}, 201).json["secret"]
    program(TOTP, {"code": App(secret, site).code()})
    assert recovery_codes.use(ada, kept[0])


@pytest.mark.every_database
def test_a_user_has_at_most_ten_apps(site, ada, client):
    for _ in range(10):
        add_app(site, ada)
    errors = program_of(site, ada, client)(TOTP, {"name": "Phone"}, 422).json["errors"]
    assert errors == {"name": ["You have too many apps. Remove one first."]}


@pytest.mark.every_database
def test_a_person_removes_an_app_and_then_the_last_one(app, browser, site, ada):
    add_app(site, ada, "Tablet")
    page = browser.get(TOTP, headers=BROWSER)
    assert "You will no longer be able to log in with it." in page.html.details.text
    first, last = (each.text for each in page.html.find_all("h2"))
    page = page.forms[0].submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    assert status_of(page) == f"The authenticator app “{first}” has been removed."
    assert "logins will no longer ask for a second step" in page.html.details.text
    page = page.forms[0].submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    text = "has been removed. Logins no longer ask for a second step."
    done = f"The authenticator app “{last}” {text}"
    assert status_of(page) == done


@pytest.mark.promise(46)
def test_a_change_needs_a_recent_proof(browser, program):
    make_stale()
    for path in (TOTP, CODES):
        location = browser.get(path, headers=BROWSER, status=302).headers["Location"]
        assert location.startswith("/auth/confirm")
        browser.post(path, {"name": "Phone"}, headers=SAME_ORIGIN, status=303)
        refused = program(path, {"name": "Phone"}, 401)
        assert refused.json["code"] == "insufficient_user_authentication"


@pytest.mark.promise(17)
@pytest.mark.promise(58)
def test_a_form_of_another_site_is_refused_and_a_name_is_escaped(browser):
    headers = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    for path in (TOTP, CODES):
        browser.post(path, {"name": "x"}, headers=headers, status=403)
    browser.post(TOTP, {"name": "<b>&"}, headers=SAME_ORIGIN)
    assert "<b>" not in browser.get(TOTP, headers=BROWSER)


@pytest.mark.every_database
def test_recovery_codes_are_shown_once(app, browser, ada):
    page = browser.get(CODES, headers=BROWSER).form.submit(headers=SAME_ORIGIN, status=201)
    codes = [each.text for each in page.html.find_all("code")]
    assert len(codes) == 10
    assert not browser.get(CODES, headers=BROWSER).html.find_all("code")
    assert recovery_codes.use(ada, codes[0])
    assert browser.get(CODES, headers=BROWSER).html.find("strong").text == "9"


# The first app makes a login that was proven by the password alone one with a second factor.


def set_up(client, site, headers):
    secret = client.post_json(TOTP, {"name": "Phone"}, headers=headers).json["secret"]
    sent = {"code": App(secret, site).code()}
    return client.post_json(TOTP, sent, headers=headers)


@pytest.mark.promise(46)
def test_the_first_app_renews_the_login_of_a_program(client, site, ada):
    before = bearer(site, ada)
    login = set_up(client, site, before).json["login"]
    client.get("/auth/me", headers=before, status=401)
    after = {"Authorization": f"Bearer {login['access_token']}"}
    client.get("/auth/me", headers=after, status=200)
    assert Session.get().methods == "pwd otp"
    assert "login" not in set_up(client, site, after).json


@pytest.mark.promise(46)
def test_the_first_app_renews_the_login_of_a_browser(site, ada):
    for headers in (SAME_ORIGIN, SCRIPT):
        browser = logged_in(site, ada)
        before = browser.cookies["wsgiauth"]
        browser.post(TOTP, {"name": "Phone"}, headers=SAME_ORIGIN)
        code = app_on(browser.get(TOTP, headers=BROWSER), site).code()
        answer = browser.post(TOTP, {"code": code}, headers=headers)
        assert answer.status_int == 303 or "login" not in answer.json
        assert browser.cookies["wsgiauth"] != before
        browser.get(TOTP, headers=BROWSER, status=200)
        browser.set_cookie("wsgiauth", before)
        browser.get(TOTP, headers=BROWSER, status=302)
        Totp.delete().execute()


def test_a_form_with_a_token_gets_the_new_token(client, site, ada):
    headers = {**SAME_ORIGIN, **bearer(site, ada)}
    secret = client.post_json(TOTP, {"name": "Phone"}, headers=headers).json["secret"]
    added = client.post(TOTP, {"code": App(secret, site).code()}, headers=headers, status=200)
    assert "Set-Cookie" not in added.headers
    assert added.json["login"]["token_type"] == "bearer"


@pytest.mark.every_database
def test_a_login_that_ends_while_its_first_app_is_confirmed_is_asked_to_log_in(
    client, site, ada, monkeypatch
):
    headers = bearer(site, ada)
    secret = client.post_json(TOTP, {"name": "Phone"}, headers=headers).json["secret"]

    def confirm(*arguments):
        sessions.revoke_all(ada)
        return True

    monkeypatch.setattr("wsgiauth.features.factors.totp.confirm", confirm)
    sent = {"code": App(secret, site).code()}
    client.post_json(TOTP, sent, headers=headers, status=401)


@pytest.mark.every_database
def test_codes_that_a_reload_asks_for_again_are_not_made_again(app, browser, ada):
    form = browser.get(CODES, headers=BROWSER).form
    shown = form.submit(headers=SAME_ORIGIN, status=201).html
    repeated = form.submit(headers=SAME_ORIGIN, status=409)
    repeated.mustcontain("These codes have already been created", "<strong>10</strong>")
    assert recovery_codes.use(ada, shown.find("code").text)
    repeated.form.submit(headers=SAME_ORIGIN, status=201)


@pytest.mark.promise(14)
def test_a_program_gets_recovery_codes_which_are_hashed_in_a_slot(app, program, monkeypatch):
    monkeypatch.setattr(HashSlots, "slot", lambda *_: nullcontext(claims.append(1)))
    claims = []
    assert len(program(CODES, {}, 201).json["recovery_codes"]) == 10
    assert claims == [1]


@pytest.mark.parametrize(
    ("wanted", "location"),
    [("", "/auth/account?done=saved"), ("/reports?page=2", "/reports?page=2")],
    ids=["account", "next"],
)
def test_the_page_after_the_codes_confirms_that_they_are_saved(app, browser, wanted, location):
    address = f"{CODES}?next={quote(wanted, safe='')}" if wanted else CODES
    page = browser.get(address, headers=BROWSER).form.submit(headers=SAME_ORIGIN, status=201)
    make_stale()  # while they were written down
    answer = page.form.submit("saved", headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"].removeprefix("http://localhost") == location
    if not wanted:
        saved = "Recovery codes saved. Keep them in a safe place."
        assert status_of(answer.follow(headers=BROWSER)) == saved
        account = browser.get("/auth/account?done=saved", headers=BROWSER)
        assert account.html.find(class_="state", string="10 left")


def test_a_program_that_has_saved_the_codes_makes_no_new_ones(app, program, ada):
    codes = program(CODES, {}, 201).json["recovery_codes"]
    assert program(CODES, {"saved": True}).json == {"left": 10}
    assert recovery_codes.use(ada, codes[0])


def test_without_a_second_factor_there_are_no_recovery_codes(program, browser, ada):
    assert program(CODES, {}, 409).json["code"] == "no_second_factor"
    refused = browser.post(CODES, {"x": ""}, headers=SAME_ORIGIN, status=409)
    assert refused.html.find("a", class_="button")["href"] == TOTP
    account = browser.get("/auth/account", headers=BROWSER)
    assert account.html.find("a", href=CODES) is None
    assert "Two-step verification Off" in " ".join(account.html.find(class_="line").text.split())
    assert recovery_codes.count(ada) == 0


# A code at /auth/confirm.


@pytest.mark.promise(46)
def test_a_code_or_a_recovery_code_makes_a_login_fresh(browser, site, ada):
    app = add_app(site, ada)
    recovery_code, *_ = recovery_codes.replace(ada, rounds=4)
    for code, methods in ((app.code(), "otp"), (recovery_code, "otp recovery")):
        make_stale()
        page = browser.get(TOTP, headers=BROWSER, status=302).follow(headers=BROWSER)
        form = page.forms["recovery-code" if "recovery" in methods else 0]
        form["code"] = code
        back = form.submit(headers=SAME_ORIGIN, status=303)
        assert back.headers["Location"] == TOTP
        back.follow(headers=BROWSER, status=200)
        assert Session.get().methods == methods


@pytest.mark.promise(46)
def test_the_password_of_a_user_with_a_factor_confirms_nothing(browser, program, site, ada):
    add_app(site, ada)
    page = browser.get("/auth/confirm", headers=BROWSER)
    assert "password" not in page.form.fields
    page = browser.post("/auth/confirm", {"password": PASSWORD}, headers=SAME_ORIGIN, status=422)
    assert alert(page) == "Enter a code."
    errors = program("/auth/confirm", {"password": PASSWORD}, 422).json["errors"]
    assert errors == {"code": ["Enter a code."]}


@pytest.mark.promise(46)
def test_a_user_with_a_factor_needs_it_for_a_change_also_just_after_the_password(
    browser, program, site, ada
):
    app = add_app(site, ada)
    for path in (TOTP, CODES):
        answer = browser.get(path, headers=BROWSER, status=302)
        assert answer.headers["Location"].startswith("/auth/confirm")
        refused = program(path, {}, 401)
        assert refused.json["code"] == "insufficient_user_authentication"
    browser.post("/auth/confirm", {"code": app.code()}, headers=SAME_ORIGIN, status=303)
    for path in (TOTP, CODES):
        browser.get(path, headers=BROWSER, status=200)


@pytest.mark.every_database
@pytest.mark.promise(46)
def test_a_new_password_does_not_stand_for_the_factor(browser, site, ada):
    app = add_app(site, ada)
    browser.post("/auth/confirm", {"code": app.code()}, headers=SAME_ORIGIN, status=303)
    make_stale()
    proof = Session.authenticated_at, Session.methods
    before = Session.select(*proof).tuples().get()
    new = {"current_password": PASSWORD, "new_password": "another unrelated phrase"}
    browser.post("/auth/password", new, headers=SAME_ORIGIN, status=303)
    assert before in [*Session.select(*proof).where(Session.stamp == 1).tuples()]
    assert browser.get(TOTP, headers=BROWSER, status=302)


@pytest.mark.promise(53)
def test_guesses_at_the_page_to_confirm_are_counted(stopped_throttle, program, site, ada):
    add_app(site, ada)
    for status in (401, 401, 401, 401, 401, 429):
        program("/auth/confirm", {"code": "x"}, status)


def test_a_code_of_a_user_without_a_factor_confirms_nothing(program):
    errors = program("/auth/confirm", {"code": "123456"}, 422).json["errors"]
    assert errors == {"password": ["Enter your password."]}
