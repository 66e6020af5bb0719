"""GET /auth/account."""

import time
from dataclasses import replace
from pathlib import Path

import pytest
from webtest import TestApp

import wsgiauth
from tests.support.authenticators import PASSKEYS, add_passkey
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.mails import with_mail
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import PROVEN_BY_LINK
from wsgiauth.accounts.tables import Session
from wsgiauth.app import ROUTES
from wsgiauth.feature import Feature
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.keys import api_keys
from wsgiauth.forms.endpoint import SECURITY, AccountLink, Endpoint
from wsgiauth.storage import context
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import logged_in, make_settings, make_user

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}


@pytest.fixture
def browser(client, ada):
    """Return a client that has logged in by the form."""
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN)
    return client


# In the order of the page.
PATHS = (
    *("/password", "/email", "/username", "/identities", "/passkeys"),
    *("/sessions", "/totp", "/recovery-codes", "/keys", "/data", "/close"),
)


def offered(settings):
    return [
        (f"/auth{path}", ROUTES[path].account_link.title)
        for path in PATHS
        if ROUTES[path].is_offered(settings)
    ]


def shown(page):
    return [(link["href"], link.strong.text) for link in page.html.select(".links a")]


def states(page):
    """Return the state of each row that has one, by its address."""
    rows = page.html.select(".links a")
    return {row["href"]: row.find(class_="state").text for row in rows if row.find(class_="state")}


def test_a_user_sees_who_they_are(browser, ada):
    page = browser.get("/auth/account", headers=BROWSER, status=200)
    page.mustcontain(USERNAME, EMAIL)
    assert page.html.time["datetime"] == ada.created_at.strftime("%Y-%m-%d")
    assert page.headers["Cache-Control"] == "no-store"
    (form,) = page.forms.values()
    assert (form.method, form.action) == ("post", "/auth/logout")


def test_the_page_links_to_what_the_site_offers(browser, settings):
    links = shown(browser.get("/auth/account", headers=BROWSER))
    assert links == offered(settings)
    for url, _ in links:
        browser.get(url, headers=BROWSER, status=200)


def test_what_the_site_does_not_offer_is_not_linked_to(browser, monkeypatch):
    monkeypatch.setattr(type(ROUTES["/sessions"]), "is_offered", lambda *_: False)
    urls = [url for url, _ in shown(browser.get("/auth/account", headers=BROWSER))]
    assert "/auth/sessions" not in urls


def test_an_unknown_notice_says_nothing(browser):
    page = browser.get("/auth/account?done=nothing", headers=BROWSER)
    assert page.html.find(role="status") is None


def test_the_links_lead_below_the_prefix_and_the_mount(settings, ada):
    site = AuthMiddleware(echo, settings, mount="/me")
    client = TestApp(site, extra_environ={"SCRIPT_NAME": "/site"})
    client.post("/me/login", CREDENTIALS, headers=SAME_ORIGIN)
    page = client.get("/me/account", headers=BROWSER)
    assert ("/site/me/sessions", "Where you are logged in") in shown(page)


def test_a_program_gets_the_profile(client, ada, bearer):
    headers = bearer(ada)
    account = client.get("/auth/account", headers=headers)
    assert account.json == client.get("/auth/me", headers=headers).json


def test_an_anonymous_browser_is_sent_to_the_login_and_back(client, ada):
    refused = client.get("/auth/account", headers=BROWSER, status=302)
    assert refused.headers["Location"] == "/auth/login?next=%2Fauth%2Faccount"
    fields = {**CREDENTIALS, "next": "/auth/account"}
    answer = client.post("/auth/login", fields, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/auth/account"


def test_an_anonymous_program_is_challenged(client):
    assert client.get("/auth/account", status=401).json["code"] == "unauthenticated"


def test_the_page_of_a_user_who_is_logged_in_links_to_their_account(browser):
    page = browser.get("/auth/login", headers=BROWSER)
    assert page.html.find("a", string="Your account")["href"] == "/auth/account"


def test_the_page_says_how_many_recovery_codes_are_left(settings):
    site = AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY))
    grace = make_user(site, "grace")
    add_app(site, grace)
    with context.using(site.database):
        codes = recovery_codes.replace(grace, rounds=4)
    browser = logged_in(site, grace)
    for left, shown in {
        10: [],
        3: [],
        2: ["2 recovery codes are left. Make new ones before you need them"],
        1: ["1 recovery code is left. Make new ones before you need them"],
        0: ["You have no recovery codes. Make some before you need them"],
    }.items():
        with context.using(site.database):
            while len(codes) > left:
                recovery_codes.use(grace, codes.pop())
        page = browser.get("/auth/account", headers=BROWSER)
        assert states(page)["/auth/recovery-codes"] == f"{left} left"
        reminders = [" ".join(each.text.split()) for each in page.html.find_all(role="note")]
        assert reminders == shown
    storage.discard_connection(site.database)


def test_what_is_missing_has_one_next_step(settings):
    site = AuthMiddleware(
        echo, replace(with_mail(settings), FACTOR_KEY=FACTOR_KEY), send_mail=print
    )
    page = logged_in(site, make_user(site, "grace")).get("/auth/account", headers=BROWSER)
    email, factor = page.html.find_all(role="note")
    assert (email.a["href"], email.a["class"]) == ("/auth/email", ["button"])
    assert (factor.a["href"], factor.a.get("class")) == ("/auth/totp", None)
    assert "Two-step verification is off." in factor.text
    storage.discard_connection(site.database)


@pytest.mark.parametrize(
    ("is_on", "methods", "has_passkey", "is_offered"),
    [
        pytest.param(True, "pwd", False, True, id="password"),
        pytest.param(True, "pwd otp", False, True, id="password and code"),
        pytest.param(True, "fed", False, False, id="provider"),
        pytest.param(True, "pwd hwk", True, False, id="has a passkey"),
        pytest.param(False, "pwd", False, False, id="no passkeys here"),
    ],
)
def test_a_script_can_offer_this_device_after_a_password(
    settings, is_on, methods, has_passkey, is_offered
):
    passkeys = PASSKEYS | {"PASSKEYS": is_on}
    site = AuthMiddleware(echo, replace(settings, **passkeys, FACTOR_KEY=FACTOR_KEY))
    grace = make_user(site, "grace")
    client = logged_in(site, grace)
    if has_passkey:
        add_passkey(site, grace)
    with context.using(site.database):
        Session.update(methods=methods).execute()
    page = client.get("/auth/account", headers=BROWSER)
    offers = page.html.select("[data-device]")
    assert [(each.a["href"], each.has_attr("hidden")) for each in offers] == (
        [("/auth/passkeys", True)] if is_offered else []
    )
    if not has_passkey:
        first = page.html.find(role="note")
        assert first.a["href"] == "/auth/totp"  # the advice about the second factor stays first
    storage.discard_connection(site.database)


def test_a_new_account_is_announced_once_and_offers_this_device(settings):
    site = AuthMiddleware(echo, replace(settings, **PASSKEYS, FACTOR_KEY=FACTOR_KEY))
    client = TestApp(site)
    fields = {"username": "grace", "email": "grace@example.org", "password": PASSWORD}
    client.post("/auth/register", fields, headers=SAME_ORIGIN, status=303)
    for is_first in (True, False):
        page = client.get("/auth/account", headers=BROWSER)
        assert ("Your account is ready." in page.html.main.text) is is_first
        (offer,) = page.html.select("[data-device]")
        assert (offer["data-device"], offer.a["href"]) == ("new" * is_first, "/auth/passkeys")
        assert offer.has_attr("hidden")
    storage.discard_connection(site.database)


def test_the_account_of_another_user_is_not_announced(settings):
    site = AuthMiddleware(echo, settings)
    fields = {"username": "grace", "email": "grace@example.org", "password": PASSWORD}
    client = TestApp(site)
    client.post("/auth/register", fields, headers=SAME_ORIGIN, status=303)
    other = logged_in(site, make_user(site, "lin"))
    other.set_cookie("wsgiauth-created", client.cookies["wsgiauth-created"])
    assert "is ready" not in other.get("/auth/account", headers=BROWSER)
    program = {**fields, "username": "eve", "email": "eve@example.org"}
    assert "Set-Cookie" not in client.post_json("/auth/register", program, status=201).headers
    storage.discard_connection(site.database)


def test_an_account_that_lacks_nothing_has_no_reminder(settings):
    site = AuthMiddleware(echo, settings)
    page = logged_in(site, make_user(site, "grace")).get("/auth/account", headers=BROWSER)
    assert page.html.find_all(role="note") == []
    storage.discard_connection(site.database)


def test_a_user_without_a_second_factor_sees_nothing_of_recovery_codes(browser):
    assert "/auth/recovery-codes" not in browser.get("/auth/account", headers=BROWSER)


def test_each_row_says_its_state(settings):
    made = replace(with_mail(settings), **PASSKEYS, FACTOR_KEY=FACTOR_KEY)
    site = AuthMiddleware(echo, replace(made, PUBLIC_URL=PASSKEYS["PUBLIC_URL"]), send_mail=print)
    grace = make_user(site, "grace")
    browser = logged_in(site, grace)
    before = states(browser.get("/auth/account", headers=BROWSER))
    assert before == {
        "/auth/email": "not verified",
        "/auth/passkeys": "None yet",
        "/auth/sessions": "1 session",
        "/auth/totp": "Off",
        "/auth/keys": "None yet",
    }
    add_passkey(site, grace)
    logged_in(site, grace)
    with context.using(site.database):
        api_keys.create(grace, "export", [], days=1, now=time.time())
        update_user(grace, email_verified_at=utc_now(), email_verified_by=PROVEN_BY_LINK)
    assert states(browser.get("/auth/account", headers=BROWSER)) == {
        "/auth/email": "verified",
        "/auth/passkeys": "1 passkey",
        "/auth/sessions": "2 sessions",
        "/auth/totp": "On",
        "/auth/recovery-codes": "0 left",
        "/auth/keys": "1 key",
    }
    storage.discard_connection(site.database)


def test_the_states_cost_two_statements(browser, queries, monkeypatch):
    def count():
        return len(queries(lambda: browser.get("/auth/account", headers=BROWSER)))

    with_states = count()
    monkeypatch.setattr("wsgiauth.endpoints.account._state", lambda *_: None)
    assert with_states - count() == 2


def test_a_state_that_fails_is_left_out_and_reported(browser, monkeypatch, caplog):
    def fail(overview):
        raise RuntimeError("broken")

    link = ROUTES["/sessions"].account_link._replace(state=fail)
    monkeypatch.setattr(type(ROUTES["/sessions"]), "account_link", link)
    page = browser.get("/auth/account", headers=BROWSER, status=200)
    assert [*states(page)] == ["/auth/keys"]
    what = 'the state of "Where you are logged in" on the account page'
    assert caplog.messages == [f"a function of the kernel failed, so that {what} is missing"]


def test_each_link_has_an_icon():
    macros = (Path(wsgiauth.__file__).parent / "templates" / "macros.html").read_text()
    names = {each.account_link.icon for each in ROUTES.values() if each.account_link}
    assert [name for name in names if f'"{name}": "M' not in macros] == []


def test_a_feature_can_have_a_heading_of_its_own(client):
    class Teams(Endpoint):
        account_link = AccountLink("Teams", "Your teams", "See who is in them.")

    class Locks(Endpoint):
        account_link = AccountLink(SECURITY, "Your locks", "See what is locked.")

    feature = Feature(name="teams", urls={"/teams": Teams(), "/locks": Locks()})
    site = AuthMiddleware(echo, make_settings(FEATURES=(feature,), ADMIN_PANEL=True))
    browser = logged_in(site, make_user(site, is_staff=True))
    headings = [each.text for each in browser.get("/auth/account", headers=BROWSER).html("h2")]
    assert headings == [
        "How you log in",
        "Security",
        "Programs",
        "Teams",
        "Administration",
        "Leaving",
    ]
