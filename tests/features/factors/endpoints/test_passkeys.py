"""GET and POST /auth/passkeys, and passkeys at /auth/login, /auth/second and /auth/confirm."""

import json
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial

import pytest
from webtest import TestApp

from tests.support.authenticators import (
    PASSKEYS,
    USER_PRESENT,
    Authenticator,
    add_passkey,
    changed,
    options_of,
)
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.logins import make_stale
from tests.support.mails import Clock, Post, with_mail
from tests.support.provider_logins import path_of
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, find_user, storage
from wsgiauth.accounts.tables import OneTimeSecret, Session
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.storage.models import utc_text
from wsgiauth.testing import bearer, logged_in, mailbox
from wsgiauth.throttling.counts import AttemptCount
from wsgiauth.throttling.throttle import Throttle

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
PASSKEYS_PAGE, CODES = "/auth/passkeys", "/auth/recovery-codes"
NOT_ACCEPTED = "The passkey was not accepted. Try again."


@pytest.fixture
def clock(monkeypatch):
    """Return the clock of the site, which tests move."""
    made = Clock(int(time.time()))
    monkeypatch.setattr("wsgiauth.site.Throttle", partial(Throttle, clock=made))
    return made


@pytest.fixture
def settings(settings):
    return replace(settings, **PASSKEYS)


@pytest.fixture
def site(settings, clock):
    made = AuthMiddleware(echo, settings)
    made.site.tokens.now = clock
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def browser(site, ada):
    return logged_in(site, ada)


@pytest.fixture
def key(site, ada):
    """Return the authenticator with Ada's passkey."""
    return add_passkey(site, ada)


def alert(page):
    return page.html.find(role="alert", id="message").text


def status_of(page):
    return page.html.find(role="status").text


def add(browser, authenticator, name="Laptop", status=303):
    """Send the form of the page, with the answer of an authenticator."""
    options = options_of(browser.get(PASSKEYS_PAGE, headers=BROWSER))
    sent = {"name": name, "credential": authenticator.create(options)}
    return browser.post(PASSKEYS_PAGE, sent, headers=SAME_ORIGIN, status=status)


def send(client, path, credential, status=303, **further):
    sent = {"credential": credential, **further}
    return client.post(path, sent, headers=SAME_ORIGIN, status=status)


def log_in(client, authenticator, status=303, **further):
    """Log in by a passkey alone."""
    options = options_of(client.get("/auth/login", headers=BROWSER))
    return send(client, "/auth/login", authenticator.get(options), status, **further)


def begin(client, **further):
    """Enter the right password."""
    sent = {**CREDENTIALS, **further}
    return client.post("/auth/login", sent, headers=SAME_ORIGIN, status=303)


# The page


@pytest.mark.every_database
def test_a_person_adds_lists_and_removes_a_passkey(browser, ada):
    account = browser.get("/auth/account", headers=BROWSER)
    page = browser.get(
        account.html.find("strong", string="Passkeys").parent["href"], headers=BROWSER
    )
    assert json.loads(options_of(page))["user"]["name"] == USERNAME
    assert page.form["name"].value == "Unknown browser"  # a proposal
    answer = add(browser, Authenticator(), "  My   laptop ")
    assert answer.headers["Location"] == f"{CODES}?done=passkey"
    assert Session.get().methods == "pwd hwk"
    added = status_of(answer.follow(headers=BROWSER))
    assert added.startswith("The passkey “My laptop” has been added.")
    page = browser.get(PASSKEYS_PAGE, headers=BROWSER)
    assert page.html.find("h2").text == "My laptop"
    assert page.html.find(class_="hint").text.endswith(" · Never used")
    page = page.forms[0].submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    assert status_of(page).startswith("The passkey “My laptop” has been removed.")
    assert not Passkey.select().exists()
    names = ("factor_added", "factor_removed")
    told = RecordedEvent.select().where(RecordedEvent.name.in_(names))
    assert [(each.name, each.reason) for each in told] == [(each, "passkey") for each in names]


def test_a_passkey_that_is_not_the_first_factor_leads_back_to_the_list(key, browser, ada):
    recovery_codes.replace(ada, rounds=4)
    answer = add(browser, Authenticator(), "Phone")
    assert answer.headers["Location"] == f"{PASSKEYS_PAGE}?done=passkey"
    page = answer.follow(headers=BROWSER)
    assert status_of(page) == "The passkey “Phone” has been added."
    assert page.html.find("strong").text == "10"


def test_the_list_says_when_a_passkey_was_used_and_where_it_works(client, key, browser, clock):
    log_in(client, key)
    Passkey.update(is_backed_up=True, relying_party="old.example.org").execute()
    page = browser.get(PASSKEYS_PAGE, headers=BROWSER)
    used, kept, works = (each.text for each in page.html.select(".entries li > div > .hint"))
    assert "Last used" in used
    assert used.endswith(f"{datetime.fromtimestamp(clock(), UTC).year}")
    assert (kept, works) == ("Stored on several devices", "Works only at old.example.org")


def rename(client, handle, name, status=303, **further):
    sent = {"rename": handle, "name": name, **further}
    return client.post(PASSKEYS_PAGE, sent, headers=SAME_ORIGIN, status=status)


@pytest.mark.every_database
def test_a_person_names_a_passkey_after_it_was_added(key, browser, ada):
    recovery_codes.replace(ada, rounds=4)
    page = add(browser, Authenticator(), "Unknown browser").follow(headers=BROWSER)
    (form,) = page.html.select("details[open]:not(.ask) form")  # of the new one
    handle = form.find("input", attrs={"name": "rename"})["value"]
    assert Passkey.get_by_id(handle).name == "Unknown browser"
    assert form.select_one("input:not([type=hidden])")["value"] == "Unknown browser"
    answer = rename(browser, handle, "  Blue   key ", next="/reports")
    assert path_of(answer) == PASSKEYS_PAGE
    page = answer.follow(headers=BROWSER)
    assert status_of(page) == "The passkey is now called “Blue key”."
    assert {each.text for each in page.html.select(".entries h2")} == {"Laptop", "Blue key"}
    assert page.html.select("details[open]") == []
    rename(browser, handle, "Blue key")  # which it has


def test_a_wrong_name_is_refused_beside_the_passkey(key, browser):
    handle = Passkey.get().id
    page = rename(browser, handle, "x" * 51, status=422)
    (form,) = page.html.select("details[open]:not(.ask) form")
    assert form.find(class_="error").text == BAD_NAME
    assert form.select_one("input:not([type=hidden])")["value"] == "x" * 51
    assert page.html.find(id="message") is None
    assert Passkey.get().name == "Laptop"


def test_only_the_owner_renames_a_passkey_after_a_recent_proof(key, browser, site, grace):
    add_passkey(site, grace)
    for handle in (Passkey.get(Passkey.user == grace).id, "x", "\0", "é" * 2000):
        page = rename(browser, handle, "Mine", status=422)
        assert alert(page) == "That passkey has already been removed."
    make_stale()
    own = Passkey.get(Passkey.user != grace).id
    assert path_of(rename(browser, own, "Mine")) == "/auth/confirm"
    assert {each.name for each in Passkey.select()} == {"Laptop"}


def test_a_program_renames_a_passkey(client, site, ada, key):
    sent = {"rename": Passkey.get().id, "name": "Key"}
    answer = client.post_json(PASSKEYS_PAGE, sent, headers=bearer(site, ada)).json
    assert [each["name"] for each in answer["passkeys"]] == ["Key"]


def test_a_program_lists_adds_and_removes_passkeys(client, site, ada, clock):
    headers = bearer(site, ada)
    before = client.get(PASSKEYS_PAGE, headers=headers).json
    assert (before["passkeys"], before["recovery_codes_left"]) == ([], 0)
    created = Authenticator().create(json.dumps(before["creation_options"]))
    sent = {"name": "Key", "credential": created}
    after = client.post_json(PASSKEYS_PAGE, sent, headers=headers, status=201).json
    headers = {"Authorization": f"Bearer {after['login']['access_token']}"}
    assert Session.get().methods == "pwd hwk"
    (listed,) = after["passkeys"]
    assert listed == {
        "handle": Passkey.get().id,
        "name": "Key",
        "created_at": utc_text(datetime.fromtimestamp(clock(), UTC)),
        "last_used_at": None,
        "backed_up": False,
        "host": "localhost",
    }
    sent = {"remove": listed["handle"]}
    assert client.post_json(PASSKEYS_PAGE, sent, headers=headers).json["passkeys"] == []
    refused = client.post_json(PASSKEYS_PAGE, sent, headers=headers, status=422).json["errors"]
    assert refused == {"remove": ["That passkey has already been removed."]}


NOT_ADDED = "The passkey was not added. Try again."
BAD_NAME = "The name must have at most 50 printable characters."
REFUSED = [
    ({"name": " "}, "Enter a name, such as Laptop."),
    ({"name": "x" * 51}, BAD_NAME),
    ({"name": "a\x07"}, BAD_NAME),
    ({"name": "x"}, NOT_ADDED),
    ({"name": "x", "credential": "x"}, NOT_ADDED),
    ({"remove": "0"}, "That passkey has already been removed."),
]


def test_what_cannot_be_done_is_refused(browser):
    found = []
    for sent, _ in REFUSED:
        page = browser.post(PASSKEYS_PAGE, sent, headers=SAME_ORIGIN, status=422)
        found.append((sent, page.html.select_one(".notice, .error:not([hidden])").text))
    assert found == REFUSED
    assert not Passkey.select().exists()


def test_who_has_ten_passkeys_is_offered_no_other(site, ada):
    for _ in range(10):
        add_passkey(site, ada)
    page = logged_in(site, ada).get(PASSKEYS_PAGE, headers=BROWSER)
    assert page.html.find(attrs={"data-options": True}) is None
    assert "data-options" not in page.html.main.decode()


@pytest.mark.promise(56)
def test_the_passkey_of_another_user_is_no_second_factor_and_stays(
    client, site, key, grace, browser
):
    other = add_passkey(site, grace)
    begin(client)
    options = options_of(client.get("/auth/second"))
    page = send(client, "/auth/second", other.get(options), status=401)
    assert alert(page) == NOT_ACCEPTED
    send(client, "/auth/second", key.get(options_of(page)))
    sent = {"remove": Passkey.get(Passkey.user == grace).id}
    browser.post(PASSKEYS_PAGE, sent, headers=SAME_ORIGIN, status=422)
    assert Passkey.select().count() == 2


@pytest.mark.promise(46)
def test_a_change_needs_a_recent_proof(browser, client, site, ada):
    headers = bearer(site, ada)
    make_stale()
    location = browser.get(PASSKEYS_PAGE, headers=BROWSER, status=302).headers["Location"]
    assert location.startswith("/auth/confirm")
    browser.post(PASSKEYS_PAGE, {"name": "x"}, headers=SAME_ORIGIN, status=303)
    refused = client.post_json(PASSKEYS_PAGE, {"name": "x"}, headers=headers, status=401)
    assert refused.json["code"] == "insufficient_user_authentication"


@pytest.mark.promise(17)
@pytest.mark.promise(58)
def test_a_form_of_another_site_is_refused_and_a_name_is_escaped(browser):
    headers = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
    browser.post(PASSKEYS_PAGE, {"remove": "x"}, headers=headers, status=403)
    add(browser, Authenticator(), "<b>&")
    assert "<b>" not in browser.get(PASSKEYS_PAGE, headers=BROWSER)


@pytest.mark.promise(33)
def test_opening_a_page_writes_nothing(client, key, browser, queries):
    begin(client)
    for opened, path in (
        (client, "/auth/login?switch=1"),
        (client, "/auth/second"),
        (browser, PASSKEYS_PAGE),
        (browser, "/auth/confirm"),
    ):
        sent = queries(partial(opened.get, path, headers=BROWSER, status=200))
        assert all(each.startswith("SELECT") for each in sent)


def test_where_they_are_off_nothing_mentions_passkeys(settings, clock, ada, key):
    plain = AuthMiddleware(echo, replace(settings, PASSKEYS=False))
    client = TestApp(plain)
    client.get(PASSKEYS_PAGE, status=404)
    client.get("/auth/second", status=404)
    for page in (
        client.get("/auth/login"),
        logged_in(plain, find_user("ada")).get("/auth/account", headers=BROWSER),
    ):
        assert "passkey" not in page.html.main.text.lower()
    assert "data-options" not in client.get("/auth/login").html.main.decode()
    assert alert(send(client, "/auth/login", "x", status=401)) == NOT_ACCEPTED
    client.post_json("/auth/login", CREDENTIALS)
    storage.discard_connection(plain.database)


def test_where_they_are_off_none_is_accepted_instead_of_a_code(settings, clock, site, ada):
    plain = AuthMiddleware(echo, replace(settings, PASSKEYS=False, FACTOR_KEY=FACTOR_KEY))
    user = find_user("ada")
    add_app(plain, user)
    page = send(logged_in(plain, user), "/auth/confirm", "x", status=401)
    assert alert(page) == NOT_ACCEPTED
    storage.discard_connection(plain.database)


# Where a second factor is demanded


@pytest.fixture
def strict(settings, clock, ada):
    """Return a site that demands a second factor of all, and has passkeys alone."""
    made = AuthMiddleware(echo, replace(settings, SECOND_FACTOR="all"))
    made.site.tokens.now = clock
    yield made
    storage.discard_connection(made.database)


def test_a_user_without_a_factor_is_led_to_passkeys_and_then_to_the_page_they_wanted(strict):
    client = TestApp(strict)
    location = begin(client, next="/reports").headers["Location"]
    assert location == f"{PASSKEYS_PAGE}?next=%2Freports"
    page = client.get(location, headers=BROWSER)
    assert "Your account needs two-step verification" in page.html.main.text
    sent = {"name": "Laptop", "credential": Authenticator().create(options_of(page))}
    answer = client.post(PASSKEYS_PAGE, {**sent, "next": "/reports"}, headers=SAME_ORIGIN)
    assert answer.headers["Location"] == f"{CODES}?done=passkey&next=%2Freports"
    assert client.get("/").json["user"] == USERNAME
    page = client.get(f"{PASSKEYS_PAGE}?next=/reports", headers=BROWSER)
    assert page.html.find("a", string="Continue")["href"] == "/reports"


def test_a_passkey_alone_is_enough_where_a_factor_is_demanded_and_the_last_one_stays(strict):
    key = add_passkey(strict, find_user("ada"))
    client = TestApp(strict)
    log_in(client, key)
    assert client.get("/").json["user"] == USERNAME
    sent = {"remove": Passkey.get().id}
    page = client.post(PASSKEYS_PAGE, sent, headers=SAME_ORIGIN, status=422)
    assert alert(page).startswith("You need two-step verification to log in here.")


def test_the_set_up_of_an_app_offers_a_passkey_instead(settings, clock, ada):
    both = replace(settings, SECOND_FACTOR="all", FACTOR_KEY=FACTOR_KEY)
    strict = AuthMiddleware(echo, both)
    client = TestApp(strict)
    location = begin(client, next="/reports").headers["Location"]
    assert location == "/auth/totp?next=%2Freports"
    page = client.get(location, headers=BROWSER)
    link = page.html.find("a", string="Use a passkey instead of an app")["href"]
    assert link == f"{PASSKEYS_PAGE}?next=%2Freports"
    client.get(link, headers=BROWSER, status=200)
    storage.discard_connection(strict.database)


def test_a_script_that_adds_the_first_passkey_gets_a_new_cookie(browser, ada):
    recovery_codes.replace(ada, rounds=4)
    options = options_of(browser.get(PASSKEYS_PAGE, headers=BROWSER))
    sent = {"name": "Laptop", "credential": Authenticator().create(options)}
    answer = browser.post(PASSKEYS_PAGE, sent, headers=SCRIPT, status=201)
    assert "login" not in answer.json
    assert "Set-Cookie" in answer.headers
    browser.get(PASSKEYS_PAGE, headers=BROWSER, status=200)
    assert recovery_codes.count(ada) == 0  # those from before have ended


def test_a_form_with_a_token_gets_tokens(client, site, ada):
    headers = bearer(site, ada)
    before = client.get(PASSKEYS_PAGE, headers=headers).json
    created = Authenticator().create(json.dumps(before["creation_options"]))
    sent = {"name": "Key", "credential": created}
    answer = client.post(PASSKEYS_PAGE, sent, headers={**headers, **SAME_ORIGIN}, status=201)
    assert "access_token" in answer.json["login"]


# A passkey alone


@pytest.mark.every_database
def test_a_passkey_alone_logs_in(client, key):
    answer = log_in(client, key, next="/reports?page=2", remember="on")
    assert answer.headers["Location"] == "/reports?page=2"
    assert "Max-Age" in answer.headers.getall("Set-Cookie")[0]
    assert client.get("/").json["user"] == USERNAME
    assert Session.get().methods == "hwk user"


def test_a_script_logs_in_by_a_passkey_and_a_program_does_not(client, key):
    options = options_of(client.get("/auth/login", headers=BROWSER))
    client.post_json("/auth/login", {"credential": key.get(options)}, status=422)
    assert not Session.select().exists()
    answer = client.post("/auth/login", {"credential": key.get(options)}, headers=SCRIPT)
    assert answer.json == {"detail": "Logged in.", "next": "/"}


@pytest.mark.promise(9)
@pytest.mark.promise(56)
def test_every_failure_has_the_same_answer(client, site, ada, key, grace):
    def answer_to(change):
        options = options_of(client.get("/auth/login", headers=BROWSER))
        refused = send(client, "/auth/login", change(options), status=401)
        document = client.post(
            "/auth/login", {"credential": change(options)}, headers=SCRIPT, status=401
        )
        options = options_of(refused)
        text = refused.text.replace(json.loads(options)["challenge"], "")
        return text, document.body, tuple(sorted(document.headers.items()))

    def unverified(options):
        key.flags = USER_PRESENT
        return key.get(options)

    inactive = add_passkey(site, grace)
    grace.is_active = False
    grace.save()
    changes = [
        lambda options: Authenticator().get(options),
        lambda options: changed(key.get(options), signature="AAAA"),
        inactive.get,
        lambda options: changed(key.get(options), userHandle=None),
        unverified,
        lambda options: "garbage",
    ]
    assert len({answer_to(change) for change in changes}) == 1
    assert not Session.select().exists()


@pytest.mark.promise(30)
def test_a_failure_is_in_the_log_without_what_was_sent(client, key, caplog):
    caplog.set_level(logging.DEBUG)
    options = options_of(client.get("/auth/login", headers=BROWSER))
    answer = key.get(options)
    send(client, "/auth/login", changed(answer, signature="AAAA"), status=401)
    send(client, "/auth/login", answer)
    (line,) = [each for each in caplog.messages if "login_failed" in each]
    assert "reason=passkey" in line
    assert json.loads(answer)["response"]["signature"] not in caplog.text
    assert json.loads(options)["challenge"] not in caplog.text


def test_a_page_that_is_open_for_too_long_is_refused_and_works_at_once(client, key, clock):
    options = options_of(client.get("/auth/login", headers=BROWSER))
    clock.move(601)
    page = send(client, "/auth/login", key.get(options), status=401)
    assert alert(page) == NOT_ACCEPTED
    send(client, "/auth/login", key.get(options_of(page)))


@pytest.mark.promise(56)
def test_of_eight_threads_with_one_answer_one_logs_in(site, key):
    client = TestApp(site)
    answer = key.get(options_of(client.get("/auth/login", headers=BROWSER)))

    def once(_):
        try:
            return send(TestApp(site), "/auth/login", answer, status="*").status_int
        finally:
            storage.release_connection(site.database)

    with ThreadPoolExecutor(8) as threads:
        statuses = sorted(threads.map(once, range(8)))
    assert statuses == [303] + [401] * 7
    assert Session.select().count() == 1


@pytest.mark.promise(12)
def test_failures_of_an_address_have_to_wait_and_forgeries_cost_no_row(settings, key, clock):
    site = AuthMiddleware(echo, replace(settings, LOGIN_FAILURES_PER_ADDRESS=3))
    site.site.tokens.now = clock
    client = TestApp(site)
    OneTimeSecret.delete().execute()
    for _ in range(5):
        send(client, "/auth/login", "garbage", status=401)
    assert not AttemptCount.select().exists()
    assert not OneTimeSecret.select().exists()
    for _ in range(3):
        log_in(client, Authenticator(), status=401)
    assert AttemptCount.select().count() == 1
    refused = log_in(client, key, status=429)
    assert int(refused.headers["Retry-After"]) > 0
    clock.move(2)
    log_in(client, key)
    storage.discard_connection(site.database)


@pytest.mark.promise(12)
def test_logins_by_a_passkey_count_as_logins_of_the_account(settings, key, clock):
    site = AuthMiddleware(echo, replace(settings, LOGINS_PER_ACCOUNT=2))
    site.site.tokens.now = clock
    for status in (303, 303, 429):
        log_in(TestApp(site), key, status=status)
    storage.discard_connection(site.database)


def test_a_user_who_changes_while_the_passkey_is_verified_is_refused(client, key, monkeypatch):
    monkeypatch.setattr("wsgiauth.endpoints.login.start_browser_session", lambda *_, **__: None)
    assert alert(log_in(client, key, status=401)) == NOT_ACCEPTED


# A passkey after the password


@pytest.mark.every_database
def test_a_passkey_is_a_second_factor(client, key):
    assert path_of(begin(client, next="/reports")) == "/auth/second"
    page = client.get("/auth/second", headers=BROWSER)
    assert page.html.h1.text == "Two-step verification"
    assert "Use a passkey." in page.html.main.text
    assert page.html.find("label") is None
    answer = send(client, "/auth/second", key.get(options_of(page)))
    assert answer.headers["Location"] == "/reports"
    assert Session.get().methods == "pwd hwk user"


def test_a_passkey_without_verification_of_the_user_is_enough_there(client, key):
    key.flags = USER_PRESENT
    begin(client)
    send(client, "/auth/second", key.get(options_of(client.get("/auth/second"))))
    assert Session.get().methods == "pwd hwk"


def test_a_recovery_code_stands_for_a_passkey(client, key, ada):
    first, second, *_ = recovery_codes.replace(ada, rounds=4)
    begin(client)
    client.post("/auth/second", {"code": first}, headers=SAME_ORIGIN, status=303)
    assert Session.get().methods == "pwd otp recovery"
    refused = client.post_json("/auth/login", CREDENTIALS, status=401).json
    assert (refused["code"], refused["methods"]) == ("second_factor_required", ["hwk"])
    client.post_json("/auth/login", {**CREDENTIALS, "code": second})


def test_a_user_of_both_chooses(settings, clock, ada, key):
    site = AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY))
    site.site.tokens.now = clock
    app, client = add_app(site, ada), TestApp(site)
    refused = client.post_json("/auth/login", CREDENTIALS, status=401).json
    assert refused["methods"] == ["otp", "hwk"]
    begin(client)
    page = client.get("/auth/second", headers=BROWSER)
    assert page.html.find("label").text == "Code"
    client.post("/auth/second", {"code": app.code()}, headers=SAME_ORIGIN, status=303)
    storage.discard_connection(site.database)


def test_a_refused_form_has_the_focus_where_it_was_filled_in(client, browser, key, ada):
    recovery_codes.replace(ada, rounds=4)
    begin(client)
    for visitor, path in ((client, "/auth/second"), (browser, "/auth/confirm")):
        for sent, focused in (({"code": "wrong"}, ["code"]), ({"credential": "wrong"}, [])):
            page = visitor.post(path, sent, headers=SAME_ORIGIN, status=401)
            assert [each["name"] for each in page.html.find_all(autofocus=True)] == focused
            button = page.html.find("button", attrs={"data-focused": True})
            assert (button is None) is bool(focused)


@pytest.mark.promise(56)
def test_a_challenge_is_of_one_pending_login(site, key):
    first, second = TestApp(site), TestApp(site)
    of_login_page = options_of(first.get("/auth/login"))
    begin(first)
    begin(second)
    send(first, "/auth/second", key.get(of_login_page), status=401)
    answer = key.get(options_of(first.get("/auth/second")))
    send(second, "/auth/second", answer, status=401)
    second.reset()
    send(second, "/auth/second", answer, status=302)  # its login has ended
    send(first, "/auth/second", answer)


def test_the_staff_sees_a_wrong_passkey_after_a_right_password(client, site, key, ada):
    begin(client)
    send(client, "/auth/second", "x", status=401)
    log_in(client, Authenticator(), status=401)  # without a name: of no user
    failures = site.site.throttle.failed_logins(ada)
    assert [each.reason for each in failures] == ["wrong passkey"]


@pytest.mark.promise(53)
def test_wrong_passkeys_and_codes_are_counted_together(client, key, ada, clock):
    code, *_ = recovery_codes.replace(ada, rounds=4)
    begin(client)
    for _ in range(3):
        send(client, "/auth/second", "x", status=401)
    for _ in range(2):
        client.post("/auth/second", {"code": "x"}, headers=SAME_ORIGIN, status=401)
    client.post("/auth/second", {"code": code}, headers=SAME_ORIGIN, status=429)
    guessed = RecordedEvent.select().where(RecordedEvent.name == "factor_guessed")
    assert guessed.count() == 1
    clock.move(2)
    client.post("/auth/second", {"code": code}, headers=SAME_ORIGIN, status=303)


# A passkey at the page to confirm


@pytest.mark.every_database
@pytest.mark.promise(46)
def test_a_passkey_makes_a_login_fresh(browser, key):
    make_stale()
    page = browser.get(PASSKEYS_PAGE, headers=BROWSER, status=302).follow(headers=BROWSER)
    answer = send(browser, "/auth/confirm", key.get(options_of(page)), next=PASSKEYS_PAGE)
    assert answer.headers["Location"] == PASSKEYS_PAGE
    browser.get(PASSKEYS_PAGE, headers=BROWSER, status=200)
    assert Session.get().methods == "hwk user"
    (event,) = RecordedEvent.select().where(RecordedEvent.name == "confirmed")
    assert event.reason == "hwk user"


@pytest.mark.promise(56)
def test_a_challenge_confirms_one_login(site, ada, key):
    first, second = logged_in(site, ada), logged_in(site, ada)
    answer = key.get(options_of(first.get("/auth/confirm")))
    send(second, "/auth/confirm", answer, status=401)
    send(first, "/auth/confirm", answer)


@pytest.mark.promise(46)
def test_a_user_of_passkeys_confirms_with_a_recovery_code_but_not_the_password(key, browser, ada):
    sent = {"password": PASSWORD}
    browser.post("/auth/confirm", sent, headers=SAME_ORIGIN, status=422)
    code, *_ = recovery_codes.replace(ada, rounds=4)
    form = browser.get("/auth/confirm", headers=BROWSER).forms[1]
    form["code"] = code
    form.submit(headers=SAME_ORIGIN, status=303)
    assert Session.get().methods == "otp recovery"


def test_a_passkey_without_verification_of_the_user_makes_a_login_fresh(key, browser):
    make_stale()
    key.flags = USER_PRESENT
    send(browser, "/auth/confirm", key.get(options_of(browser.get("/auth/confirm"))))
    browser.get(PASSKEYS_PAGE, headers=BROWSER, status=200)
    assert Session.get().methods == "hwk"


def test_who_has_passkeys_of_another_host_alone_enters_a_recovery_code_if_one_is_left(
    key, browser, ada
):
    begin(browser)
    Passkey.update(relying_party="old.example.org").execute()
    for path in ("/auth/confirm", "/auth/second"):
        main = browser.get(path, headers=BROWSER).html.main
        assert "do not work at this address, and no recovery codes are left." in main.text
        assert main.find("label") is None
    code, *_ = recovery_codes.replace(ada, rounds=4)
    for path in ("/auth/confirm", "/auth/second"):
        main = browser.get(path, headers=BROWSER).html.main
        assert "Your passkeys do not work at this address." in main.text
        assert "data-options" not in main.decode()
        assert main.find("label").text == "Recovery code"
    browser.post("/auth/second", {"code": code}, headers=SAME_ORIGIN, status=303)


def test_only_what_the_user_has_is_asked_for(key, settings):
    both = AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY))
    ada = find_user("ada")
    browser = logged_in(both, ada)
    begin(browser)

    def asked():
        """Return what both pages ask for besides a passkey."""
        kinds = ("authenticator app", "recovery code")
        shown = [browser.get(f"/auth/{each}").html.main.text for each in ("confirm", "second")]
        assert ["se a passkey" in each for each in shown] == [True, True]
        first, second = ({kind for kind in kinds if kind in each} for each in shown)
        assert first == second
        return first

    assert asked() == set()
    recovery_codes.replace(ada, rounds=4)
    assert asked() == {"recovery code"}
    add_app(both, ada)
    assert asked() == {"authenticator app", "recovery code"}
    recovery_codes.remove_all(ada)
    assert asked() == {"authenticator app"}
    storage.discard_connection(both.database)


# The owner


def test_the_owner_is_told_of_a_passkey_and_of_a_copy_of_it(settings, ada, clock):
    made = with_mail(settings, PUBLIC_URL=PASSKEYS["PUBLIC_URL"])
    site = AuthMiddleware(echo, made, send_mail=Post())
    site.site.tokens.now = clock
    assert list(mailbox(site)) == []
    key = Authenticator()
    key.count = 5
    add_passkey(site, ada, authenticator=key)
    key.count = 2
    log_in(TestApp(site), key)
    assert [each["Subject"] for each in mailbox(site)] == [
        "New two-step verification method at localhost:8080",
        "A passkey for localhost:8080 may have been copied",
    ]
    storage.discard_connection(site.database)
