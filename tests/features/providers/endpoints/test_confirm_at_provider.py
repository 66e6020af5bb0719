"""/auth/confirm by a login at a provider, and users without a password at sensitive forms."""

import pytest

from tests.support.authenticators import Authenticator, add_passkey
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.federated import connected, logged_in_at_provider, remove_password
from tests.support.logins import make_stale
from tests.support.mails import MAIL, Post
from tests.support.provider_keys import DROP
from tests.support.provider_logins import come_back, with_provider
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts.models import User
from wsgiauth.testing import bearer, logged_in

SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
NEW_PASSWORD = "another unrelated phrase"


@pytest.fixture
def heard():
    return []


@pytest.fixture
def changes():
    """Return how the site differs from one that has providers alone."""
    mail = {name: MAIL[name] for name in ("MAIL_URL", "MAIL_FROM")}
    return {**mail, "FACTOR_KEY": FACTOR_KEY, "PASSKEYS": True}


@pytest.fixture
def site(settings, provider, heard, unsent, changes):
    changed = with_provider(settings, provider, **changes)
    send_mail = Post() if changed.MAIL_URL else None
    made = AuthMiddleware(echo, changed, on_event=heard.append, send_mail=send_mail)
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def tim(ada):
    """Return Ada, who has no password."""
    return remove_password(ada)


@pytest.fixture
def browser(site, tim, provider):
    """Return a browser with a stale session, which began at the provider."""
    identity = connected(site, tim, provider="google", issuer=provider.issuer, subject="ada")
    made = logged_in_at_provider(site, tim, identity)
    make_stale()
    return made


def confirm(browser, page, provider, subject="ada", status=303):
    """Press the button of the provider on the page to confirm; return the callback's answer."""
    sent = page.form.submit("provider", index=0, headers=SAME_ORIGIN, status=303)
    return come_back(browser, provider.authorize(sent.location, subject), status=status)


def to_confirm(browser, path):
    return browser.get(path, headers=BROWSER, status=302).follow(headers=BROWSER)


def texts(page):
    return " ".join(each.text for each in page.html.find_all("p"))


PAGES = (
    *("close", "email", "username", "identities", "totp", "passkeys", "recovery-codes"),
    "password",
)


@pytest.mark.promise(46)
def test_without_a_password_a_login_at_the_provider_opens_the_sensitive_pages(browser, provider):
    for name in PAGES:
        asked_for = browser.get(f"/auth/{name}", headers=BROWSER, status=302)
    page = asked_for.follow(headers=BROWSER)
    assert page.html.find("input", type="password") is None
    assert [each.text for each in page.html.select("main button")] == ["Continue with Google"]
    assert confirm(browser, page, provider).location == f"/auth/{name}"
    asked = {}
    for name in PAGES:
        opened = browser.get(f"/auth/{name}", headers=BROWSER, status=200)
        asked[name] = [each["name"] for each in opened.html.find_all("input", type="password")]
    assert asked == {**{name: [] for name in PAGES}, "password": ["new_password"]}


@pytest.mark.promise(46)
def test_without_a_password_each_sensitive_form_works(browser, provider, site, tim):
    confirm(browser, to_confirm(browser, "/auth/close"), provider)
    for path, fields, status in (
        ("/auth/username", {"username": "lovelace"}, 200),
        ("/auth/email", {"email": "ada@example.net"}, 202),
        ("/auth/keys", {"name": "export"}, 201),
        ("/auth/totp", {"name": "Phone"}, 201),
        ("/auth/password", {"new_password": NEW_PASSWORD}, 200),
        ("/auth/close", {}, 200),
    ):
        browser.post_json(path, fields, headers=SCRIPT, status=status)


@pytest.mark.every_database
@pytest.mark.promise(46)
def test_a_login_at_the_provider_renews_the_session_and_a_password_can_be_set(
    browser, provider, heard
):
    before = browser.cookies["wsgiauth"]
    page = to_confirm(browser, "/auth/password")
    page.mustcontain("Next: <strong>Set a password</strong>")
    page = confirm(browser, page, provider).follow(headers=BROWSER)
    assert browser.cookies["wsgiauth"] != before
    assert ("confirmed", "fed") in [(each.name, each.reason) for each in heard]
    page.form["new_password"] = NEW_PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert browser.get("/auth/me").json["has_password"] is True


@pytest.mark.promise(46)
def test_a_login_that_proves_nothing_is_a_page_and_no_loop(browser, provider, heard):
    provider.claims["auth_time"] = DROP
    refused = confirm(browser, to_confirm(browser, "/auth/password"), provider, status=403)
    refused.mustcontain("did not ask you to log in again")
    assert [each.reason for each in heard if each.name == "provider_failed"] == [
        "google: auth_time"
    ]
    page = refused.click("Confirm in another way", extra_environ={"HTTP_ACCEPT": "text/html"})
    assert (
        page.html.find("a", string="Set a password by a link")["href"]
        == "/auth/forgot?next=%2Fauth%2Fpassword"
    )
    provider.claims.clear()
    page = to_confirm(browser, "/auth/password")
    confirm(browser, page, provider, subject="grace", status=403)
    browser.get("/auth/password", headers=BROWSER, status=302)


def test_a_script_gets_the_url_of_the_provider(browser, provider):
    for send in (browser.post, browser.post_json):
        answer = send("/auth/confirm", {"provider": "google"}, headers=SCRIPT, status=200)
        assert answer.json["next"].startswith(f"{provider.origin}/authorize?")


def test_a_provider_that_is_not_connected_is_refused(browser):
    for name in ("work", "../google", "Google"):
        fields = {"provider": name}
        refused = browser.post_json("/auth/confirm", fields, headers=SCRIPT, status=422)
        assert refused.json["errors"].keys() == {"provider"}
    page = browser.post("/auth/confirm", fields, headers=SAME_ORIGIN, status=422)
    assert "An account of this provider cannot confirm" in page.html.find(role="alert").text


def test_a_user_with_a_password_can_choose(site, ada, provider):
    connected(site, ada, provider="google", issuer=provider.issuer, subject="ada")
    browser = logged_in(site, ada)
    page = browser.get("/auth/confirm?next=/x", headers=BROWSER)
    assert "enter your password, or log in again with another provider" in texts(page)
    by_password, by_provider = page.forms[0], page.forms[1]
    by_password["password"] = PASSWORD
    assert by_password.submit(headers=SAME_ORIGIN, status=303).location == "/x"
    sent = by_provider.submit("provider", index=0, headers=SAME_ORIGIN, status=303)
    answer = come_back(browser, provider.authorize(sent.location), status=303)
    assert answer.location == "/x"


@pytest.mark.promise(56)
def test_a_second_factor_is_asked_for_as_ever(site, browser, tim):
    app = add_app(site, tim)
    page = browser.get("/auth/confirm", headers=BROWSER)
    page.mustcontain(no=["Continue with Google", "Set a password by a link"])
    fields = {"provider": "google"}
    refused = browser.post_json("/auth/confirm", fields, headers=SCRIPT, status=422)
    assert refused.json["errors"] == {"code": ["Enter a code."]}
    fields["code"] = app.code()
    browser.post_json("/auth/confirm", fields, headers=SCRIPT, status=200)


def test_without_a_provider_the_password_is_asked_for_as_ever(client, site, ada):
    headers = bearer(site, ada)
    for name, status in (("google", 422), ("", 200)):
        fields = {"password": PASSWORD, "provider": name}
        client.post_json("/auth/confirm", fields, headers=headers, status=status)


@pytest.mark.promise(73)
def test_no_password_is_asked_for_or_compared_that_the_user_does_not_have(browser, monkeypatch):
    monkeypatch.delattr("bcrypt.checkpw")
    for fields in ({"password": PASSWORD}, {"password": ""}, {}):
        refused = browser.post_json("/auth/confirm", fields, headers=SCRIPT, status=422)
        text = "Your account has no password. Log in again at a provider."
        assert refused.json["errors"] == {"provider": [text]}


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "Ask the administrators of this site for help."),
        (
            {name: MAIL[name] for name in ("MAIL_URL", "MAIL_FROM")},
            "let us send you a link to set a password",
        ),
    ],
    ids=["without mail", "with mail"],
)
def test_a_user_without_any_proof_reads_what_to_do(site, tim, changes, text):
    page = logged_in(site, tim).get("/auth/confirm", headers=BROWSER)
    assert text in texts(page)
    assert len(page.forms) == 0
    assert (page.html.find("a", string="Set a password by a link") is not None) is bool(changes)
    assert User.get().hashed_password == ""


def test_the_pages_of_a_user_name_the_ways_to_log_in(site, browser, ada, tim):
    page = browser.get("/auth/sessions", headers=BROWSER)
    assert page.html.find("dt", string="Logged in with").find_next("dd").text == "Google"
    assert _ways(browser) == "Google (ada@example.com)"
    User.update(hashed_password=ada.hashed_password, security_stamp=User.security_stamp).execute()
    key = Authenticator()
    key.host, key.origin = "example.org", MAIL["PUBLIC_URL"]
    add_passkey(site, tim, "Laptop", key)
    assert _ways(browser) == "your password, Google (ada@example.com), the passkey Laptop"


def _ways(browser):
    page = browser.get("/auth/account", headers=BROWSER)
    return page.html.find("dt", string="You log in with").find_next("dd").text.strip()
