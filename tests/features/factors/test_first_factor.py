"""A passkey instead of a password: an email replaces it, until the user wants two steps."""

import time
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.authenticators import PASSKEYS, Authenticator, add_passkey, options_of
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.federated import remove_password
from tests.support.logins import make_stale
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, change_password, find_user, guards, storage
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import PROVEN_BY_LINK, User
from wsgiauth.accounts.tables import Session
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.factors import factors, passkeys, recovery_codes
from wsgiauth.features.factors.passkeys import Passkey, PasskeyAccount
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import mailbox

CODES = {"LOGIN_CODES": True, "MAIL_URL": "memory:", "MAIL_FROM": "site@example.org"}


@pytest.fixture
def options():
    """Return further settings of the site."""
    return {}


@pytest.fixture
def settings(settings, options):
    return replace(settings, **{**PASSKEYS, **CODES, "FACTOR_KEY": FACTOR_KEY, **options})


@pytest.fixture
def site(settings):
    guarded = guards.login_required(second_factor=True)(echo)

    def app(environ, start_response):
        is_guarded = environ["PATH_INFO"] == "/guarded"
        return (guarded if is_guarded else echo)(environ, start_response)

    made = AuthMiddleware(app, settings)
    mailbox(made)  # so that no thread sends
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def key():
    return Authenticator()


@pytest.fixture
def lin(site, key):
    """Return the user who registered with the passkey `key`, and has proven the address since."""
    client = TestApp(site)
    credential = key.create(options_of(client.get("/auth/register", headers=BROWSER)))
    sent = {"username": USERNAME, "email": EMAIL, "credential": credential}
    client.post("/auth/register", sent, headers=SAME_ORIGIN, status=303)
    prove(find_user(USERNAME))
    Session.delete().execute()
    mailbox(site).clear()
    RecordedEvent.delete().execute()
    return find_user(USERNAME)


def prove(user):
    update_user(user, email_verified_at=utc_now(), email_verified_by=PROVEN_BY_LINK)


@pytest.fixture
def browser(site):
    return TestApp(site)


def log_in_by_code(site, browser, status=303):
    """Ask for a code, and enter it; return the answer."""
    browser.post("/auth/code", {"username": EMAIL}, headers=SAME_ORIGIN, status=303)
    sent = {"code": mailbox(site).codes[-1]}
    return browser.post("/auth/code/enter", sent, headers=SAME_ORIGIN, status=status)


def log_in_by_passkey(browser, key):
    answer = key.get(options_of(browser.get("/auth/login?switch=1", headers=BROWSER)))
    browser.post("/auth/login", {"credential": answer}, headers=SAME_ORIGIN, status=303)


def reset_path(site, browser):
    """Ask for a link, and return its path."""
    browser.post("/auth/forgot", {"username": EMAIL}, headers=SAME_ORIGIN, status=202)
    link = [each for each in mailbox(site).links if "/reset?" in each][-1]
    return "/auth/" + link.partition("/auth/")[2]


def subjects(site):
    return [each["Subject"] for each in mailbox(site)]


# Emails


def test_a_forgotten_password_that_never_was_leads_to_a_login(site, browser, lin):
    page = browser.get(reset_path(site, browser), headers=BROWSER).html
    message = mailbox(site)[-1]
    assert message["Subject"] == "Log in to localhost:8080 by a link"
    text = plain_text_of(message)
    assert "a passkey and no password" in text
    assert "choose" not in text
    assert "never verified" not in text
    assert page.form.button.text == "Log in"


@pytest.mark.parametrize("other", ["unproven", "app"])
def test_the_email_speaks_of_a_new_password_where_the_page_asks_for_one(site, browser, lin, other):
    if other == "app":
        add_app(site, lin)
    else:
        update_user(lin, email_verified_at=None, email_verified_by="")
    page = browser.get(reset_path(site, browser), headers=BROWSER).html
    assert "Choose a new password for localhost:8080" in subjects(site)
    assert page.find("input", {"name": "password"}) is not None


# Without two-step verification


@pytest.mark.every_database
@pytest.mark.promise(100)
def test_a_code_needs_no_second_step_and_the_owner_is_told(site, browser, lin):
    assert log_in_by_code(site, browser).headers["Location"] == "/"
    assert Session.get().methods == "email"
    assert browser.get("/").json["user"] == USERNAME
    emitted = [(each.name, each.reason) for each in RecordedEvent.select()]
    assert emitted == [("passkey_skipped", "email"), ("login", "email")]
    assert subjects(site)[-1] == "Login to localhost:8080 without your passkey"


def test_a_program_logs_in_by_a_code_too(site, lin):
    client = TestApp(site)
    request = client.post_json("/auth/code", {"username": EMAIL}, status=202).json["request"]
    sent = {"request": request, "code": mailbox(site).codes[-1]}
    assert "access_token" in client.post_json("/auth/code/enter", sent, status=200).json
    assert RecordedEvent.select().where(RecordedEvent.name == "passkey_skipped").count() == 1


def test_whoever_lost_the_device_replaces_the_passkey(site, browser, lin, key):
    log_in_by_code(site, browser)
    lost = Passkey.get().id
    options = options_of(browser.get("/auth/passkeys", headers=BROWSER))
    added = Authenticator()
    sent = {"name": "New phone", "credential": added.create(options)}
    answer = browser.post("/auth/passkeys", sent, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/auth/passkeys?done=passkey"
    answer = browser.post("/auth/passkeys", {"remove": lost}, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/auth/passkeys?done=removed"
    log_in_by_passkey(TestApp(site), added)
    log_in_by_code(site, TestApp(site))


@pytest.mark.parametrize("order", ["add first", "remove first"])
def test_neither_a_second_passkey_nor_another_one_turns_two_steps_on(site, browser, lin, order):
    if order == "remove first":
        factors.remove(lin)
    add_passkey(site, lin, "Phone")
    log_in_by_code(site, browser)
    assert Session.get().methods == "email"


def test_the_notices_of_a_passkey_name_it_and_no_new_password(site, lin):
    add_passkey(site, lin, "Key")
    factors.remove(lin, next(each.id for each in Passkey.select() if each.name == "Key"))
    added, removed = mailbox(site)[-2:]
    assert (added["Subject"], removed["Subject"]) == (
        "New passkey at localhost:8080",
        "Passkey removed at localhost:8080",
    )
    for letter in (added, removed):
        text = plain_text_of(letter)
        assert "Which: passkey “Key”" in text
        assert "If this was not you, log in, and revoke the sessions" in text
        assert "two-step" not in text.lower()
        assert "password" not in text


def test_with_an_app_too_the_notice_is_about_two_step_verification(site, lin):
    add_an_app(site, lin)
    add_passkey(site, lin, "Key")
    assert subjects(site)[-1].startswith("New two-step verification method")


def test_the_pages_say_that_two_step_verification_is_off(browser, lin, key):
    log_in_by_passkey(browser, key)
    page = browser.get("/auth/account", headers=BROWSER).html
    terms = dict(zip(page.find_all("dt"), page.find_all("dd"), strict=True))
    shown = {term.text: " ".join(each.text.split()) for term, each in terms.items()}
    assert shown["You log in with"] == "the passkey Unknown browser"
    assert shown["Two-step verification"] == "Off"
    page = browser.get("/auth/passkeys", headers=BROWSER)
    assert "Add one on another device, in case you lose this one." in page
    assert "Recovery codes left" not in page


def test_a_second_passkey_of_the_same_browser_gets_a_name_of_its_own(site, browser, lin, key):
    log_in_by_passkey(browser, key)
    add_passkey(site, lin, "Unknown browser 2")
    page = browser.get("/auth/passkeys", headers=BROWSER)
    assert page.html.find_all("input", {"name": "name"})[-1]["value"] == "Unknown browser 3"
    page.mustcontain("You log in with one of your passkeys.", no="in case you lose this one")


def test_the_page_of_the_apps_warns_that_logins_then_have_two_steps(site, browser, lin, key):
    warning = "With an app, two-step verification is on: every other login also asks for its code"
    log_in_by_passkey(browser, key)
    browser.get("/auth/totp", headers=BROWSER).mustcontain(warning)
    add_an_app(site, lin)
    browser.get("/auth/totp", headers=BROWSER).mustcontain(no=warning)


def test_a_passkey_confirms_who_it_is_and_so_does_a_code(site, browser, lin, key):
    log_in_by_passkey(browser, key)
    make_stale()
    page = browser.get("/auth/passkeys", headers=BROWSER, status=302).follow(headers=BROWSER)
    assert "Email me a code" in page
    assert page.html.find("a", string="Log in by a link")["href"].startswith("/auth/forgot")
    sent = {"credential": key.get(options_of(page)), "next": "/auth/passkeys"}
    browser.post("/auth/confirm", sent, headers=SAME_ORIGIN, status=303)
    browser.get("/auth/passkeys", headers=BROWSER, status=200)
    make_stale()
    sent = {"send_code": "on"}
    answer = browser.post("/auth/confirm", sent, headers=SAME_ORIGIN, status=303)
    page = answer.follow(headers=BROWSER)
    page.mustcontain("enter the code from the email that we have sent you.")
    assert page.html.find("input", {"name": "code"}).has_attr("autofocus")
    assert not page.html.select_one("button:-soup-contains('Use a passkey')").has_attr(
        "data-focused"
    )
    sent = {"code": mailbox(site).codes[-1], "request": "this browser"}
    browser.post("/auth/confirm", sent, headers=SAME_ORIGIN, status=303)
    browser.get("/auth/passkeys", headers=BROWSER, status=200)


def test_a_wrong_passkey_confirms_nothing(browser, lin, key):
    log_in_by_passkey(browser, key)
    make_stale()
    sent = {"credential": "x"}
    browser.post("/auth/confirm", sent, headers=SAME_ORIGIN, status=401)


def test_a_view_that_needs_a_second_factor_asks_for_the_passkey(site, browser, lin, key):
    log_in_by_code(site, browser)
    answer = browser.get("/guarded", headers=BROWSER, status=302)
    assert answer.headers["Location"] == "/auth/confirm?next=%2Fguarded"
    page = answer.follow(headers=BROWSER)
    sent = {"credential": key.get(options_of(page)), "next": "/guarded"}
    browser.post("/auth/confirm", sent, headers=SAME_ORIGIN, status=303)
    browser.get("/guarded", headers=BROWSER, status=200)


# By a link


@pytest.mark.every_database
def test_a_link_logs_in_without_a_password_and_the_owner_is_told(site, browser, lin, key):
    path = reset_path(site, browser)
    page = browser.get(path, headers=BROWSER)
    assert page.html.select("main [type=password]") == []
    assert "This link also removes" not in page
    before = User.get_by_id(lin.id).security_stamp
    answer = page.forms[0].submit(headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/"
    assert browser.get("/").json["user"] == USERNAME
    emitted = [(each.name, each.reason) for each in RecordedEvent.select()]
    assert emitted == [("passkey_skipped", "mail"), ("login", "mail")]
    assert subjects(site)[-1] == "Login to localhost:8080 without your passkey"
    assert not User.get().has_password
    assert (User.get().security_stamp, Passkey.select().count()) == (before, 1)
    page.forms[0].submit(headers=SAME_ORIGIN, status=410)
    log_in_by_passkey(TestApp(site), key)


def test_after_the_link_a_user_can_set_a_password_or_replace_the_passkey(site, browser, lin):
    path = reset_path(site, browser)
    browser.get(path, headers=BROWSER).forms[0].submit(headers=SAME_ORIGIN, status=303)
    browser.get("/auth/passkeys", headers=BROWSER, status=200)
    page = browser.get("/auth/password", headers=BROWSER, status=200)
    assert "With a password, two-step verification is on" in page


def test_a_program_cannot_log_in_by_a_link(site, browser, lin):
    token = reset_path(site, browser).partition("token=")[2]
    sent = {"token": token, "password": PASSWORD}
    refused = TestApp(site).post_json("/auth/reset", sent, status=422)
    assert refused.json["code"] == "browser_required"
    assert not User.get().has_password


@pytest.mark.promise(101)
def test_a_link_replaces_no_session_of_another_user(site, browser, lin, eve_logged_in):
    path = reset_path(site, browser)
    token = path.partition("token=")[2]
    sent = {"token": token}
    browser = eve_logged_in
    browser.get(path, headers=BROWSER, status=403)
    browser.post("/auth/reset", sent, headers=SAME_ORIGIN, status=403)
    assert browser.get("/").json["user"] == "eve"
    TestApp(site).post("/auth/reset", sent, headers=SAME_ORIGIN, status=303)


@pytest.fixture
def eve_logged_in(site):
    """Return a browser in which another user is logged in."""
    client = TestApp(site)
    sent = {"username": "eve", "email": "eve@example.org", "password": PASSWORD}
    client.post("/auth/register", sent, headers=SAME_ORIGIN, status=303)
    return client


# With two-step verification


def add_an_app(site, user):
    add_app(site, user)


def set_a_password(site, user):
    change_password(user, PASSWORD, settings=site.site.settings)


@pytest.mark.promise(100)
@pytest.mark.parametrize("turn_on", [add_an_app, set_a_password])
def test_an_app_or_a_password_makes_the_passkey_a_second_factor(site, browser, lin, key, turn_on):
    turn_on(site, lin)
    answer = log_in_by_code(site, browser)
    assert "/auth/second" in answer.headers["Location"]
    assert not browser.get("/").json["user"]
    page = answer.follow(headers=BROWSER)
    page.mustcontain("Lost your phone and codes?" if turn_on is add_an_app else "Lost your device?")
    sent = {"credential": key.get(options_of(page))}
    browser.post("/auth/second", sent, headers=SAME_ORIGIN, status=303)
    assert Session.get().methods == "email hwk user"
    assert not RecordedEvent.select().where(RecordedEvent.name == "passkey_skipped").exists()


@pytest.mark.parametrize("turn_on", [add_an_app, set_a_password])
def test_a_link_is_then_for_a_new_password_again(site, browser, lin, turn_on):
    turn_on(site, lin)
    page = browser.get(reset_path(site, browser), headers=BROWSER)
    page.forms[0]["password"] = "some more unrelated words"
    page.forms[0].submit(headers=SAME_ORIGIN, status=303)
    assert not Session.select().where(Session.methods == "mail").exists()
    assert Passkey.select().exists()


def test_the_removal_of_the_app_turns_it_off(site, browser, lin, key):
    add_app(site, lin)
    log_in_by_passkey(browser, key)
    (app,) = (each for each in factors.list_factors(lin) if each.method == "otp")
    answer = browser.post("/auth/totp", {"remove": app.handle}, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/auth/totp?done=last"
    log_in_by_code(site, TestApp(site))


def test_the_password_is_set_in_a_session_of_the_passkey(browser, lin, key):
    log_in_by_passkey(browser, key)
    sent = {"new_password": PASSWORD}
    browser.post("/auth/password", sent, headers=SAME_ORIGIN, status=303)
    browser.get("/auth/passkeys", headers=BROWSER, status=200)
    assert Session.get().methods == "hwk user"


@pytest.mark.parametrize("options", [{"SECOND_FACTOR": "staff"}], ids=["staff"])
def test_the_demand_of_a_second_factor_makes_it_one_of_those_who_must_have_it(site, browser, lin):
    log_in_by_code(site, browser)
    assert Session.get().methods == "email"
    update_user(lin, is_staff=True)
    answer = log_in_by_code(site, TestApp(site))
    assert "/auth/second" in answer.headers["Location"]


def test_an_app_counts_though_no_login_asks_for_its_code(settings, site, lin):
    add_app(site, lin)
    without_apps = AuthMiddleware(echo, replace(settings, FACTOR_KEY=None))
    mailbox(without_apps)
    answer = log_in_by_code(without_apps, TestApp(without_apps))
    assert "/auth/second" in answer.headers["Location"]
    storage.discard_connection(without_apps.database)


# Other accounts


def test_a_passkey_that_was_added_later_stays_a_second_factor(site, browser, ada):
    update_user(ada, email=EMAIL)
    prove(ada)
    add_passkey(site, remove_password(ada))
    answer = log_in_by_code(site, browser)
    assert "/auth/second" in answer.headers["Location"]


def test_an_app_without_a_password_is_a_second_factor(site, browser, ada):
    update_user(ada, email=EMAIL)
    prove(ada)
    add_app(site, remove_password(ada))
    answer = log_in_by_code(site, browser)
    assert "/auth/second" in answer.headers["Location"]


def test_the_first_proof_of_the_address_ends_the_mark(site, lin):
    recovery_codes.replace(lin, rounds=4)
    factors.remove_unproven(lin)
    assert not PasskeyAccount.select().exists()
    assert not factors.list_factors(lin)


def test_the_mark_is_in_the_file_of_the_users_own_data(settings, lin):
    (row,) = passkeys.own_registration(lin, settings)
    assert row["registered_at"].startswith(time.strftime("%Y-", time.gmtime()))
