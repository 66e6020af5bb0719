"""Logins in a trusted browser, which skip the second step."""

import logging
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.conftest import insert_user
from tests.support.authenticators import PASSKEYS, Authenticator, add_passkey, options_of
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.provider_logins import connect, path_of
from tests.support.provider_logins import log_in as log_in_at_provider
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from tests.support.trusted import COOKIE, DAYS, first_step, is_asked, second_step, trust
from wsgiauth import AuthMiddleware, end_sessions, login_required, storage, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret, Session, TrustedBrowser
from wsgiauth.authentication.lifetimes import DAY
from wsgiauth.authentication.trusted_browsers import TrustedBrowsers
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.factors import factors, passkeys
from wsgiauth.features.factors.passkeys import NewPasskey
from wsgiauth.features.factors.passkeys.challenges import Challenge
from wsgiauth.features.factors.totp import Totp
from wsgiauth.features.trusted_browsers.browsers import MOST_BROWSERS, MOST_USERS, Browsers
from wsgiauth.forms.proofs import require_factor
from wsgiauth.storage import context
from wsgiauth.web.clients import Client

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
CROSS_SITE = {**BROWSER, "Sec-Fetch-Site": "cross-site"}
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


def cookies_of(answer):
    """Return the headers of an answer that set the cookie of trusted browsers."""
    return [each for each in answer.headers.getall("Set-Cookie") if COOKIE in each]


def checkboxes(page):
    forms = {id(form): form for form in page.forms.values() if "trust" in form.fields}
    return list(forms.values())


# The offer


def test_the_second_step_offers_to_trust_the_browser(client, app):
    first_step(client)
    page = client.get("/auth/second", headers=BROWSER)
    (form,) = checkboxes(page)
    assert "Trust this browser: skip this step for 30 days" in page.html.main.text
    assert not form["trust"].checked
    refused = second_step(client, "wrong", status=401)
    assert checkboxes(refused)[0]["trust"].checked
    answer = client.post("/auth/second", {"code": app.code()}, headers=SAME_ORIGIN, status=303)
    client.post("/auth/logout", headers=SAME_ORIGIN)
    assert not cookies_of(answer)
    assert is_asked(client)


def test_one_checkbox_counts_for_a_passkey_and_for_a_code(make_site, ada):
    site = make_site(**PASSKEYS)
    app, key = add_app(site, ada), Authenticator()
    add_passkey(site, ada, authenticator=key)
    for way in ("passkey", "code"):
        client = TestApp(site, {"HTTP_HOST": "localhost:8080"})
        first_step(client)
        page = client.get("/auth/second", headers=BROWSER)
        (form,) = checkboxes(page)
        form["trust"] = True
        if way == "passkey":
            form["credential"].force_value(key.get(options_of(page)))
        else:
            form["code"] = app.code()
        form.submit(headers=SAME_ORIGIN, status=303)
        client.post("/auth/logout", headers=SAME_ORIGIN)
        assert not is_asked(client), way


def test_a_site_without_the_setting_offers_and_sets_nothing(make_site, ada):
    site = make_site(TRUSTED_BROWSER_DAYS=0)
    client, app = TestApp(site), add_app(site, ada)
    first_step(client)
    page = client.get("/auth/second", headers=BROWSER)
    assert not checkboxes(page)
    assert not cookies_of(second_step(client, app.code()))
    assert not TrustedBrowser.select().exists()
    listed = client.get("/auth/sessions", headers={"Accept": "application/json"})
    assert list(listed.json) == ["sessions"]


# The login


@pytest.mark.every_database
def test_a_login_skips_the_second_step(browser, site, ada):
    answer = browser.post("/auth/login", CREDENTIALS | {"next": "/a"}, headers=SAME_ORIGIN)
    assert answer.location == "/a"
    assert browser.get("/").json["user"] == USERNAME
    assert Session.get().methods == "pwd trusted"
    assert not OneTimeSecret.select().where(OneTimeSecret.purpose == "second").exists()
    assert TrustedBrowser.get().last_used_at == int(site.site.tokens.now())


def test_a_script_of_the_site_skips_it_too_and_a_program_does_not(browser, heard):
    answer = browser.post("/auth/login", CREDENTIALS, headers=SCRIPT, status=200)
    assert answer.json["detail"] == "Logged in."
    assert browser.get("/").json["user"] == USERNAME
    assert [(each.name, each.reason) for each in heard] == [("login", "pwd trusted")]
    answer = browser.post_json("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, status=401)
    assert answer.json["code"] == "second_factor_required"


def test_the_cookie_is_like_that_of_a_session(site, client, app, clock, ada, heard):
    (header,) = cookies_of(trust(client, app.code()))
    assert header.endswith(f" Max-Age={DAYS * DAY}; Path=/; HttpOnly; SameSite=Lax")
    assert [(each.name, each.user_id) for each in heard if "trust" in each.name] == [
        ("trust_given", ada.id)
    ]
    assert RecordedEvent.select().where(RecordedEvent.name == "trust_given").count() == 1
    clock.move(30)
    client = TestApp(site, {"wsgi.url_scheme": "https"})
    first_step(client)
    form = {"code": app.code(), "trust": "on"}
    (header,) = cookies_of(client.post("/auth/second", form, headers=SCRIPT, status=200))
    assert header.startswith(f"__Host-{COOKIE}=")
    assert header.endswith("; Secure")


def test_a_login_at_a_provider_skips_it_too(make_provider_site, provider):
    site = make_provider_site(FACTOR_KEY=FACTOR_KEY, TRUSTED_BROWSER_DAYS=DAYS)
    ada = insert_user(USERNAME, EMAIL)
    client, app = TestApp(site), add_app(site, ada)
    connect(ada, provider)
    assert path_of(log_in_at_provider(client, provider, status=303)) == "/auth/second"
    second_step(client, app.code())
    client.post("/auth/logout", headers=SAME_ORIGIN)
    assert path_of(log_in_at_provider(client, provider, status=303)) == "/"
    assert Session.get().methods == "fed trusted"


def test_the_client_is_known_to_the_throttle_as_after_a_code(site, browser):
    at_work = {"REMOTE_ADDR": "198.51.100.7"}
    browser.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, extra_environ=at_work)
    wait_for_strangers(site)
    browser.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN, extra_environ=at_work, status=303)


def wait_for_strangers(site):
    """Guess from other addresses until an unknown client has to wait."""
    for number in range(1, 10):
        stranger = TestApp(site, {"REMOTE_ADDR": f"203.0.113.{number}"})
        wrong = CREDENTIALS | {"password": "wrong"}
        if stranger.post("/auth/login", wrong, headers=SAME_ORIGIN, status="*").status_int == 429:
            return
    raise AssertionError


# What a trusted browser does not do


@pytest.mark.promise(84)
def test_the_session_is_not_proven_by_a_second_factor(settings, clock, ada):
    changed = replace(settings, FACTOR_KEY=FACTOR_KEY, TRUSTED_BROWSER_DAYS=DAYS)
    guarded = login_required(second_factor=True)(echo)
    site = AuthMiddleware(guarded, changed)
    client, app = TestApp(site), add_app(site, ada)
    trust(client, app.code())
    assert first_step(client) == "/"
    answer = client.get("/", headers=BROWSER, status=302)
    assert answer.location.startswith("/auth/confirm")
    storage.discard_connection(site.database)


@pytest.mark.promise(84)
def test_the_session_is_not_fresh_and_a_confirmation_asks_for_the_second_factor(browser):
    first_step(browser)
    answer = browser.get("/auth/totp", headers=BROWSER, status=302)
    assert answer.location.startswith("/auth/confirm")
    browser.post("/auth/confirm", {"password": PASSWORD}, headers=SAME_ORIGIN, status=422)


def test_the_site_that_demands_a_second_factor_is_content(browser, make_site, ada):
    type(ada).update(is_staff=True).execute()
    for demand in ("staff", "all"):
        browser.app = TestApp(make_site(SECOND_FACTOR=demand)).app
        assert first_step(browser) == "/"
        assert browser.get("/").json["user"] == USERNAME
        browser.post("/auth/logout", headers=SAME_ORIGIN)


# Attacks


@pytest.mark.promise(84)
def test_a_stolen_cookie_does_not_help_without_the_password(browser, heard):
    browser.post("/auth/login", CREDENTIALS, headers=CROSS_SITE, status=403)
    wrong = CREDENTIALS | {"password": "a wrong password"}
    with_cookie = browser.post("/auth/login", wrong, headers=SAME_ORIGIN, status=401)
    browser.reset()
    without = browser.post("/auth/login", wrong, headers=SAME_ORIGIN, status=401)
    assert with_cookie.html.main.text == without.html.main.text
    assert not cookies_of(with_cookie)


@pytest.mark.promise(84)
@pytest.mark.every_database
def test_the_cookie_of_one_user_does_not_help_another_until_both_trust_the_browser(browser, site):
    other = add_app(site, insert_user("Grace", "grace@example.org"))
    assert is_asked(browser, "Grace")
    assert not is_asked(browser)
    trust(browser, other.code(), "Grace")
    assert not is_asked(browser, "Grace")
    assert not is_asked(browser)


def log_in_with(site, cookie):
    headers = {**SAME_ORIGIN, "Cookie": cookie}
    return TestApp(site).post("/auth/login", CREDENTIALS, headers=headers, status=303)


def test_a_malformed_cookie_or_two_are_no_trust(browser, site):
    values = {
        "empty": "",
        "only a separator": ".",
        "another secret": "x",
        "only separators": "." * 4000,
        "long": "x" * 7000,
        "no ASCII": "\xff\x00",
    }
    paths = {name: path_of(log_in_with(site, f"{COOKIE}={each}")) for name, each in values.items()}
    assert paths == dict.fromkeys(values, "/auth/second")
    cookie = f"{COOKIE}={browser.cookies[COOKIE]}"
    assert path_of(log_in_with(site, cookie)) == "/"
    assert path_of(log_in_with(site, f"{cookie}; {COOKIE}=planted")) == "/auth/second"


def trust_late(site, user, change, cookie=""):
    """Let a browser become trusted by a second step from before a change."""
    browsers, kinds = site.site.part(TrustedBrowsers), site.site.factors
    state, now = kinds.state(user), site.site.tokens.now()
    change()
    return browsers.trust(cookie, user, state, kinds, client=Client(), now=now)


@pytest.mark.promise(84)
@pytest.mark.every_database
def test_a_second_step_from_before_a_change_gives_no_trust(site, ada, app):
    changes = {
        "a removed factor": lambda user: factors.remove(user),
        "an app removed by a query": lambda user: app_of(user).delete_instance(),
        "a deactivation": lambda user: update_user(user, is_active=False),
        "a deletion": lambda user: user.delete_instance(),
    }
    for words, change in changes.items():
        with storage.database.atomic() as transaction:
            given = trust_late(site, ada, lambda change=change: change(User.get_by_id(ada.id)))
            assert (given, TrustedBrowser.select().count()) == ("", 0), words
            transaction.rollback()
    assert trust_late(site, ada, lambda: None)


def app_of(user):
    return Totp.get(Totp.user == user.id)


@pytest.mark.promise(84)
def test_the_factors_are_read_before_the_code_is_checked(client, app, ada, monkeypatch):
    def slow(*args, **options):
        proven = require_factor(*args, **options)
        add_passkey_of(ada)
        return proven

    monkeypatch.setattr("wsgiauth.features.factors.endpoints.second.require_factor", slow)
    first_step(client)
    answer = second_step(client, app.code())
    assert client.get("/").json["user"] == USERNAME
    assert not cookies_of(answer)


def add_passkey_of(user):
    new = NewPasskey("id", "key", 0, "handle", "", is_backed_up=False)
    challenge = Challenge(b"challenge", 2**33, b"")
    passkeys.add(user, new, "Key", challenge, relying_party="example.org", now=0)


@pytest.mark.promise(84)
@pytest.mark.every_database
def test_a_login_that_loses_a_race_is_asked_for_the_second_step(browser, monkeypatch, ada):
    find = Browsers.find

    def late(*args):
        found = find(*args)
        end_sessions(ada)
        return found

    monkeypatch.setattr(Browsers, "find", late)
    assert first_step(browser) == "/auth/second"


@pytest.mark.promise(84)
@pytest.mark.every_database
def test_a_login_that_loses_to_a_deactivation_starts_no_session(browser, monkeypatch, ada):
    find = Browsers.find

    def late(*args):
        found = find(*args)
        update_user(User.get_by_id(ada.id), is_active=False)
        return found

    monkeypatch.setattr(Browsers, "find", late)
    first_step(browser)
    assert not Session.select().exists()


@pytest.mark.promise(84)
def test_a_planted_cookie_does_not_become_trusted(site, app):
    client = TestApp(site)
    client.set_cookie(COOKIE, "planted")
    trust(client, app.code())
    assert "planted" not in client.cookies[COOKIE]
    attacker = TestApp(site)
    attacker.set_cookie(COOKIE, "planted")
    assert is_asked(attacker)


def test_neither_the_database_nor_a_log_has_the_secret(browser, caplog):
    caplog.set_level(logging.DEBUG, "wsgiauth")
    first_step(browser)
    row = TrustedBrowser.get()
    assert browser.cookies[COOKIE] not in [str(each) for each in row.__data__.values()]
    logged = [each.getMessage() for each in caplog.records if each.name == "wsgiauth"]
    secrets = (browser.cookies[COOKIE], row.digest)
    assert logged
    assert not [line for line in logged for secret in secrets if secret in line]


# Several users, several browsers


@pytest.mark.every_database
def test_a_browser_that_is_trusted_again_is_listed_once(browser, app, ada, clock):
    add = TrustedBrowser.get()
    TrustedBrowser.update(factors="").execute()
    clock.move(30)
    trust(browser, app.code())
    assert TrustedBrowser.get().id != add.id
    assert TrustedBrowser.select().count() == 1
    assert "." not in browser.cookies[COOKIE]


def test_a_cookie_keeps_the_secrets_of_the_last_users(browser, site):
    names = [f"Ann{number}" for number in range(MOST_USERS)]
    for name in names:
        trust(browser, add_app(site, insert_user(name, f"{name}@example.org")).code(), name)
    assert len(browser.cookies[COOKIE].split(".")) == MOST_USERS
    assert [is_asked(browser, each) for each in (USERNAME, *names)] == [True, *[False] * MOST_USERS]


def fill(seconds):
    """Insert all browsers that a user can have besides the first; return their ids.

    They are trusted some seconds after the first one, or before it.
    """
    first = TrustedBrowser.get()
    columns = {**first.__data__, "created_at": first.created_at + seconds}
    ids = [f"{number:016}" for number in range(MOST_BROWSERS - 1)]
    TrustedBrowser.insert_many({**columns, "id": each, "digest": each} for each in ids).execute()
    return ids


@pytest.mark.every_database
def test_the_oldest_of_too_many_browsers_ends(browser, app, site, ada, clock):
    fill(1)
    clock.move(30)
    trust(TestApp(site), app.code())
    assert TrustedBrowser.select().count() == MOST_BROWSERS
    assert is_asked(browser)


def test_a_browser_that_is_trusted_again_ends_no_other_one(browser, site, ada):
    others = fill(-1)
    trust_late(site, ada, lambda: None, cookie=browser.cookies[COOKIE])
    listed = [each.id for each in TrustedBrowser.select()]
    assert set(others) < set(listed)
    assert len(listed) == MOST_BROWSERS


def test_expired_browsers_are_deleted_by_the_next_one(browser, app, clock):
    clock.move(DAYS * DAY)
    trust(TestApp(browser.app), app.code())
    assert TrustedBrowser.select().count() == 1


# What is told


def test_a_login_goes_on_if_the_trust_cannot_be_stored(client, site, app, caplog):
    first_step(client)
    with context.using(site.database):
        storage.current().drop_tables([TrustedBrowser])
    answer = second_step(client, app.code())
    assert (answer.status_int, cookies_of(answer)) == (303, [])
    assert client.get("/").json["user"] == USERNAME
    assert "the account database failed" in caplog.text
