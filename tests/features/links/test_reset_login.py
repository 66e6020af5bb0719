"""A link instead of a code, where there are no passwords: the first proof of the address.

A stranger has registered with the address of Lin, who then asks for a code.
"""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.authenticators import PASSKEYS, Authenticator, options_of
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.mails import with_mail
from tests.support.sites import BROWSER, SAME_ORIGIN, SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings, change_password, find_user, storage
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import PROVEN_BY_LINK, User
from wsgiauth.accounts.tables import OneTimeSecret, Session
from wsgiauth.authentication.password import make_printed_reset_link, redeem_login
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.factors import recovery_codes
from wsgiauth.features.factors.passkeys import Passkey, PasskeyAccount
from wsgiauth.features.keys import api_keys
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import bearer, mailbox

EMAIL = "lin@example.org"
PROVIDER = "google:https://id:secret@accounts.google.com"
ON = {"PASSWORD_LOGIN": False, "LOGIN_CODES": True, "FACTOR_KEY": FACTOR_KEY}
MEMORY = {"MAIL_URL": "memory:", "MAIL_FROM": "site@example.org"}


@pytest.fixture
def settings(settings):
    return replace(settings, **PASSKEYS, **MEMORY, **ON)


@pytest.fixture
def site(settings):
    made = AuthMiddleware(echo, settings)
    mailbox(made)  # so that no thread sends
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def key():
    """Return the stranger's authenticator."""
    return Authenticator()


@pytest.fixture
def stranger(site, key):
    """Return the stranger's browser, which is logged in to the account with Lin's address."""
    client = TestApp(site)
    credential = key.create(options_of(client.get("/auth/register", headers=BROWSER)))
    sent = {"username": "stranger", "email": EMAIL, "credential": credential}
    client.post("/auth/register", sent, headers=SAME_ORIGIN, status=303)
    mailbox(site).clear()
    return client


@pytest.fixture
def account(stranger):
    """Return the account that the stranger has made."""
    return find_user("stranger")


@pytest.fixture
def lin(site):
    """Return Lin's browser."""
    return TestApp(site)


def ask(client, **further):
    """Ask for a code, as Lin does at the login."""
    sent = {"username": EMAIL, **further}
    client.post("/auth/code", sent, headers=SAME_ORIGIN, status=303)


def path_in(site):
    (link,) = [each for each in mailbox(site).links if "/reset?" in each]
    return "/auth/" + link.partition("/auth/")[2]


@pytest.fixture
def link(site, account, lin):
    """Return the path of the link that Lin has got."""
    ask(lin, next="/members")
    return path_in(site)


def press(browser, link, status=303):
    return browser.get(link, headers=BROWSER).forms[0].submit(headers=SAME_ORIGIN, status=status)


def post(browser, link, status=303):
    sent = {"token": link.partition("token=")[2]}
    return browser.post("/auth/reset", sent, headers=SAME_ORIGIN, status=status)


def is_logged_in(browser):
    return browser.get("/", headers=BROWSER).json["user"] is not None


@pytest.mark.every_database
@pytest.mark.promise(100)
def test_the_owner_of_the_address_takes_the_account_from_the_stranger(
    site, stranger, account, key, lin, link
):
    assert is_logged_in(stranger)
    answer = press(lin, link)
    assert answer.headers["Location"] == "/members"
    assert lin.get("/").json["user"] == "stranger"
    assert not is_logged_in(stranger)
    assert not Passkey.select().exists()
    assert not PasskeyAccount.select().exists()
    credential = key.get(options_of(stranger.get("/auth/login", headers=BROWSER)))
    stranger.post("/auth/login", {"credential": credential}, headers=SAME_ORIGIN, status=401)
    assert User.get_by_id(account.id).email_verified_by == PROVEN_BY_LINK
    assert [each.methods for each in Session.select()] == ["mail"]


@pytest.mark.promise(100)
def test_nothing_that_the_stranger_added_lasts(site, account, lin, link):
    add_app(site, account)
    recovery_codes.replace(account, rounds=4)
    api_key = api_keys.create(account, "test", (), now=site.site.tokens.now()).text
    session = bearer(site, account)
    press(lin, link)
    for headers in ({"Authorization": f"Bearer {api_key}"}, session):
        TestApp(site).get("/auth/me", headers=headers, status=401)
    assert is_logged_in(lin)
    assert site.site.factors.all_of(account) == []
    assert recovery_codes.count(account) == 0


@pytest.mark.promise(100)
def test_a_password_from_when_there_were_passwords_ends_too(site, account, lin):
    change_password(account, "four unrelated words", settings=site.site.settings)
    ask(lin)
    press(lin, path_in(site))
    assert not User.get_by_id(account.id).has_password
    assert is_logged_in(lin)


def test_the_email_and_the_page_say_what_the_link_does(site, lin, link):
    *_, mail = mailbox(site)
    assert (mail["To"], mail["Subject"]) == (EMAIL, "Log in to localhost:8080 by a link")
    text = mail.get_body().get_content()
    assert "This site has never verified your email address" in text
    assert "stranger" not in text  # the stranger chose the name
    assert "assword" not in text
    page = lin.get(link, headers=BROWSER)
    assert "This link also removes its passkeys" in page
    assert "assword" not in page.html.main.text
    assert [each.text for each in page.html.select("main button")] == ["Log in"]


@pytest.mark.promise(100)
def test_opening_the_link_changes_nothing(stranger, lin, link):
    for _ in range(2):
        lin.get(link, headers=BROWSER, status=200)
    assert is_logged_in(stranger)
    assert not is_logged_in(lin)
    assert Passkey.select().exists()


def test_the_link_works_once(site, lin, link):
    press(lin, link)
    page = post(TestApp(site), link, status=410)
    assert page.html.find("a", string="Ask for a new link")["href"] == "/auth/code"


def test_a_program_cannot_use_the_link(site, link):
    sent = {"token": link.partition("token=")[2]}
    refused = TestApp(site).post_json("/auth/reset", sent, status=422)
    assert refused.json["code"] == "browser_required"
    assert Passkey.select().exists()


@pytest.mark.promise(101)
def test_the_browser_of_another_user_stays_logged_in(site, stranger, link):
    eve = TestApp(site)
    credential = Authenticator().create(options_of(eve.get("/auth/register", headers=BROWSER)))
    sent = {"username": "eve", "email": "eve@example.org", "credential": credential}
    eve.post("/auth/register", sent, headers=SAME_ORIGIN, status=303)
    assert "log out first" in eve.get(link, headers=BROWSER, status=403)
    post(eve, link, status=403)
    assert eve.get("/").json["user"] == "eve"
    assert is_logged_in(stranger)


def test_a_form_of_another_site_does_not_use_the_link(site, link):
    sent = {"token": link.partition("token=")[2]}
    headers = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    TestApp(site).post("/auth/reset", sent, headers=headers, status=403)
    assert Passkey.select().exists()


def test_a_link_that_is_not_the_first_proof_keeps_the_second_factor(site, account, lin, link):
    add_app(site, account)
    update_user(account, email_verified_at=utc_now(), email_verified_by=PROVEN_BY_LINK)
    answer = press(lin, link)
    assert "/auth/second" in answer.headers["Location"]
    assert not is_logged_in(lin)
    assert Passkey.select().exists()


def test_a_link_that_an_operator_printed_logs_nobody_in(site, account, lin):
    url = make_printed_reset_link(
        account, site.site.settings, mount="/auth", now=site.site.tokens.now()
    )
    path = "/auth/" + url.partition("/auth/")[2]
    lin.get(path, headers=BROWSER, status=410)
    post(lin, path, status=410)
    assert OneTimeSecret.select().where(OneTimeSecret.purpose == "reset").exists()


def test_a_link_that_another_request_uses_meanwhile_has_ended(lin, link, monkeypatch):
    def redeem_meanwhile(*sent, **further):
        assert redeem_login(*sent, **further)
        return redeem_login(*sent, **further)

    monkeypatch.setattr("wsgiauth.features.links.reset.redeem_login", redeem_meanwhile)
    post(lin, link, status=410)
    assert not is_logged_in(lin)


def test_a_user_who_changes_at_the_same_moment_is_not_logged_in(site, lin, link, monkeypatch):
    start = "wsgiauth.features.links.reset.start_session"
    monkeypatch.setattr(start, lambda *_: None)
    post(lin, link, status=410)


@pytest.mark.promise(100)
def test_after_the_proof_codes_come_and_need_no_second_step(site, lin, link):
    press(lin, link)
    other = TestApp(site)
    mailbox(site).clear()
    ask(other)
    sent = {"code": mailbox(site).codes[-1]}
    other.post("/auth/code/enter", sent, headers=SAME_ORIGIN, status=303)
    assert is_logged_in(other)
    events = [each.name for each in RecordedEvent.select()]
    assert "passkey_skipped" not in events  # the passkey was the stranger's, and is gone


# What a site needs, so that owners of addresses are not locked out


def test_a_site_whose_owners_would_be_locked_out_does_not_start():
    with pytest.raises(
        ConfigurationError, match="LOGIN_CODES must be on, because PASSKEYS creates"
    ):
        Settings(SECRET_KEY=SECRET_KEY, **PASSKEYS, PASSWORD_LOGIN=False)


@pytest.mark.parametrize(
    "changes",
    [
        {"PASSWORD_LOGIN": True},
        {"REGISTRATION": False},
        {"VERIFICATION": True},
        {"LOGIN_CODES": True},
        {"OIDC_PROVIDERS": (PROVIDER,)},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_site_starts_if_it_has_a_way_for_them_or_creates_no_such_accounts(changes):
    settings = Settings(
        **{"SECRET_KEY": SECRET_KEY, "PASSWORD_LOGIN": False, **MEMORY, **PASSKEYS, **changes}
    )
    assert settings.PASSKEYS


def test_without_codes_and_passwords_a_site_with_providers_registers_nobody_here(settings):
    changed = with_mail(
        settings,
        LOGIN_CODES=False,
        OIDC_PROVIDERS=(PROVIDER,),
        PUBLIC_URL=PASSKEYS["PUBLIC_URL"],
    )
    site = AuthMiddleware(echo, changed, send_mail=lambda message: None)
    client = TestApp(site)
    client.get("/auth/register", headers=BROWSER, status=404)
    client.get("/auth/reset?token=x", headers=BROWSER, status=404)
    storage.discard_connection(site.database)
