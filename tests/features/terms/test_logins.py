"""Each way to log in, of users who have not accepted the terms."""

import time

import pytest
from webtest import TestApp

from tests.features.terms.sites import (
    LACKING,
    PAGE,
    SCRIPT,
    TERMS,
    VERSION,
    known_to,
    number_of_rows,
    to_page,
)
from tests.support.authenticators import PASSKEYS, add_passkey, options_of
from tests.support.factors import FACTOR_KEY, App, add_app
from tests.support.mails import MAIL, Post
from tests.support.provider_logins import connect, log_in
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import PROVEN_BY_LINK
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.providers import identities
from wsgiauth.storage import context
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import bearer, logged_in, mailbox

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
NEW_PASSWORD = "another unrelated phrase"
TOTP, CODES, CONFIRM, SECOND = (
    "/auth/totp",
    "/auth/recovery-codes",
    "/auth/confirm",
    "/auth/second",
)


def headers_of(login):
    return {"Authorization": f"Bearer {login['access_token']}"}


def lacks(document):
    """Return whether a document with a token says that the terms are missing."""
    return LACKING.items() <= document.items()


def accept(client, headers):
    return client.post_json(PAGE, {"version": VERSION}, headers=headers, status=200)


def accept_on(page):
    page.forms[0]["accept"] = True
    return page.forms[0].submit(headers=SAME_ORIGIN, status=303)


# With a password


@pytest.mark.every_database
@pytest.mark.promise(96)
def test_a_program_gets_a_token_with_which_it_can_accept(client, ada):
    login = client.post_json("/auth/login", {**CREDENTIALS, "refresh": True}).json
    assert lacks(login)
    client.get("/auth/account", headers=headers_of(login), status=403)
    pair = client.post_json("/auth/refresh", {"refresh_token": login["refresh_token"]}).json
    assert lacks(pair)
    accept(client, headers_of(pair))
    assert client.get("/", headers=headers_of(pair)).json["user"] == USERNAME
    last = client.post_json("/auth/refresh", {"refresh_token": pair["refresh_token"]}).json
    for answer in (last, client.post_json("/auth/login", CREDENTIALS).json):
        assert not LACKING.keys() & answer.keys()


def test_a_form_leads_to_the_terms_and_then_on(client, ada):
    for wanted in ("", "/members?page=2"):
        sent = {**CREDENTIALS, "next": wanted}
        answer = client.post("/auth/login", sent, headers=SAME_ORIGIN, status=303)
        assert answer.location == to_page(wanted)
        page = answer.follow(headers=BROWSER)
        client.post("/auth/logout", headers=SAME_ORIGIN)
    client.post("/auth/login", sent, headers=SAME_ORIGIN, status=303)
    assert accept_on(page).location == "/members?page=2"
    client.post("/auth/logout", headers=SAME_ORIGIN)
    answer = client.post("/auth/login", sent, headers=SAME_ORIGIN, status=303)
    assert answer.location == "/members?page=2"


@pytest.mark.parametrize(
    ("wanted", "location"),
    [
        ("/auth/logout", to_page("/")),
        ("/auth/login?next=/x", to_page("/")),
        (PAGE, PAGE),
        (f"{PAGE}?next=/x", f"{PAGE}?next=/x"),
        ("/auth/account", to_page("/auth/account")),
        ("/auth/close", "/auth/close"),
        ("//evil.example", PAGE),
    ],
)
def test_a_login_leads_to_no_dead_end(client, ada, wanted, location):
    sent = {**CREDENTIALS, "next": wanted}
    answer = client.post("/auth/login", sent, headers=SAME_ORIGIN, status=303)
    assert answer.location == location


def test_a_script_gets_the_page_of_the_terms_as_next(client, ada):
    sent = {**CREDENTIALS, "next": "/x"}
    assert client.post("/auth/login", sent, headers=SCRIPT).json["next"] == to_page("/x")


def test_a_changed_password_and_a_confirmation_renew_a_session_that_lacks_the_terms(
    client, site, ada
):
    headers = bearer(site, ada, terms=False)
    changed = {"current_password": PASSWORD, "new_password": NEW_PASSWORD}
    client.post_json("/auth/password", changed, headers=headers, status=403)
    confirmed = client.post_json(CONFIRM, {"password": PASSWORD}, headers=headers).json
    assert lacks(confirmed)
    accept(client, headers_of(confirmed))
    done = client.post_json("/auth/password", changed, headers=headers_of(confirmed)).json
    assert not LACKING.keys() & done.keys()
    assert client.get("/", headers=headers_of(done)).json["user"] == USERNAME


# In other ways


def test_a_passkey_leads_to_the_terms(make_site, ada):
    site = make_site(of=PASSKEYS)
    authenticator = add_passkey(site, known_to(site, ada))
    client = TestApp(site)
    options = options_of(client.get("/auth/login", headers=BROWSER))
    sent = {"credential": authenticator.get(options), "next": "/x"}
    answer = client.post("/auth/login", sent, headers=SAME_ORIGIN, status=303)
    assert answer.location == to_page("/x")


def test_a_provider_leads_to_the_terms(make_provider_site, provider, ada):
    site = make_provider_site(**TERMS)
    with context.using(site.database):
        connect(known_to(site, ada), provider, "eve")
    client = TestApp(site)
    assert log_in(client, provider, "eve", next="/x").location == to_page("/x")
    client.get("/auth/complete", headers=BROWSER, status="4*")


def test_a_session_without_the_terms_connects_no_account(make_provider_site, provider, ada):
    """Not even if it began before the terms changed."""
    before = make_provider_site()
    browser = logged_in(before, known_to(before, ada))
    begun = browser.post("/auth/identities", {"connect": "google"}, headers=SAME_ORIGIN, status=303)
    query = provider.authorize(begun.location, "eve")
    browser.app = make_provider_site(**TERMS)
    browser.get(f"/auth/oidc/google/callback?{query}", headers=BROWSER, status="*")
    assert not identities.Identity.select().exists()


def test_a_confirmation_by_a_provider_is_possible(make_provider_site, provider, ada):
    site = make_provider_site(**TERMS)
    ada = known_to(site, ada)
    with context.using(site.database):
        connect(ada, provider, "eve")
    browser = logged_in(site, ada, terms=False, confirmed_minutes_ago=60)
    browser.get("/auth/data", headers=BROWSER, status=302)
    sent = {"provider": "google", "next": "/auth/data"}
    begun = browser.post(CONFIRM, sent, headers=SAME_ORIGIN, status=303)
    query = provider.authorize(begun.location, "eve")
    answer = browser.get(f"/auth/oidc/google/callback?{query}", headers=BROWSER, status=303)
    assert answer.location == "/auth/data"
    browser.get("/auth/data", headers=BROWSER, status=200)


@pytest.fixture
def code_site(make_site, ada):
    """Return a site that sends codes, and has proven Ada's address."""
    site = make_site(of={**MAIL, "LOGIN_CODES": True, "FACTOR_KEY": FACTOR_KEY}, send_mail=Post())
    mailbox(site)
    with context.using(site.database):
        proof = {"email_verified_at": utc_now(), "email_verified_by": PROVEN_BY_LINK}
        update_user(known_to(site, ada), **proof)
    return site


def test_a_code_of_an_email_gets_a_token_with_which_a_program_can_accept(code_site):
    client = TestApp(code_site)
    asked = client.post_json("/auth/code", {"username": USERNAME}, status=202).json
    sent = {"request": asked["request"], "code": mailbox(code_site).codes[-1]}
    login = client.post_json("/auth/code/enter", sent).json
    assert lacks(login)
    accept(client, headers_of(login))
    assert client.get("/", headers=headers_of(login)).json["user"] == USERNAME


def test_a_code_of_an_email_leads_a_person_to_the_terms(code_site):
    client = TestApp(code_site)
    sent = {"username": USERNAME, "next": "/x"}
    page = client.post("/auth/code", sent, headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    page.form["code"] = mailbox(code_site).codes[-1]
    assert page.form.submit(headers=SAME_ORIGIN, status=303).location == to_page("/x")


def test_a_link_for_a_new_password_works_without_the_terms(code_site, ada):
    ada = known_to(code_site, ada)
    browser = logged_in(code_site, ada, terms=False)
    with context.using(code_site.database):
        link = make_reset_link(ada, code_site.site.settings, mount="/auth", now=time.time())
    page = browser.get(link.removeprefix(MAIL["PUBLIC_URL"]), headers=BROWSER)
    page.form["password"] = NEW_PASSWORD
    done = page.form.submit(headers=SAME_ORIGIN, status=303)
    page = done.follow(headers=BROWSER, status=200)
    page.form["username"], page.form["password"] = USERNAME, NEW_PASSWORD
    assert page.form.submit(headers=SAME_ORIGIN, status=303).location == PAGE


# With a second factor, too


@pytest.fixture
def strict(make_site):
    """Return a site that demands a second factor, and then the terms."""
    return make_site(of={"FACTOR_KEY": FACTOR_KEY, "SECOND_FACTOR": "all"})


@pytest.mark.promise(96)
def test_the_second_factor_comes_first_then_the_terms_then_the_recovery_codes(strict, ada):
    ada = known_to(strict, ada)
    client = TestApp(strict)
    sent = {**CREDENTIALS, "next": "/members"}
    answer = client.post("/auth/login", sent, headers=SAME_ORIGIN, status=303)
    assert answer.location == f"{TOTP}?next=%2Fmembers"
    for path in (PAGE, "/auth/data", "/auth/close"):
        answer = client.get(path, headers=BROWSER, status=302)
        assert answer.location.startswith(f"{TOTP}?next=")
    page = client.get(f"{TOTP}?next=/members", headers=BROWSER, status=200)
    page.forms[0]["name"] = "Phone"
    page = page.forms[0].submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    page.forms[0]["code"] = App(page.html.find(class_="key").text.replace(" ", ""), strict).code()
    codes = page.forms[0].submit(headers=SAME_ORIGIN, status=303)
    assert codes.location.startswith(CODES)
    terms = codes.follow(headers=BROWSER, status=302)
    assert terms.location.startswith(PAGE)
    back = accept_on(terms.follow(headers=BROWSER))
    assert back.location == codes.location
    page = back.follow(headers=BROWSER, status=200)
    link = page.html.find("a", string="Continue without recovery codes")
    assert link["href"] == "/members"
    assert client.get("/").json["user"] == USERNAME


def test_a_program_is_told_one_thing_after_the_other(strict, ada):
    client = TestApp(strict)
    login = client.post_json("/auth/login", CREDENTIALS).json
    assert login["restriction"] == "second_factor_setup_required"
    assert "terms_url" not in login
    headers = headers_of(login)
    client.post_json(PAGE, {"version": VERSION}, headers=headers, status=401)
    client.get("/auth/me", headers=headers, status=401)
    begun = client.post_json(TOTP, {"name": "Phone"}, headers=headers, status=201)
    sent = {"code": App(begun.json["secret"], strict).code()}
    login = client.post_json(TOTP, sent, headers=headers, status=200).json["login"]
    assert lacks(login)
    client.get(TOTP, headers=headers_of(login), status=403)
    accept(client, headers_of(login))
    assert client.get("/", headers=headers_of(login)).json["user"] == USERNAME


@pytest.mark.promise(96)
def test_who_has_accepted_the_terms_still_needs_the_factor(strict, ada):
    headers = bearer(strict, known_to(strict, ada), second_factor=False)
    assert number_of_rows(strict) == 1
    seen = TestApp(strict).get("/", headers=headers).json
    assert seen["error"] == "insufficient_user_authentication"


def test_a_code_and_then_the_terms(make_site, ada):
    site = make_site(of={"FACTOR_KEY": FACTOR_KEY})
    app = add_app(site, known_to(site, ada))
    client = TestApp(site)
    sent = {**CREDENTIALS, "next": "/members"}
    page = client.post("/auth/login", sent, headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    assert page.request.path.startswith(SECOND)
    page.form["code"] = app.code()
    answer = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert answer.location == to_page("/members")
    assert accept_on(answer.follow(headers=BROWSER)).location == "/members"


def test_a_session_from_before_both_demands_confirms_and_then_accepts(strict, ada):
    ada = known_to(strict, ada)
    add_app(strict, ada)
    code, *_ = recovery_codes.replace(ada, rounds=4)
    browser = logged_in(strict, ada, second_factor=False, terms=False)
    page = browser.get(f"{CONFIRM}?next=/members", headers=BROWSER)
    form = next(each for each in page.forms.values() if "code" in each.fields)
    form["code"] = code
    assert form.submit(headers=SAME_ORIGIN, status=303).location == to_page("/members")
