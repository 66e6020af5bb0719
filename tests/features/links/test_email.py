"""GET and POST /auth/email."""

import re

import pytest
from webtest import TestApp

from tests.support.logins import make_stale
from tests.support.mails import Post, with_mail
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.mail.outbox import Mail
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import logged_in

NEW = "ada@example.net"
TAKEN = "grace@example.org"
LIMIT = 3
SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}


@pytest.fixture
def site(settings, unsent):
    """Return a site whose thread sends nothing."""
    made = AuthMiddleware(echo, with_mail(settings, MAILS_PER_ACCOUNT=LIMIT), send_mail=Post())
    yield made
    storage.discard_connection(storage.current())


@pytest.fixture
def grace(site, settings):
    return create_user("Grace", TAKEN, PASSWORD, settings=settings)


@pytest.fixture
def browser(site, ada):
    return logged_in(site, ada)


def ask(client, email, headers=None, status="*"):
    return client.post_json("/auth/email", {"email": email}, headers=headers, status=status)


def shown(answer):
    """Return all of an answer but the time that has passed."""
    headers = [each for each in answer.headerlist if each[0] != "Retry-After"]
    return answer.status, headers, answer.body


def without_values(sql):
    return re.sub(r"'[^']*'|\b\d+\b", "?", sql)


@pytest.mark.every_database
@pytest.mark.promise(39)
@pytest.mark.usefixtures("unsent")
def test_a_browser_asks_for_a_link_and_keeps_its_address(browser, ada):
    page = browser.get("/auth/account", headers=BROWSER).click("Change your email address")
    assert page.html.strong.text == EMAIL
    form = page.forms[1]
    form["email"] = NEW
    done = form.submit(headers=SAME_ORIGIN, status=202)
    done.mustcontain("Check your email", NEW, f'your address stays <strong dir="auto">{EMAIL}')
    (mail,) = Mail.select()
    assert (mail.kind, mail.name, mail.user_id) == ("address", NEW, ada.id)
    assert User.get().email == EMAIL
    again = done.forms[0]
    assert done.html.find(id="asked").text == again["email"].value == NEW
    again.submit(headers=SAME_ORIGIN, status=202).forms[0].submit(headers=SAME_ORIGIN, status=202)
    again.submit(headers=SAME_ORIGIN, status=429)
    assert [each.name for each in Mail.select()] == [NEW] * LIMIT


@pytest.mark.usefixtures("unsent")
def test_an_address_that_is_not_verified_is_verified_before_another_is_offered(browser, ada):
    page = browser.get("/auth/account", headers=BROWSER)
    assert "Your email address is not verified." in page
    page = page.click("Verify it")
    assert "not verified yet" in page
    verify, change = page.html.main.find_all("form")
    assert verify.button.has_attr("autofocus")
    assert verify.button.get("class") is None  # the filled one
    assert change.parent.name == "details"
    assert not change.parent.has_attr("open")
    done = page.forms[0].submit(headers=SAME_ORIGIN, status=202)
    assert "Until then" not in done
    (mail,) = Mail.select()
    assert mail.name == EMAIL


def test_a_refused_verification_opens_nothing(browser, unsent):
    for _ in range(LIMIT):
        browser.post("/auth/email", {"email": EMAIL}, headers=SAME_ORIGIN, status=202)
    page = browser.post("/auth/email", {"email": EMAIL}, headers=SAME_ORIGIN, status=429)
    assert not page.html.details.has_attr("open")


@pytest.mark.every_database
def test_a_program_asks_for_a_link(client, ada, bearer):
    done = ask(client, NEW, bearer(ada), 202)
    text = "An email with a link is on its way. Open the link while you are logged in."
    assert done.json == {"detail": text}


@pytest.mark.every_database
def test_a_free_and_a_taken_address_have_the_same_answers_and_statements(
    client, ada, grace, bearer, queries, stopped_throttle
):
    def ask_often(email, user):
        """Return what is answered to an address, and with which statements."""
        answers, headers = [], bearer(user)
        statements = [
            [
                without_values(sql)
                for sql in queries(lambda: answers.append(ask(client, email, headers)))
            ]
            for _ in range(LIMIT + 2)  # the last two are above the limit
        ]
        return [shown(each) for each in answers], statements

    ask(client, "first@example.org", bearer(ada))  # also begins the count of the client
    lin, ida, ivo = (
        create_user(name, f"{name}@example.com", PASSWORD, settings=client.app.site.settings)
        for name in ("Lin", "Ida", "Ivo")
    )
    update_user(ida, is_active=False)
    kit = create_user("Kit", "kit@example.com", PASSWORD, settings=client.app.site.settings)
    free = ask_often(NEW, lin)
    assert [status[:3] for status, *_ in free[0]] == ["202"] * LIMIT + ["429"] * 2
    assert ask_often(TAKEN, ivo) == free
    assert ask_often(ida.email, kit) == free


def test_a_free_and_a_taken_address_get_the_same_page(browser, grace):
    def page(email):
        answer = browser.post("/auth/email", {"email": email}, headers=SAME_ORIGIN, status=202)
        return answer.text.replace(email, "")

    assert page(NEW) == page(TAKEN)


@pytest.mark.usefixtures("unsent")
def test_what_is_no_address_is_refused_and_not_counted(client, browser, ada, bearer):
    headers = bearer(ada)
    for email in ("", "ada", "ada@", "a b@example.org", f"{'a' * 251}@b.c"):
        refused = ask(client, email, headers, 422)
        assert refused.json["errors"].keys() == {"email"}, email
        page = browser.post("/auth/email", {"email": email}, headers=SAME_ORIGIN, status=422)
        assert page.html.find(id="email-error").text == refused.json["errors"]["email"][0]
        _, change = page.html.main.find_all("form")
        assert change.parent.has_attr("open")
        (focused,) = page.html.find_all(autofocus=True)
        assert (focused["name"], focused["value"]) == ("email", email)
    ask(client, NEW, headers, 202)
    assert Mail.select().count() == 1


def test_a_verified_address_is_not_asked_for_again_and_can_only_be_changed(browser, ada):
    update_user(ada, email_verified_at=utc_now(), email_verified_by="link")
    page = browser.get("/auth/account", headers=BROWSER)
    assert "Verify it" not in page
    assert page.html.find("dt", string="Email address").find_next("dd").text == f"{EMAIL} verified"
    (change,) = browser.get("/auth/email", headers=BROWSER).html.main.find_all("form")
    assert change.find(attrs={"name": "email"}).has_attr("autofocus")
    refused = ask(browser, EMAIL, SCRIPT, 422)
    text = "This is already your address, and it is verified."
    assert refused.json["errors"] == {"email": [text]}


@pytest.mark.promise(36)
def test_an_address_that_only_a_provider_has_verified_can_be_verified_here(browser, ada):
    update_user(ada, email_verified_at=utc_now(), email_verified_by="https://accounts.example.com")
    assert "Verify it" in browser.get("/auth/account", headers=BROWSER)
    page = browser.get("/auth/email", headers=BROWSER)
    assert "not verified with a link of this site" in page.html.main.text
    page.forms[0].submit(headers=SAME_ORIGIN, status=202)
    assert [each.name for each in Mail.select()] == [EMAIL]


def test_one_user_cannot_send_mails_to_many_addresses(client, ada, grace, bearer):
    for number in range(LIMIT):
        ask(client, f"user{number}@example.net", bearer(ada), 202)
    refused = ask(client, NEW, bearer(ada), 429)
    assert 0 < int(refused.headers["Retry-After"]) <= 3600
    ask(client, NEW, bearer(grace), 202)


def test_many_users_cannot_send_mails_to_one_address(client, ada, grace, bearer):
    for _ in range(LIMIT):
        ask(client, NEW, bearer(ada), 202)
    ask(client, NEW.upper(), bearer(grace), 429)
    ask(client, "grace@example.net", bearer(grace), 202)


def test_users_and_strangers_who_ask_do_not_keep_each_other_from_asking(client, ada, bearer):
    headers = bearer(ada)
    for status in [202] * LIMIT + [429]:
        client.post_json("/auth/forgot", {"username": NEW}, status=status)
    ask(client, NEW, headers, 202)  # is counted for the user, too
    for status in [202] * (LIMIT - 1) + [429]:
        ask(client, EMAIL, headers, status)
    for status in [202] * LIMIT + [429]:
        client.post_json("/auth/forgot", {"username": EMAIL}, status=status)


def test_other_users_who_ask_for_an_address_do_not_keep_its_user_from_asking(
    client, ada, grace, bearer
):
    for status in [202] * LIMIT + [429]:
        ask(client, EMAIL, bearer(grace), status)
    ask(client, EMAIL, bearer(ada), 202)


def test_the_accounts_that_have_an_address_in_turn_have_one_count(client, ada, grace, bearer):
    for _ in range(LIMIT):
        ask(client, EMAIL, bearer(ada), 202)
    update_user(ada, email=NEW)
    update_user(grace, email=EMAIL)
    ask(client, EMAIL, bearer(grace), 429)


def test_an_address_of_clients_is_counted(settings, ada, bearer, unsent):
    site = AuthMiddleware(echo, with_mail(settings, MAILS_PER_ADDRESS=1), send_mail=Post())
    ask(TestApp(site), NEW, bearer(ada), 202)
    ask(TestApp(site), "other@example.net", bearer(ada), 429)


@pytest.mark.promise(46)
def test_a_stale_browser_is_asked_for_its_password_and_comes_back(browser, ada):
    make_stale()
    asked = browser.get("/auth/email", headers=BROWSER, status=302)
    assert asked.location == "/auth/confirm?next=%2Fauth%2Femail"
    fields = {"email": NEW}
    asked = browser.post("/auth/email", fields, headers=SAME_ORIGIN, status=303)
    assert asked.location == "/auth/confirm?resend=1&next=%2Fauth%2Femail"
    assert not Mail.select().exists()
    page = browser.get(asked.location, headers=BROWSER)
    page.form["password"] = PASSWORD
    page = page.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    assert page.request.path == "/auth/email"


@pytest.mark.promise(46)
def test_a_stale_program_is_challenged(client, ada, bearer):
    headers = bearer(ada)
    make_stale()
    refused = ask(client, NEW, headers, 401)
    assert refused.json["code"] == "insufficient_user_authentication"
    assert 'max_age="900"' in refused.headers["WWW-Authenticate"]
    assert not Mail.select().exists()


@pytest.mark.promise(17)
def test_another_site_cannot_send_the_form_and_an_anonymous_client_is_asked_to_log_in(
    browser, site
):
    headers = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}
    browser.post("/auth/email", {"email": NEW}, headers=headers, status=403)
    assert not Mail.select().exists()
    anonymous = TestApp(site)
    ask(anonymous, NEW, status=401)
    answer = anonymous.get("/auth/email", headers=BROWSER, status=302)
    assert answer.location == "/auth/login?next=%2Fauth%2Femail"


def test_without_mail_there_is_no_such_page_and_no_link(settings, ada):
    site = AuthMiddleware(echo, settings)
    browser = logged_in(site, User.get())
    for path in ("/auth/email", "/auth/verify"):
        browser.get(path, status=404)
    page = browser.get("/auth/account", headers=BROWSER)
    assert "/auth/email" not in page
    assert "verified" not in page
    assert USERNAME in page
