"""PASSWORD_LOGIN=off: no URL, page, field or command takes a password."""

from dataclasses import replace
from functools import partial

import pytest
from webtest import TestApp

from tests.support.authenticators import Authenticator, add_passkey, options_of
from tests.support.factors import FACTOR_KEY
from tests.support.federated import connected, logged_in_at_provider
from tests.support.identities import ENTRY, ISSUER
from tests.support.mails import MAIL, Post
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, Settings, User, authenticate, storage
from wsgiauth.app import ROUTES
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.links.invitations import Invitation
from wsgiauth.features.links.letters import issue_invitation, send_reset
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.storage import context
from wsgiauth.testing import add_authenticator, logged_in, make_user
from wsgiauth.throttling.counts import AttemptCount
from wsgiauth.throttling.failed_logins import FailedLogins

OTHER_ENTRY = "other:https://id:secret@accounts.example.net"
LOGIN = {"username": USERNAME, "password": PASSWORD}
OFF = ["/password", "/forgot", "/reset", "/register"]


@pytest.fixture
def make_site(settings):
    """Return a function that makes a site without passwords, with a provider and these settings."""
    made = []

    def make(app=echo, **changes):
        off = {"PASSWORD_LOGIN": False, "OIDC_PROVIDERS": (ENTRY,), **MAIL, **changes}
        post = Post()
        site = AuthMiddleware(app, replace(settings, **off), send_mail=post)
        site.site.outbox.keep_messages()
        made.append(site)
        return site

    yield make
    for each in made:
        storage.discard_connection(each.database)


@pytest.fixture
def site(make_site):
    return make_site()


@pytest.fixture
def full(make_site, settings):
    """Return a site that offers everything else, a member of its staff, and what logs them in."""
    site = make_site(VERIFICATION=True, PASSKEYS=True, FACTOR_KEY=FACTOR_KEY)
    root = make_user(site, "root", password=PASSWORD, is_staff=True, is_superuser=True)
    with context.using(site.database):
        row = connected(site, root, issuer=ISSUER)
        return site, root, partial(logged_in_at_provider, site, root, row)


def passwords_in(page):
    return page.html.find_all("input", type="password")


def links_in(page):
    return {each.get("href", each.get("action", "")) for each in page.html.find_all(["a", "form"])}


def is_about_passwords(url):
    return url.partition("?")[0].rpartition("/")[2] in ("password", "forgot", "reset")


@pytest.mark.slow
def test_no_page_has_a_field_for_a_password_or_a_link_to_one(full):
    site, root, log_in = full
    for path in sorted(ROUTES):
        url = "/auth" + path.replace("{id}", str(root.id)).replace("{provider}", "example")
        url = url.replace("{action}", "grant")
        for client in (log_in(), TestApp(site)):
            page = client.get(url, headers=BROWSER, status="*")
            assert page.status_int < 500, path
            if page.content_type == "text/html":
                assert passwords_in(page) == [], path
                assert {each for each in links_in(page) if is_about_passwords(each)} == set(), path


def test_the_urls_for_passwords_are_those_of_a_site_without_them(site):
    client = TestApp(site)
    body = {"username": USERNAME, "email": EMAIL, "password": PASSWORD, "token": "x"}
    for path in OFF:
        for answer in (
            client.get(f"/auth{path}?token=x", status=404),
            client.post_json(f"/auth{path}", body, status=404),
        ):
            assert answer.json["code"] == "not_found", path
    assert User.select().count() == 0


def test_the_description_lists_no_url_for_passwords(site):
    paths = TestApp(site).get("/auth/openapi.json").json["paths"]
    assert {*OFF} & paths.keys() == set()
    assert "/login" in paths


def test_the_application_answers_the_well_known_url_for_a_new_password(site):
    answer = TestApp(site).get("/.well-known/change-password", status=200)
    assert answer.json["path_info"] == "/.well-known/change-password"


def test_a_right_password_is_no_login_and_costs_no_attempt(site):
    make_user(site, USERNAME, password=PASSWORD)
    for name in [USERNAME, "nobody"]:
        refused = TestApp(site).post_json("/auth/login", LOGIN | {"username": name}, status=404)
        assert refused.json["detail"] == "This site has no logins with a password.", name
        assert AttemptCount.select().count() + FailedLogins.select().count() == 0, name


def test_a_form_with_a_password_is_answered_with_the_page(site):
    make_user(site, USERNAME, password=PASSWORD)
    page = TestApp(site).post("/auth/login", LOGIN, headers=SAME_ORIGIN, status=404)
    assert "This site has no logins with a password." in page.text
    assert "wsgiauth" not in page.headers.get("Set-Cookie", "")


def test_the_function_for_the_applications_own_login_finds_no_user(make_site):
    found = []

    def app(environ, start_response):
        found.append(authenticate(environ, USERNAME, PASSWORD))
        return echo(environ, start_response)

    site = make_site(app)
    make_user(site, USERNAME, password=PASSWORD)
    TestApp(site).get("/")
    assert found == [None]


def test_a_user_with_a_password_is_not_asked_for_it(site):
    ada = make_user(site, USERNAME, password=PASSWORD)
    browser = logged_in(site, ada)
    page = browser.get("/auth/confirm", headers=BROWSER)
    assert passwords_in(page) == []
    refused = browser.post("/auth/confirm", {"password": PASSWORD}, headers=SAME_ORIGIN, status=422)
    assert "Log in again at a provider." in refused.text


def test_the_only_provider_is_one_button_with_the_focus(site):
    page = TestApp(site).get("/auth/login", headers=BROWSER)
    (button,) = page.html.find("main").find_all("button")
    assert (button.text, button.has_attr("autofocus")) == ("Log in with Example Firm", True)
    assert button.get("class") is None


def test_several_providers_are_equal(make_site):
    site = make_site(OIDC_PROVIDERS=(ENTRY, OTHER_ENTRY))
    buttons = TestApp(site).get("/auth/login", headers=BROWSER).html.find("main").find_all("button")
    assert [each.get("class") for each in buttons] == [["quiet"]] * 2
    assert not any(each.has_attr("autofocus") for each in buttons)


def test_a_passkey_is_a_way_in(make_site):
    site = make_site(OIDC_PROVIDERS=(), PASSKEYS=True, REGISTRATION=False)
    ada = make_user(site, USERNAME)
    key = Authenticator()
    key.host, key.origin = "example.org", MAIL["PUBLIC_URL"]
    add_passkey(site, ada, "Laptop", key)
    client = TestApp(site)
    page = client.get("/auth/login", headers=BROWSER)
    assert page.html.find(attrs={"data-options": True}).button.get("class") is None
    sent = {"credential": key.get(options_of(page))}
    client.post("/auth/login", sent, headers=SAME_ORIGIN, status=303)
    assert client.get("/").json["user"] == USERNAME


@pytest.mark.parametrize("verification", [False, True])
def test_people_register_only_by_a_link(make_site, verification):
    site = make_site(VERIFICATION=verification)
    login = TestApp(site).get("/auth/login", headers=BROWSER)
    assert ("/auth/register" in links_in(login)) is verification
    page = TestApp(site).get("/auth/register", headers=BROWSER, status=200 if verification else 404)
    assert ("Open it to create the account." in page.text) is verification


@pytest.fixture
def invite(make_site):
    """Return a function that returns the path of an invitation's link."""

    def link_of(site):
        with context.using(site.database):
            link = issue_invitation(
                Invitation(email=EMAIL, username=USERNAME),
                None,
                site.site.settings,
                mount="/auth",
                now=site.site.tokens.now(),
            )
        return link.removeprefix(MAIL["PUBLIC_URL"])

    return link_of


def test_an_invited_person_gets_an_account_without_a_password(make_site, invite):
    site = make_site(PASSKEYS=True)
    browser = TestApp(site)
    page = browser.get(invite(site), headers=BROWSER)
    assert passwords_in(page) == []
    done = page.forms[0].submit(headers=SAME_ORIGIN, status=303)
    assert done.headers["Location"] == "/auth/account"
    warning = "After a logout, you cannot log in again"
    assert warning in browser.get("/auth/account", headers=BROWSER)
    ada = User.get()
    assert (ada.has_password, ada.email_verified_by) == (False, "link")
    assert browser.get("/auth/me").json["username"] == USERNAME
    assert browser.get("/auth/sessions").json["sessions"][0]["methods"] == ["mail"]
    # ... and with this login sets up another way in.
    assert browser.get("/auth/passkeys", headers=BROWSER).status_int == 200


def test_an_invitation_to_an_address_that_has_an_account_leads_to_the_login(site, invite):
    path = invite(site)
    make_user(site, "grace", email=EMAIL)
    page = TestApp(site).get(path, headers=BROWSER, status=410)
    assert "This address has an account. Log in. Go" in " ".join(page.html.main.text.split())


def test_a_password_in_the_form_of_an_invitation_is_ignored(site, invite):
    token = invite(site).partition("token=")[2]
    body = {"token": token, "username": USERNAME, "password": PASSWORD}
    TestApp(site).post_json("/auth/verify", body, status=201)
    assert User.get().hashed_password == ""


def deliver(site):
    messages = site.site.outbox.keep_messages()
    site.site.outbox.deliver()
    return messages


def test_a_person_who_registers_twice_gets_no_link_for_a_password(make_site):
    site = make_site(VERIFICATION=True)
    make_user(site, "grace", email=EMAIL)
    body = {"username": USERNAME, "email": EMAIL}
    TestApp(site).post_json("/auth/register", body, status=202)
    (message,) = deliver(site)
    assert "Your account already has this address" in plain_text_of(message)
    assert "/auth/reset" not in plain_text_of(message)


def test_an_invitation_does_not_speak_of_a_password(make_site):
    site = make_site(VERIFICATION=True)
    TestApp(site).post_json("/auth/register", {"username": USERNAME, "email": EMAIL}, status=202)
    (message,) = deliver(site)
    assert "Open this link to create it." in plain_text_of(message)
    assert "password" not in plain_text_of(message)


def test_a_link_that_was_asked_for_before_is_not_sent(site):
    ada = make_user(site, USERNAME, email=EMAIL)
    with context.using(site.database):
        send_reset(site.site.outbox, ada, mount="/auth")
    assert deliver(site) == []


def test_a_notice_leads_to_the_sessions(make_site):
    site = make_site(LOGIN_NOTICES=True)
    ada = make_user(site, USERNAME, email=EMAIL)
    with context.using(site.database):
        connected(site, ada, issuer=ISSUER)
    (message,) = deliver(site)
    text = plain_text_of(message)
    assert "password" not in text
    assert f"{MAIL['PUBLIC_URL']}/auth/sessions" in text


def test_the_staff_sends_no_link_for_a_password(full):
    site, _, log_in = full
    browser = log_in()
    ada = make_user(site, USERNAME)
    page = browser.get(f"/auth/admin/users/{ada.id}", headers=BROWSER)
    assert "reset-link" not in page.text
    browser.get(f"/auth/admin/users/{ada.id}/reset-link", headers=BROWSER, status=404)


def test_the_last_way_in_is_not_the_password(site):
    ada = make_user(site, USERNAME, password=PASSWORD)
    with context.using(site.database):
        row = connected(site, ada, issuer=ISSUER)
    browser = logged_in_at_provider(site, ada, row)
    sent = {"disconnect": row.handle}
    refused = browser.post("/auth/identities", sent, headers=SAME_ORIGIN, status=409)
    assert "This is the only way to log in" in refused.text


def test_a_start_without_any_way_in_is_refused(settings):
    with pytest.raises(ConfigurationError, match="PASSWORD_LOGIN must be on, because no other way"):
        AuthMiddleware(echo, replace(settings, PASSWORD_LOGIN=False))


def test_with_passwords_nothing_changes(settings):
    assert Settings().PASSWORD_LOGIN
    page = TestApp(AuthMiddleware(echo, settings)).get("/auth/login", headers=BROWSER)
    assert len(passwords_in(page)) == 1


def test_a_login_that_began_with_a_password_cannot_be_completed(make_site):
    before = make_site(PASSWORD_LOGIN=True, FACTOR_KEY=FACTOR_KEY)
    ada = make_user(before, USERNAME, password=PASSWORD)
    code = add_authenticator(before, ada).code()
    browser = TestApp(before)
    begun = browser.post("/auth/login", LOGIN, headers=SAME_ORIGIN, status=303)
    assert "/auth/second" in begun.location
    browser.app = make_site(FACTOR_KEY=FACTOR_KEY)
    browser.post("/auth/second", {"code": code}, headers=SAME_ORIGIN, status=302)
    assert browser.get("/").json["user"] is None
