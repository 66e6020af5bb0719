"""GET and POST /auth/forgot."""

import re

import pytest
from webtest import TestApp

from tests.support.mails import Post, with_mail
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import create_user, update_user
from wsgiauth.mail.outbox import Mail
from wsgiauth.testing import logged_in

LIMIT = 3
NAMES = {
    "known": USERNAME,
    "known address": EMAIL,
    "unknown": "nobody",
    "unknown address": "nobody@example.org",
    "inactive": "Grace",
    "no name": "four finch words",
}


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def site(settings, post):
    made = AuthMiddleware(echo, with_mail(settings, MAILS_PER_ACCOUNT=LIMIT), send_mail=post)
    yield made
    made.site.outbox.stop()
    storage.discard_connection(storage.current())


@pytest.fixture
def people(site, settings):
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    update_user(grace, is_active=False)
    return ada


def ask(client, name, status="*"):
    return client.post_json("/auth/forgot", {"username": name}, status=status)


def shown(answer):
    """Return all of an answer but the time that has passed."""
    headers = [each for each in answer.headerlist if each[0] != "Retry-After"]
    return answer.status, headers, answer.body


def without_values(sql):
    """Return a statement without values and the random names of savepoints."""
    return re.sub(r"'[^']*'|\b\d+\b|\bs[0-9a-f]{32}\b", "?", sql)


def test_who_forgot_the_password_is_helped_where_it_is_asked_for(site, people):
    browser = logged_in(site, people)
    for path in ("/auth/password", "/auth/confirm"):
        link = browser.get(path, headers=BROWSER).html.find("a", string="Forgot your password?")
        asked = browser.get(link["href"], headers=BROWSER).form
        asked["username"] = USERNAME
        sent = asked.submit(headers=SAME_ORIGIN, status=202)
        assert sent.html.find("a", string="try again")["href"] == link["href"], path


def test_the_form_is_linked_from_the_login_and_leads_back(client):
    login = client.get("/auth/login", headers=BROWSER)
    page = login.click("Forgot it")
    assert page.request.path == "/auth/forgot"
    assert "Forgot your password?" in page
    assert page.click("Back to the login").request.path == "/auth/login"


@pytest.mark.every_database
def test_a_known_name_gets_a_mail(client, site, people, post):
    page = client.get("/auth/forgot", headers=BROWSER)
    page.form["username"] = EMAIL
    done = page.form.submit(headers=SAME_ORIGIN, status=202)
    assert "Check your email" in done
    site.site.outbox.stop()
    site.site.outbox.deliver()
    assert post.recipients == [EMAIL]
    assert TestApp(site).get(post.links[0].removeprefix("https://example.org"), headers=BROWSER)


def test_spaces_around_a_name_do_not_count(client, site, people, post, unsent):
    for typed in (f"{EMAIL} ", f"\ufeff{EMAIL}\u200b", f"\t{EMAIL}\n"):
        ask(client, typed, 202)
    ask(client, f" {EMAIL}", 429)
    site.site.outbox.deliver()
    assert post.recipients == [EMAIL] * LIMIT


@pytest.mark.every_database
@pytest.mark.promise(32)
def test_every_name_has_the_same_answers_and_the_same_statements(client, people, queries, unsent):
    def ask_often(name):
        """Return what is answered to a name, and with which statements."""
        answers = []
        statements = [
            [without_values(sql) for sql in queries(lambda: answers.append(ask(client, name)))]
            for _ in range(LIMIT + 2)  # the last two are above the limit
        ]
        return [shown(each) for each in answers], statements

    ask(client, "someone")  # the first request of an address also begins its count
    answers, statements = ask_often(USERNAME)
    assert [status[:3] for status, *_ in answers] == ["202"] * LIMIT + ["429"] * 2
    assert min(map(len, statements)) > 0
    for name in NAMES.values():
        if name != USERNAME:
            assert ask_often(name) == (answers, statements)


@pytest.mark.promise(32)
def test_every_name_gets_the_same_page(client, people, unsent):
    first = client.post("/auth/forgot", {"username": "someone"}, headers=SAME_ORIGIN)
    for name in NAMES.values():
        page = client.post("/auth/forgot", {"username": name}, headers=SAME_ORIGIN, status=202)
        assert shown(page) == shown(first), name
        assert name not in page.text.replace("such as ada@example.org", "")  # of an error message


@pytest.mark.promise(32)
def test_a_mail_server_that_is_away_changes_nothing(client, people, post, site):
    post.errors += [OSError("away")] * 9
    assert ask(client, USERNAME).status_int == 202
    site.site.outbox.stop()
    assert Mail.select().count() == 1


def test_a_name_is_counted_in_every_spelling(client, people, unsent):
    for name in (USERNAME, USERNAME.upper(), USERNAME.lower()):
        ask(client, name, 202)
    refused = ask(client, USERNAME, 429)
    assert 0 < int(refused.headers["Retry-After"]) <= 3600
    ask(client, EMAIL, 202)


def test_an_address_is_counted(settings, unsent, post):
    site = AuthMiddleware(echo, with_mail(settings, MAILS_PER_ADDRESS=2), send_mail=post)
    client = TestApp(site)
    for number in range(2):
        ask(client, f"user{number}", 202)
    ask(client, "user2", 429)
    assert Mail.select().count() == 2


@pytest.mark.promise(17)
def test_a_name_is_required_and_another_site_cannot_ask(client):
    assert ask(client, "", 422).json["errors"].keys() == {"username"}
    page = client.post("/auth/forgot", {"username": ""}, headers=SAME_ORIGIN, status=422)
    assert "Enter your username or email address." in page
    headers = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}
    client.post("/auth/forgot", {"username": USERNAME}, headers=headers, status=403)
    assert Mail.select().count() == 0


def test_without_mail_there_is_no_such_page(settings):
    client = TestApp(AuthMiddleware(echo, settings))
    for path in ("/auth/forgot", "/auth/reset", "/auth/reset?token=x"):
        client.get(path, status=404)
        client.post_json(path, {}, status=404)
    assert "Forgot" not in client.get("/auth/login", headers=BROWSER)
    assert not {"/forgot", "/reset"} & client.get("/auth/openapi.json").json["paths"].keys()
