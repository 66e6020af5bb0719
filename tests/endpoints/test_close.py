"""GET and POST /auth/close."""

import time

import pytest
from webtest import TestApp

from tests.support.logins import make_stale
from tests.support.mails import Post, with_mail
from tests.support.sites import (
    BROWSER,
    EMAIL,
    PASSWORD,
    SAME_ORIGIN,
    USERNAME,
    echo,
)
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import create_user, delete_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.features.links.address_links import make_address_link
from wsgiauth.testing import logged_in

SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
NUMBER = 987_654_321_987  # of a user, which is found in no other value by chance
AUDIT = "wsgiauth_event"


@pytest.fixture
def browser(site, ada):
    return logged_in(site, ada)


def submit(client, headers, status):
    """Send the form as a browser does, which names its type although it has no fields."""
    headers = {**headers, "Content-Type": "application/x-www-form-urlencoded"}
    return client.post("/auth/close", headers=headers, status=status)


def close(client, headers=None, status="*"):
    return client.post_json("/auth/close", {}, headers=headers, status=status)


@pytest.mark.every_database
@pytest.mark.promise(40)
def test_a_browser_closes_the_account_and_is_told_so_without_a_cookie(site, browser, ada):
    other = logged_in(site, ada)
    page = browser.get("/auth/account", headers=BROWSER).click("Close your account")
    page.mustcontain(USERNAME, EMAIL, "sessions and API keys", "This cannot be undone.")
    assert len(page.html.main.find_all("button")) == 1
    done = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert done.location == "/auth/login?done=closed"
    assert "Max-Age=0" in done.headers.getall("Set-Cookie")[0]
    assert "wsgiauth" not in browser.cookies
    assert other.get("/").json["user"] is None
    assert not User.select().exists()
    done.follow(headers=BROWSER).mustcontain("Your account is closed")


@pytest.mark.every_database
@pytest.mark.promise(40)
def test_a_program_closes_the_account_and_the_names_are_free(client, settings, ada, bearer):
    headers = bearer(ada)
    assert close(client, headers, 200).json == {"detail": "Account closed."}
    client.get("/auth/me", headers=headers, status=401)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)


def test_a_script_loses_the_cookie(browser):
    assert "Max-Age=0" in close(browser, SCRIPT, 200).headers["Set-Cookie"]


def test_below_a_prefix_the_browser_stays_below_it(site, ada, bearer):
    client = TestApp(site, extra_environ={"SCRIPT_NAME": "/shop"})
    assert submit(client, bearer(ada) | SAME_ORIGIN, 303).location == "/shop/auth/login?done=closed"


def test_get_and_head_close_nothing(browser):
    browser.get("/auth/close", headers=BROWSER, status=200)
    browser.head("/auth/close", headers=BROWSER, status=200)
    assert User.select().exists()


@pytest.mark.every_database
def test_the_last_active_superuser_stays(client, browser, ada, bearer, settings):
    ada.is_superuser = True
    ada.save()
    refused = close(client, bearer(ada), 409)
    assert refused.json["code"] == "last_superuser"
    page = submit(browser, SAME_ORIGIN, 409)
    assert "Make another user a superuser first." in page.html.find(role="alert").text
    create_user("Grace", "grace@example.org", PASSWORD, settings=settings, is_superuser=True)
    close(client, bearer(ada), 200)


@pytest.mark.promise(46)
def test_a_stale_login_is_asked_for_a_proof(client, browser, ada, bearer):
    headers = bearer(ada)
    make_stale()
    refused = close(client, headers, 401)
    assert refused.json["code"] == "insufficient_user_authentication"
    asked = submit(browser, SAME_ORIGIN, 303)
    assert asked.location == "/auth/confirm?resend=1&next=%2Fauth%2Fclose"
    assert User.select().exists()


@pytest.mark.promise(17)
def test_another_site_cannot_close_it(browser):
    headers = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}
    submit(browser, headers, 403)
    assert User.select().exists()


def test_a_user_who_is_deleted_meanwhile_is_not_logged_in(client, ada, bearer, monkeypatch):
    def delete_twice(user):
        delete_user(user)
        delete_user(user)

    monkeypatch.setattr("wsgiauth.endpoints.close.delete_user", delete_twice)
    assert close(client, bearer(ada), 401).json["code"] == "invalid_token"


# What remains.


def traces(*values):
    """Return where one of the values is found, also within another value: table and value."""
    database = storage.current()
    sought = [str(value).lower() for value in values]
    return {
        (table, value)
        for table in database.get_tables()
        for row in database.execute_sql(f"SELECT * FROM {table}").fetchall()  # noqa: S608
        for value in sought
        if any(value in str(stored).lower() for stored in row)
    }


@pytest.fixture
def mailing(settings, unsent):
    """Return a site that sends mails only when a test lets it."""
    site = AuthMiddleware(echo, with_mail(settings), send_mail=Post())
    yield site
    storage.discard_connection(storage.current())


@pytest.mark.every_database
@pytest.mark.promise(40)
def test_no_table_has_anything_of_the_user_but_their_number_in_the_audit_trail(mailing, settings):
    name, email = "Lovelace-Byron", "lovelace.byron@example.org"
    user = create_user(name, email, PASSWORD, settings=settings)
    User.update(id=NUMBER).where(User.id == user.id).execute()
    user = User.get()
    user.grant("reports.publish")
    browser = logged_in(mailing, user)
    credentials = {"username": name, "password": PASSWORD, "refresh": True}
    browser.post_json("/auth/login", credentials)
    browser.post_json("/auth/login", {**credentials, "password": "wrong"}, status=401)
    for typed in (name, email):
        browser.post_json("/auth/forgot", {"username": typed})
    browser.post_json("/auth/email", {"email": "byron@example.net"}, headers=SCRIPT)
    for link in (
        make_reset_link,
        lambda *of, **to: make_address_link(of[0], "byron@example.net", *of[1:], **to),
    ):
        link(user, mailing.site.settings, mount="/auth", now=time.time())
    sought = (NUMBER, name, email, "byron@example.net")
    assert {table for table, _ in traces(*sought)} >= {
        "wsgiauth_user",
        "wsgiauth_permission",
        "wsgiauth_session",
        "wsgiauth_one_time",
        "wsgiauth_mail",
    }
    close(browser, SCRIPT, 200)
    mailing.site.outbox.deliver()  # a mail that was asked for under a name alone is looked up
    assert traces(*sought) <= {(AUDIT, str(NUMBER))}
