"""GET and POST /auth/register with VERIFICATION."""

import re
from functools import partial

import pytest
from webtest import TestApp

from tests.support.mails import MAIL, Post, with_mail
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.mail.outbox import Mail
from wsgiauth.testing import logged_in

LIMIT = 3
NEW = "new@example.org"
ADDRESSES = {
    "known": EMAIL,
    "known in capitals": EMAIL.upper(),
    "unknown": "nobody@example.org",
    "inactive": "grace@example.org",
    "international": "ada@bücher.example",
}


@pytest.fixture
def post():
    return Post()


@pytest.fixture
def make_site(settings, post):
    made = []

    def make(**changes):
        changed = with_mail(settings, VERIFICATION=True, MAILS_PER_ACCOUNT=LIMIT, **changes)
        made.append(AuthMiddleware(echo, changed, send_mail=post))
        return made[-1]

    yield make
    for each in made:
        each.site.outbox.stop()
    storage.discard_connection(storage.current())


@pytest.fixture
def site(make_site):
    return make_site()


@pytest.fixture
def people(site, settings):
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    update_user(grace, is_active=False)
    return ada


def register(client, email, username="Lovelace", status="*", **fields):
    body = {"username": username, "email": email, **fields}
    return client.post_json("/auth/register", body, status=status)


def send_all(site):
    site.site.outbox.stop()
    site.site.outbox.deliver()


def shown(answer):
    """Return all of an answer but the time that has passed, and the sealed fields of the form."""
    headers = [
        (name, re.sub("=[^;]+", "=", value, count=1) if name == "Set-Cookie" else value)
        for name, value in answer.headerlist
        if name not in ("Retry-After", "Content-Length")
    ]
    # The page repeats the address as it was typed, in one place.
    return answer.status, headers, re.sub(rb'(?<=id="asked">)[^<]+', b"", answer.body, count=1)


def without_values(sql):
    return re.sub(r"'[^']*'|\b\d+\b", "?", sql)


@pytest.mark.every_database
@pytest.mark.promise(37)
def test_a_browser_registers_by_the_link_of_a_mail(client, site, post):
    page = client.get("/auth/register", headers=BROWSER)
    assert "password" not in page.form.fields
    page.form["username"] = "Lovelace"
    page.form["email"] = NEW
    done = page.form.submit(headers=SAME_ORIGIN, status=202)
    assert "Check your email" in done
    assert User.select().count() == 0
    send_all(site)
    assert post.recipients == [NEW]
    page = client.get(post.links[0].removeprefix(MAIL["PUBLIC_URL"]), headers=BROWSER)
    page.form["password"] = PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert client.get("/auth/me").json["username"] == "Lovelace"
    assert User.get().email_verified_at is not None


@pytest.mark.promise(37)
@pytest.mark.usefixtures("unsent")
def test_a_password_that_is_sent_is_ignored(client, site, post):
    register(client, NEW, password="a password of a stranger", status=202)
    (mail,) = Mail.select()
    assert "stranger" not in mail.data
    send_all(site)
    assert User.select().count() == 0
    assert "stranger" not in OneTimeSecret.get().data


@pytest.mark.every_database
@pytest.mark.promise(38)
def test_every_address_has_the_same_answers_and_the_same_statements(
    client, people, queries, unsent
):
    def ask_often(email):
        """Return what is answered to an address, and with which statements."""
        answers = []
        statements = [
            [
                without_values(sql)
                for sql in queries(lambda: answers.append(register(client, email)))
            ]
            for _ in range(LIMIT + 2)  # the last two are above the limit
        ]
        return [shown(each) for each in answers], statements

    register(client, "someone@example.org")  # the first request also begins a count
    answers, statements = ask_often(NEW)
    assert [status[:3] for status, *_ in answers] == ["202"] * LIMIT + ["429"] * 2
    assert "wsgiauth_user" not in str(statements)
    for email in ADDRESSES.values():
        if email != EMAIL.upper():  # counted with the same one in small letters
            assert ask_often(email) == (answers, statements)


@pytest.mark.promise(38)
def test_every_address_and_name_gets_the_same_page(client, people, unsent):
    def ask(username, email):
        fields = {"username": username, "email": email}
        page = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=202)
        assert page.text.count('id="asked"') == 1
        return page

    expected = shown(ask("someone", "someone@example.org"))
    names = [("Lovelace", email) for email in ADDRESSES.values()]
    for username, email in (*names, (USERNAME, EMAIL), (USERNAME, "other@example.org")):
        page = ask(username, email)
        assert page.html.find(id="asked").text == email
        assert shown(page) == expected, (username, email)


@pytest.mark.promise(38)
def test_a_mail_server_that_is_away_changes_nothing(client, post, site):
    post.errors += [OSError("away")] * 9
    register(client, NEW, status=202)
    site.site.outbox.stop()
    assert Mail.select().count() == 1


@pytest.mark.every_database
@pytest.mark.promise(34)
def test_an_active_account_gets_a_link_to_choose_a_new_password(client, site, people, post):
    register(client, EMAIL.upper(), status=202)
    send_all(site)
    assert post.recipients == [EMAIL]
    (link,) = post.links
    assert "/auth/reset?token=" in link
    assert client.get(link.removeprefix(MAIL["PUBLIC_URL"]), headers=BROWSER)


def test_an_inactive_account_gets_nothing(client, site, people, post):
    register(client, "grace@example.org", status=202)
    send_all(site)
    assert post.messages == []
    assert Mail.select().count() == 0


@pytest.mark.promise(38)
def test_a_name_that_breaks_a_rule_is_refused_without_a_look_at_the_accounts(
    client, people, queries
):
    def ask(fields, wrong):
        refused = client.post_json("/auth/register", fields, status=422)
        assert refused.json["errors"].keys() == wrong
        page = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=422)
        assert page.form["username"].value == fields["username"]
        assert page.form["email"].value == fields["email"]

    for fields, wrong in (
        ({"username": "", "email": ""}, {"username", "email"}),
        ({"username": "a b", "email": EMAIL}, {"username"}),
        ({"username": USERNAME, "email": "ada"}, {"email"}),
    ):
        assert queries(partial(ask, fields, wrong)) == [], wrong
    assert Mail.select().count() == 0


def test_an_address_is_counted_in_every_spelling(client, unsent):
    for email in (NEW, NEW.upper(), NEW.title()):
        register(client, email, status=202)
    refused = register(client, NEW, status=429)
    assert 0 < int(refused.headers["Retry-After"]) <= 3600
    register(client, "other@example.org", status=202)


def test_a_client_is_counted(make_site, unsent):
    client = TestApp(make_site(MAILS_PER_ADDRESS=2))
    for number in range(2):
        register(client, f"{number}@example.org", status=202)
    register(client, "2@example.org", status=429)
    assert Mail.select().count() == 2


@pytest.mark.promise(17)
def test_another_site_cannot_ask_and_a_user_who_is_logged_in_is_told_so(client, site, people):
    headers = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}
    fields = {"username": "Lovelace", "email": NEW}
    client.post("/auth/register", fields, headers=headers, status=403)
    assert Mail.select().count() == 0
    page = logged_in(site, people).get("/auth/register", headers=BROWSER)
    assert "You are logged in" in page


def test_the_login_leads_where_the_registration_was_to(client):
    page = client.get("/auth/register?next=/reports", headers=BROWSER)
    page.form["username"] = "Lovelace"
    page.form["email"] = NEW
    done = page.form.submit(headers=SAME_ORIGIN, status=202)
    assert done.click("Back to the login").form["next"].value == "/reports"


def test_it_is_described_as_it_answers(client, settings):
    with_it = client.get("/auth/openapi.json").json["paths"]["/register"]["post"]
    without = TestApp(AuthMiddleware(echo, settings)).get("/auth/openapi.json").json
    assert {*with_it["responses"]} & {"201", "202", "409"} == {"202"}
    assert {*without["paths"]["/register"]["post"]["responses"]} & {"201", "202"} == {"201"}
    fields = with_it["requestBody"]["content"]["application/json"]["schema"]["required"]
    assert fields == ["username", "email"]


def test_where_registration_is_off_it_stays_off(make_site):
    client = TestApp(make_site(REGISTRATION=False))
    register(client, NEW, status=404)
    client.get("/auth/verify", headers=BROWSER, status=410)


@pytest.mark.promise(37)
@pytest.mark.parametrize("email", [NEW, EMAIL], ids=["new", "taken"])
def test_a_browser_asks_for_another_email_after_30_seconds(
    client, site, post, people, email, monkeypatch
):
    now = site.site.tokens.now()
    monkeypatch.setattr(site.site.tokens, "now", lambda: now)
    fields = {"username": "Lovelace", "email": email, "next": "/reports"}
    page = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=202)
    assert email not in page.headers["Set-Cookie"]
    send_all(site)
    early = page.form.submit("again", headers=SAME_ORIGIN, status=429)
    assert early.headers["Retry-After"] == "30"
    assert "Try again in 30 seconds." in early.html.find(role="alert").text
    assert early.html.h1.text == "Check your email"
    send_all(site)
    assert post.recipients == [email]
    monkeypatch.setattr(site.site.tokens, "now", lambda: now + 30)
    again = early.form.submit("again", headers=SAME_ORIGIN, status=202)
    assert again.html.main.text == page.html.main.text
    assert again.form["next"].value == "/reports"
    send_all(site)
    assert post.recipients == [email] * 2
    monkeypatch.setattr(site.site.tokens, "now", lambda: now + 60)
    again.form.submit("again", headers=SAME_ORIGIN, status=202)
    monkeypatch.setattr(site.site.tokens, "now", lambda: now + 90)
    again.form.submit("again", headers=SAME_ORIGIN, status=429)  # MAILS_PER_ACCOUNT


def test_the_address_can_be_changed_where_it_was_typed(client, unsent):
    fields = {"username": "Lovelace", "email": NEW, "next": "/reports"}
    page = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=202)
    urls = [each["href"] for each in page.html.select("[href]:not([rel=icon])")]
    assert not any("@" in url or "%40" in url for url in urls)
    form = page.click("Change it").form
    assert {name: form[name].value for name in fields} == fields
    assert "autofocus" in form["email"].attrs
    plain = client.get("/auth/register", headers=BROWSER).form
    assert (plain["username"].value, plain["email"].value) == ("", "")
    assert "autofocus" in plain["username"].attrs


def test_the_page_says_for_how_long_to_wait(client, site, unsent, monkeypatch):
    now = site.site.tokens.now()
    fields = {"username": "Lovelace", "email": NEW}
    for seconds, answer, left in ((0, 202, "30"), (12, 429, "18")):
        monkeypatch.setattr(site.site.tokens, "now", lambda after=seconds: now + after)
        page = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=answer)
        assert page.html.select_one("[name=again]")["data-pause"] == left
        assert page.html.find(id="asked").text == NEW
        fields = {"again": "on"}


def test_a_browser_that_has_not_registered_gets_the_form(client, site):
    fields = {"again": "on", "next": "/reports"}
    answer = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=303)
    assert answer.location == "/auth/register?next=%2Freports"
