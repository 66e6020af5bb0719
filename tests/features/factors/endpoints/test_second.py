"""Logins with a second factor: GET and POST /auth/second, and the code at /auth/login."""

import base64
import logging
import re
from dataclasses import replace
from functools import partial

import bcrypt
import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.mails import Clock, Post, with_mail
from tests.support.provider_logins import path_of
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from tests.support.tabs import SECOND, give_cookies, tab_cookies
from wsgiauth import AuthMiddleware, change_password, login_required, storage
from wsgiauth.accounts import create_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret, Session
from wsgiauth.authentication import one_time
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.factors.totp import Totp
from wsgiauth.features.links.address_links import make_address_link
from wsgiauth.testing import mailbox
from wsgiauth.throttling.throttle import Throttle

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def clock(monkeypatch):
    """Return the clock of the site, which tests move."""
    made = Clock()
    monkeypatch.setattr("wsgiauth.site.Throttle", partial(Throttle, clock=made))
    return made


@pytest.fixture
def site(settings, clock):
    made = AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY))
    made.site.tokens.now = clock
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def app(site, ada):
    """Return Ada's authenticator app."""
    return add_app(site, ada)


def log_in(client, **further):
    return client.post("/auth/login", CREDENTIALS | further, headers=SAME_ORIGIN, status=303)


def enter(client, code, status=303):
    return client.post("/auth/second", {"code": code}, headers=SAME_ORIGIN, status=status)


def send(client, code, status=200):
    return client.post_json("/auth/login", {**CREDENTIALS, "code": code}, status=status)


def wrong(app):
    """Return a code of six digits that is not right."""
    right = {app.code(step) for step in (-2, -1, 0, 1, 2)}
    return next(code for code in (f"{number:06}" for number in range(6)) if code not in right)


@pytest.mark.every_database
def test_a_browser_logs_in_in_two_steps(client, app):
    first = log_in(client, next="/reports?page=2")
    assert path_of(first) == "/auth/second"
    page = first.follow(headers=BROWSER)
    page.form["code"] = app.code()
    answer = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/reports?page=2"
    assert client.get("/").json["user"] == USERNAME
    assert Session.get().methods == "pwd otp"
    assert not tab_cookies(client, SECOND)


def test_a_login_that_waited_too_long_begins_anew_and_keeps_the_page(client, app, clock):
    page = log_in(client, next="/reports?page=2").follow(headers=BROWSER)
    clock.move(11 * 60)
    page.form["code"] = app.code()
    answers = [
        page.form.submit(headers={**SAME_ORIGIN, "Referer": page.request.url}, status=302),
        client.get(page.request.path_qs, headers=BROWSER, status=302),
    ]
    for answer in answers:
        assert answer.headers["Location"] == "/auth/login?next=%2Freports%3Fpage%3D2"
    assert client.get("/").json["user"] is None


@pytest.mark.every_database
def test_a_recovery_code_stands_for_a_code(client, app, ada):
    code, *_ = recovery_codes.replace(ada, rounds=4)
    log_in(client)
    enter(client, code.lower())
    assert client.get("/").json["user"] == USERNAME
    assert RecordedEvent.select().where(RecordedEvent.name == "recovery_code_used").count() == 1
    assert Session.get().methods == "pwd otp recovery"
    client.reset()
    log_in(client)
    enter(client, code, status=401)


def test_a_phone_shows_digits_for_the_app_and_letters_for_a_recovery_code(client, app, ada):
    code, *_ = recovery_codes.replace(ada, rounds=4)
    page = log_in(client).follow(headers=BROWSER)
    field, recovery = (each for each in page.html.find_all("input", attrs={"name": "code"}))
    assert (field["inputmode"], field["autocomplete"]) == ("numeric", "one-time-code")
    assert "inputmode" not in recovery.attrs
    details = recovery.find_parent("details")
    assert "open" not in details.attrs
    form = page.forms["recovery-code"]
    form["code"] = f"{code[:-1]}-"
    page = form.submit(headers=SAME_ORIGIN, status=401)
    assert page.html.find("details").has_attr("open")
    assert page.html.find(attrs={"autofocus": True})["id"] == "recovery"
    enter_code = page.forms["second"]
    enter_code["code"] = wrong(app)
    page = enter_code.submit(headers=SAME_ORIGIN, status=401)
    assert not page.html.find("details").has_attr("open")
    assert page.html.find(attrs={"autofocus": True})["id"] == "code"
    page.forms["recovery-code"]["code"] = code
    page.forms["recovery-code"].submit(headers=SAME_ORIGIN, status=303)
    assert Session.get().methods == "pwd otp recovery"


def test_the_login_of_the_second_step_is_cancelled_beside_its_recovery_code(client, app, ada):
    recovery_codes.replace(ada, rounds=4)
    page = log_in(client).follow(headers=BROWSER)
    page.forms["second"].submit("cancel", headers=SAME_ORIGIN, status=303)
    client.get("/auth/second", headers=BROWSER, status=302)


def reminders(client):
    page = client.get("/auth/account", headers=BROWSER)
    return [" ".join(each.text.split()) for each in page.html.find_all(role="note")]


def test_after_a_recovery_code_the_account_page_asks_first_for_the_lost_phone(
    client, app, ada, clock
):
    first, *others, ninth, last = recovery_codes.replace(ada, rounds=4)
    log_in(client)
    enter(client, app.code())
    assert reminders(client) == []
    for code, said in ((first, "9 are left."), (ninth, "1 is left."), (last, "0 are left.")):
        client.reset()
        log_in(client)
        enter(client, code)
        reminder, *_ = reminders(client)
        assert reminder == (
            f"You logged in with a recovery code; {said} Lost your phone? Remove it."
        )
        while others:
            recovery_codes.use(ada, others.pop(), rounds=4)
    page = client.get("/auth/account", headers=BROWSER)
    assert page.html.find("a", string="Lost your phone? Remove it.")["href"] == "/auth/totp"
    recovery_codes.replace(ada, rounds=4)
    Totp.update(confirmed_at=Totp.confirmed_at + 60).execute()  # a phone from after the code
    assert reminders(client) == []


def test_the_second_step_names_the_apps(client, app, site, ada):
    page = log_in(client).follow(headers=BROWSER)
    assert "Your app: Phone." in page.html.main.text
    add_app(site, ada, "Tablet <b>")
    page = client.get("/auth/second", headers=BROWSER)
    assert "Your apps: Phone, Tablet <b>." in page.html.main.text


def test_a_form_with_a_checkbox_does_not_send_itself(app, settings):
    trusting = AuthMiddleware(
        echo, replace(settings, FACTOR_KEY=FACTOR_KEY, TRUSTED_BROWSER_DAYS=30)
    )
    client = TestApp(trusting)
    page = log_in(client).follow(headers=BROWSER)
    assert "data-sends" not in page.html.find(id="code").attrs
    assert page.html.find(id="code-hint").text == "Six digits"
    storage.discard_connection(trusting.database)


def test_the_second_step_names_the_account_and_offers_recovery_codes_while_some_are_left(
    client, app, ada
):
    page = log_in(client, username=EMAIL).follow(headers=BROWSER)
    assert f"Logging in as {USERNAME}." in page.html.main.text
    assert "Enter the code that your authenticator app shows." in page.html.main.text
    assert "recovery" not in page.html.main.text.lower()
    field = page.html.find(id="code")
    assert field["inputmode"] == "numeric"  # a phone shows its keypad
    assert (field["data-digits"], field["data-sends"]) == (
        "6",
        "Six digits, sent with the last one",
    )
    assert "They will ask you to prove that the account is yours." in page.html.main.text
    recovery_codes.replace(ada, rounds=4)
    page = client.get("/auth/second", headers=BROWSER)
    assert "Use a recovery code" in page.html.main.text
    recovery_codes.remove_all(ada)
    assert "recovery" not in client.get("/auth/second", headers=BROWSER).html.main.text.lower()


@pytest.mark.every_database
def test_start_again_ends_the_pending_login_and_keeps_where_it_leads(client, site, app):
    other = TestApp(site)
    log_in(other)
    page = log_in(client, next="/reports").follow(headers=BROWSER)
    cookies = tab_cookies(client, SECOND)
    answer = page.form.submit("cancel", headers=SAME_ORIGIN, status=303)
    assert answer.location == "/auth/login?next=%2Freports"
    assert not tab_cookies(client, SECOND)
    give_cookies(client, cookies)
    client.get("/auth/second", status=401)
    enter(other, app.code())


@pytest.mark.promise(17)
def test_another_site_can_neither_end_a_pending_login_nor_send_the_code(client, app):
    log_in(client)
    headers = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    client.post("/auth/second", {"cancel": "on"}, headers=headers, status=403)
    client.post("/auth/second", {"code": app.code()}, headers=headers, status=403)
    client.post_json("/auth/second", {"code": app.code()}, headers=headers, status=302)
    assert not Session.select().exists()
    enter(client, app.code())


def test_a_script_that_starts_again_is_answered_with_the_login_page(client, app):
    log_in(client)
    answer = client.post("/auth/second", {"cancel": "on"}, headers=SCRIPT, status=200)
    assert answer.json == {"detail": "Login cancelled.", "next": "/auth/login"}
    client.post("/auth/second", {"code": app.code()}, headers=SCRIPT, status=401)


def test_the_second_step_keeps_whether_the_login_is_to_last(client, app, clock):
    for fields in ({"remember": "on"}, {}):
        log_in(client, next="/auth/second", **fields)
        answer = enter(client, app.code())
        assert ("Max-Age" in answer.headers.getall("Set-Cookie")[0]) is bool(fields)
        assert answer.headers["Location"] == "/"  # not the second step once more
        client.reset()
        clock.move(30)


@pytest.mark.promise(16)
def test_the_cookie_of_a_pending_login_has_the_attributes_of_the_other(client, app):
    for scheme, name, secure in (("http", SECOND, ""), ("https", f"__Host-{SECOND}", "; Secure")):
        client.extra_environ = {"wsgi.url_scheme": scheme}
        cookie = log_in(client).headers["Set-Cookie"]
        assert re.fullmatch(f"{name}[0-9a-f]{{16}}", cookie.partition("=")[0])
        assert cookie.endswith(f"; Max-Age=3600; Path=/; HttpOnly; SameSite=Lax{secure}")


@pytest.mark.promise(55)
def test_a_pending_login_is_anonymous_everywhere(client, app):
    log_in(client)
    [secret] = tab_cookies(client, SECOND).values()
    assert client.get("/").json["user"] is None
    assert not Session.select().exists()
    for path in ("account", "sessions", "password", "confirm", "totp", "recovery-codes", "me"):
        client.get(f"/auth/{path}", status=401)
    client.set_cookie("wsgiauth", secret)
    assert client.get("/").json["user"] is None
    headers = {"Authorization": f"Bearer {secret}"}
    assert client.get("/auth/me", headers=headers, status=401).json["code"] == "invalid_token"


@pytest.mark.promise(55)
def test_a_pending_login_does_not_pass_a_guard(settings, app, clock):
    guarded = AuthMiddleware(login_required(echo), replace(settings, FACTOR_KEY=FACTOR_KEY))
    guarded.site.tokens.now = clock
    client = TestApp(guarded)
    log_in(client)
    client.get("/", status=401)
    storage.discard_connection(guarded.database)


def test_without_a_pending_login_the_second_step_leads_to_the_first(client, app):
    answer = client.get("/auth/second", headers=BROWSER, status=302)
    assert answer.headers["Location"].startswith("/auth/login")
    client.get("/auth/second", status=401)
    client.post_json("/auth/second", {"code": app.code()}, status=401)
    client.set_cookie(SECOND + "0" * 16, "x" * 43)
    client.get("/auth/second", status=401)
    assert enter(client, app.code(), status=302).headers["Location"].startswith("/auth/login")


@pytest.mark.promise(35)
def test_a_pending_login_ends_after_ten_minutes_and_with_a_new_password(
    client, app, ada, settings, clock
):
    log_in(client)
    clock.move(600)
    enter(client, app.code(), status=302)
    assert client.get("/").json["user"] is None
    log_in(client)
    change_password(ada, "another unrelated phrase", settings=settings)
    enter(client, app.code(), status=302)
    assert client.get("/").json["user"] is None


@pytest.mark.every_database
def test_a_user_who_changes_while_the_code_is_checked_is_asked_to_log_in(
    client, app, ada, settings, monkeypatch
):
    log_in(client)
    accept = "wsgiauth.authentication.second_factors.SecondFactors.accept"

    def change(*_):
        change_password(ada, "another unrelated phrase", settings=settings)
        return True

    monkeypatch.setattr(accept, change)
    enter(client, app.code(), status=302)
    assert not Session.select().exists()


@pytest.mark.every_database
def test_a_pending_login_is_used_once(client, app, clock):
    log_in(client)
    cookies = tab_cookies(client, SECOND)
    enter(client, app.code())
    clock.move(60)
    client.reset()
    give_cookies(client, cookies)
    enter(client, app.code(), status=302)


def test_a_missing_code_is_named(client, app):
    log_in(client)
    page = enter(client, "", status=422)
    assert page.html.find(role="alert").text == "Enter the code."


def test_a_script_logs_in_in_two_steps(client, app):
    first = client.post("/auth/login", CREDENTIALS, headers=SCRIPT, status=401)
    assert (first.json["code"], first.json["methods"]) == ("second_factor_required", ["otp"])
    second = client.post("/auth/second", {"code": app.code()}, headers=SCRIPT)
    assert second.json == {"detail": "Logged in.", "next": "/"}
    assert client.get("/").json["user"] == USERNAME


@pytest.mark.promise(52)
def test_a_program_sends_the_login_again_with_the_code_once(client, app):
    first = client.post_json("/auth/login", CREDENTIALS, status=401)
    assert (first.json["code"], first.json["methods"]) == ("second_factor_required", ["otp"])
    assert "Set-Cookie" not in first.headers
    assert not OneTimeSecret.select().exists()
    code = app.code()
    token = send(client, code).json["access_token"]
    me = client.get("/auth/me", headers={"Authorization": f"Bearer {token}"})
    assert me.json["username"] == USERNAME
    assert Session.get().methods == "pwd otp"
    assert send(client, code, status=401).json["code"] == "invalid_code"


@pytest.mark.promise(9)
def test_a_wrong_password_gets_the_same_answer_with_and_without_a_factor(
    client, app, ada, settings
):
    create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    answers = {
        (answer.status, answer.body, tuple(sorted(answer.headers.items())))
        for name in (USERNAME, "Grace", "unknown")
        for further in ({}, {"code": app.code()})
        for answer in [
            client.post_json(
                "/auth/login", {"username": name, "password": "wrong", **further}, status=401
            )
        ]
    }
    assert len(answers) == 1


@pytest.mark.promise(9)
def test_a_login_with_a_factor_costs_one_bcrypt(client, app, monkeypatch):
    compare, calls = bcrypt.checkpw, []
    monkeypatch.setattr(bcrypt, "checkpw", lambda *given: calls.append(1) or compare(*given))
    for further in ({}, {"code": "000000"}):
        client.post_json("/auth/login", {**CREDENTIALS, **further}, status=401)
        assert calls == [1]
        calls.clear()


@pytest.mark.every_database
@pytest.mark.promise(53)
def test_guesses_are_counted_over_parallel_logins(site, app, clock):
    browsers = [TestApp(site) for _ in range(6)]
    for browser in browsers:
        log_in(browser)
    for browser in browsers[:5]:
        enter(browser, wrong(app), status=401)
    refused = enter(browsers[5], app.code(), status=429)
    assert int(refused.headers["Retry-After"]) > 0
    send(browsers[0], app.code(), status=429)
    clock.move(2)
    enter(browsers[5], app.code())


@pytest.mark.promise(53)
def test_the_waits_double_and_end(client, app, clock):
    for _ in range(5):
        send(client, wrong(app), status=401)
    waits = []
    for _ in range(13):
        waits.append(int(send(client, app.code(), status=429).headers["Retry-After"]))
        clock.move(max(waits[-1], 61))  # logins are limited, too
        send(client, wrong(app), status=401)
    assert waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]
    clock.move(900)
    send(client, app.code())


def confirm(client, code, session_of, address, status):
    client.post_json(
        "/auth/confirm",
        {"code": code},
        headers=session_of,
        extra_environ={"REMOTE_ADDR": address},
        status=status,
    )


@pytest.fixture
def session_of(client, app, clock):
    """Return a function that logs Ada in by a code and returns the header of the session."""

    def session_of():
        token = send(client, app.code()).json["access_token"]
        clock.move(60)
        return {"Authorization": f"Bearer {token}"}

    return session_of


@pytest.mark.promise(53)
def test_a_thief_of_a_cookie_does_not_keep_the_owner_from_logging_in(session_of, site, app):
    stolen = session_of()
    thief, owner = TestApp(site), TestApp(site, extra_environ={"REMOTE_ADDR": "203.0.113.9"})
    for number in range(5):
        confirm(thief, wrong(app), stolen, f"198.51.100.{number}", 401)
    confirm(thief, app.code(), stolen, "198.51.100.9", 429)
    log_in(owner)
    enter(owner, app.code())


@pytest.mark.promise(53)
def test_strangers_with_the_password_do_not_keep_a_user_who_is_logged_in_from_confirming(
    session_of, client, app
):
    session = session_of()
    stranger = {"REMOTE_ADDR": "198.51.100.1"}
    for status in (401, 401, 401, 401, 401, 429):
        body = {**CREDENTIALS, "code": wrong(app)}
        client.post_json("/auth/login", body, extra_environ=stranger, status=status)
    confirm(client, app.code(), session, "203.0.113.9", 200)


@pytest.mark.promise(53)
def test_a_thief_of_many_cookies_has_ten_times_the_guesses_of_one(session_of, client, app, clock):
    for _ in range(10):
        stolen = session_of()
        for _ in range(5):
            confirm(client, wrong(app), stolen, "198.51.100.1", 401)
    stolen, own = session_of(), session_of()
    confirm(client, app.code(), own, "203.0.113.9", 200)  # takes back itself alone
    clock.move(60)
    confirm(client, wrong(app), stolen, "198.51.100.1", 401)
    confirm(client, app.code(), stolen, "198.51.100.1", 429)
    guessed = RecordedEvent.select().where(RecordedEvent.name == "factor_guessed")
    assert guessed.count() == 11


@pytest.mark.promise(53)
def test_strangers_with_the_password_do_not_lock_out_an_owner_known_here(site, app, clock):
    owner = TestApp(site, extra_environ={"REMOTE_ADDR": "192.0.2.1"})
    stranger = TestApp(site, extra_environ={"REMOTE_ADDR": "198.51.100.1"})
    log_in(owner)
    enter(owner, app.code())
    clock.move(60)
    for status in (401, 401, 401, 401, 401, 429):
        send(stranger, wrong(app), status=status)
    owner.reset()
    log_in(owner)
    enter(owner, app.code())


@pytest.mark.promise(30)
def at(address):
    return {"REMOTE_ADDR": address}


def guess_passwords(client):
    """Let strangers use up the free failures of the name."""
    for number in range(6):
        body = {"username": USERNAME, "password": f"wrong {number}"}
        client.post_json("/auth/login", body, extra_environ=at("192.0.2.9"), status="4*")


def guess_and_confirm(client, ada, session, addresses):
    """Guess the password in a session, which a right code renews when no guess is left."""
    guesses, codes = 0, []
    for address in addresses:
        wrong = {"current_password": "wrong", "new_password": PASSWORD}
        for _ in range(6):
            answer = client.post_json(
                "/auth/password",
                wrong,
                headers=session,
                extra_environ={"REMOTE_ADDR": address},
                status="*",
            )
            guesses += answer.status_int == 401
        codes = codes or recovery_codes.replace(ada, rounds=4)
        answer = client.post_json(
            "/auth/confirm",
            {"code": codes.pop()},
            headers=session,
            extra_environ=at(address),
            status=200,
        )
        session = {"Authorization": f"Bearer {answer.json['access_token']}"}
    return guesses


@pytest.mark.promise(12)
@pytest.mark.parametrize(
    ("addresses", "guesses"),
    [
        pytest.param(["192.0.2.1"] * 4, 5, id="the owner's address"),
        pytest.param([f"198.51.100.{number}" for number in range(12)], 50, id="new addresses"),
    ],
)
def test_codes_give_no_further_guesses_at_the_password(
    stopped_throttle, settings, ada, addresses, guesses
):
    site = AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY))
    client, app = TestApp(site), add_app(site, ada)
    body = {**CREDENTIALS, "code": app.code()}
    token = client.post_json("/auth/login", body, extra_environ=at("192.0.2.1")).json
    session = {"Authorization": f"Bearer {token['access_token']}"}
    assert guess_and_confirm(client, ada, session, addresses) == guesses
    storage.discard_connection(site.database)


@pytest.mark.promise(14)
def test_the_password_alone_does_not_make_a_client_known(client, app):
    client.post_json("/auth/login", CREDENTIALS, extra_environ=at("192.0.2.1"), status=401)
    guess_passwords(client)
    client.post_json("/auth/login", CREDENTIALS, extra_environ=at("192.0.2.1"), status=429)


@pytest.mark.promise(14)
def test_a_code_makes_a_client_known(client, app):
    body = {**CREDENTIALS, "code": app.code()}
    client.post_json("/auth/login", body, extra_environ=at("192.0.2.1"), status=200)
    guess_passwords(client)
    for _ in range(7):  # right passwords without a code are no failures
        answer = client.post_json(
            "/auth/login", CREDENTIALS, extra_environ=at("192.0.2.1"), status=401
        )
        assert answer.json["code"] == "second_factor_required"


def test_a_wrong_code_is_an_event_that_does_not_have_it(client, app, caplog):
    caplog.set_level(logging.INFO, "wsgiauth")
    code = wrong(app)
    send(client, code, status=401)
    (line,) = [each for each in caplog.messages if "second_factor_failed" in each]
    assert "user_id=" in line
    assert code not in caplog.text
    assert app.code() not in caplog.text


@pytest.mark.promise(30)
@pytest.mark.promise(54)
def test_no_key_and_no_code_is_logged_or_stored(client, site, ada, caplog):
    caplog.set_level(logging.DEBUG)
    app = add_app(site, ada)
    first, second = app.code(-1), app.code()
    recovery = recovery_codes.replace(ada, rounds=4)
    secret = app.secret
    log_in(client)
    [cookie] = tab_cookies(client, SECOND).values()
    pending_secret = cookie.rpartition(".")[2]
    enter(client, wrong(app), status=401)
    enter(client, second)
    send(client, recovery[0])
    key = base64.b32decode(secret).hex()
    canaries = [FACTOR_KEY, secret, key, pending_secret, *recovery]
    canaries += [code.replace("-", "") for code in recovery]
    models = (Totp, OneTimeSecret, RecordedEvent, Session)
    stored = str([row for model in models for row in model.select().dicts()])
    for canary in canaries:
        assert canary not in caplog.text
        assert canary not in stored
    for code in (first, second):
        assert f'"{code}"' not in caplog.text
        assert f"'{code}'" not in caplog.text + stored


def rows():
    """Return what every table has."""
    database = storage.current()
    tables = [table for table in database.get_tables() if table.startswith("wsgiauth_")]
    return str([database.execute_sql(f"SELECT * FROM {each}").fetchall() for each in tables])  # noqa: S608


@pytest.mark.every_database
@pytest.mark.promise(39)
@pytest.mark.promise(54)
def test_no_row_has_the_secret_of_a_link_that_was_opened_before_the_login(settings, ada, clock):
    made = with_mail(settings, FACTOR_KEY=FACTOR_KEY)
    site = AuthMiddleware(echo, made, send_mail=Post())
    site.site.tokens.now = clock
    app, client = add_app(site, ada), TestApp(site)
    url = make_address_link(ada, "ada@example.net", made, mount="/auth", now=clock())
    link = url.removeprefix("https://example.org")
    login = client.get(link, headers=BROWSER, status=302).follow(headers=BROWSER)
    login.form["username"], login.form["password"] = USERNAME, PASSWORD
    second = login.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    token = link.partition("=")[2]
    assert one_time.digest(token) in rows()
    assert token not in rows()
    second.form["code"] = app.code()
    page = second.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    assert token not in rows()
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert User.get_by_id(ada.id).email == "ada@example.net"
    storage.discard_connection(site.database)


def test_the_owner_is_told_after_repeated_failures(settings, ada, clock):
    made = with_mail(settings, FACTOR_KEY=FACTOR_KEY)
    site = AuthMiddleware(echo, made, send_mail=Post())
    site.site.tokens.now = clock
    app, client = add_app(site, ada), TestApp(site)
    mails = len(mailbox(site))
    for _ in range(4):
        send(client, wrong(app), status=401)
    assert len(mailbox(site)) == mails
    send(client, wrong(app), status=401)
    assert mailbox(site)[-1]["Subject"] == "Wrong codes at example.org"
    storage.discard_connection(site.database)


def test_without_factor_key_a_login_needs_no_code(settings, app):
    plain = AuthMiddleware(echo, settings)
    client = TestApp(plain)
    client.post_json("/auth/login", CREDENTIALS, status=200)
    for path in ("second", "totp", "recovery-codes"):
        client.get(f"/auth/{path}", status=404)
    storage.discard_connection(plain.database)


def test_a_user_without_a_factor_needs_no_code(client, ada):
    client.post_json("/auth/login", CREDENTIALS, status=200)
    client.post_json("/auth/login", {**CREDENTIALS, "code": "000000"}, status=200)
