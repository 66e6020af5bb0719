"""GET and POST /auth/code."""

import json
import re
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.features.links.test_forgot import shown, without_values
from tests.features.login_codes.conftest import WRONG, Program, Tab, proven
from tests.support.mails import MAIL, Post
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, Settings, change_password, delete_user
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.login_codes.parts import ASKED, WAITING
from wsgiauth.mail.outbox import Mail
from wsgiauth.testing import logged_in, mailbox

LIMIT = 3
NAMES = {
    "known": USERNAME,
    "known address": EMAIL,
    "unknown": "nobody",
    "unknown address": "nobody@example.org",
    "inactive": "Grace",
    "unproven": "Lovelace",
    "no name": "four finch words",
}


@pytest.fixture
def people(ada, settings):
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    update_user(grace, is_active=False)
    create_user("Lovelace", "lin@example.org", PASSWORD, settings=settings)
    return ada


def test_the_login_page_has_a_button_that_asks_with_the_name_that_was_typed(client, ada, site):
    page = client.get("/auth/login?next=/reports", headers=BROWSER)
    button = page.html.select_one("button:-soup-contains('Email me a code')")
    assert button["formaction"] == "/auth/code"
    assert "formnovalidate" in button.attrs
    form = page.form
    form["username"] = USERNAME
    form["remember"] = "on"
    sent = client.post("/auth/code", form.submit_fields(), headers=SAME_ORIGIN, status=303)
    assert sent.headers["Location"] == "/auth/code/enter?next=%2Freports"
    assert mailbox(site)[-1]["To"] == EMAIL


def test_a_browser_gets_the_request_as_a_cookie_of_ten_minutes_and_a_page_with_one_field(tab, ada):
    sent = tab.send()
    cookie, asked = sent.headers.getall("Set-Cookie")
    assert cookie.startswith(f"wsgiauth{WAITING.suffix}=")
    assert "Max-Age=600; Path=/; HttpOnly; SameSite=Lax" in asked
    assert "Max-Age=600; Path=/; HttpOnly; SameSite=Lax" in cookie
    secret = cookie.partition("=")[2].partition(";")[0]
    assert secret not in sent.headers["Location"]
    page = sent.follow(headers=BROWSER)
    assert secret not in page.text
    assert page.form.action == "/auth/code/enter"
    (field,) = [each for each in page.html.find_all("input") if each["type"] != "hidden"]
    assert field["name"] == "code"
    assert field["inputmode"] == "numeric"
    assert field["autocomplete"] == "one-time-code"


def test_a_script_gets_the_cookie_and_a_program_the_request(tab, program, ada):
    headers = {**SAME_ORIGIN, "Accept": "application/json"}
    answer = tab.client.post("/auth/code", {"username": USERNAME}, headers=headers, status=202)
    assert answer.json.keys() == {"detail"}
    assert tab.client.cookies.keys() == {f"wsgiauth{each.suffix}" for each in (WAITING, ASKED)}
    answer = program.client.post_json("/auth/code", {"username": USERNAME}, status=202)
    assert answer.json.keys() == {"detail", "request"}
    assert "Set-Cookie" not in answer.headers


def test_the_page_to_ask_leads_on_and_back(tab, ada):
    page = tab.client.get("/auth/code?next=/reports", headers=BROWSER)
    assert "Enter the code that you have" not in page
    assert page.click("Back to the login").request.path_qs == "/auth/login?next=%2Freports"
    page.form["username"] = USERNAME
    sent = page.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    again = sent.click("ask for another code")
    entered = again.click("Enter the code that you have")
    assert entered.request.path_qs == "/auth/code/enter?next=%2Freports"
    assert entered.form["next"].value == "/reports"


def test_a_name_is_required(tab, program):
    answer = program.client.post_json("/auth/code", {}, status=422)
    assert answer.json["errors"].keys() == {"username"}
    page = tab.client.post("/auth/code", {"username": " "}, headers=SAME_ORIGIN, status=422)
    assert "Enter your username or email address." in page
    assert not Mail.select().exists()


def test_a_user_who_is_logged_in_can_ask_for_a_code_of_another_account(site, ada, grace):
    proven(grace)
    tab = Tab(site)
    tab.client = logged_in(site, ada)
    for path in ("/auth/code", "/auth/code/enter"):
        assert tab.client.get(path, headers=BROWSER).html.h1.text == "You are logged in"
    page = tab.ask("Grace")
    page.form["code"] = mailbox(site).codes[-1]
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert tab.name() == "Grace"


@pytest.mark.promise(17)
def test_another_site_cannot_ask(client):
    headers = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}
    for path in ("/auth/code", "/auth/code/enter"):
        client.post(path, {"username": USERNAME}, headers=headers, status=403)
    assert not Mail.select().exists()


@pytest.mark.every_database
@pytest.mark.promise(83)
@pytest.mark.parametrize("options", [{"MAILS_PER_ADDRESS": 99}], ids=["limit"])
def test_every_name_has_the_same_answers_and_the_same_statements(client, people, queries, options):
    def ask_often(name):
        answers = []
        sent = {"username": name}
        statements = [
            [
                without_values(sql)
                for sql in queries(
                    lambda: answers.append(client.post_json("/auth/code", sent, status="*"))
                )
            ]
            for _ in range(LIMIT + 2)  # the last two are above the limit
        ]
        return [shown_without_request(each) for each in answers], statements

    client.post_json("/auth/code", {"username": "someone"})  # begins the count of the address
    answers, statements = ask_often(USERNAME)
    assert [status[:3] for status, *_ in answers] == ["202"] * LIMIT + ["429"] * 2
    assert not [sql for each in statements for sql in each if "wsgiauth_user" in sql]
    for name in NAMES.values():
        if name != USERNAME:
            assert ask_often(name) == (answers, statements)


def shown_without_request(answer):
    status, headers, _ = shown(answer)
    headers = [each for each in headers if each[0] not in ("Content-Length", "Set-Cookie")]
    return status, headers, {name: answer.json[name] for name in answer.json if name != "request"}


@pytest.mark.promise(83)
def test_every_name_gets_the_same_page(tab, people):
    first = tab.send("someone")
    page = without_asked(first.follow(headers=BROWSER), "someone")
    for name in NAMES.values():
        sent = tab.send(name)
        assert sent.status == first.status, name
        assert without_cookie(sent) == without_cookie(first), name
        shown = without_asked(sent.follow(headers=BROWSER), name)
        assert shown == page, name
        assert name not in shown.replace("such as ada@example.org", "")  # of an error message


def without_asked(page, name):
    """Return a page without the name that it repeats as it was typed.

    It does not repeat what can be no name, because that can be a password.
    """
    asked = page.html.find(id="asked")
    assert (asked and asked.text) == (name if name != NAMES["no name"] else None)
    return re.sub(r'\s*<div class="subject">.*?</div>', "", page.text, flags=re.DOTALL)


def without_cookie(answer):
    return [each for each in answer.headerlist if each[0] != "Set-Cookie"]


@pytest.mark.promise(83)
def test_strangers_keep_no_client_that_the_account_knows_from_a_code(site, program, ada):
    stranger, neighbour = Program(site, "198.51.100.7"), Program(site)
    site.site.throttle.recognise(ada, ("192.0.2.1",))
    for _ in range(LIMIT):
        stranger.ask()
    stranger.ask(status=429)
    for number in range(20):
        neighbour.ask(f"user{number}")
    neighbour.ask("another", status=429)
    program.ask(EMAIL)
    program.ask()


FORMER_OWNERS = {
    "the password was changed": lambda user, settings: change_password(
        user, "other unrelated birds", settings=settings
    ),
    "the name has another owner": lambda user, settings: (
        delete_user(user),
        proven(create_user(USERNAME, EMAIL, PASSWORD, settings=settings)),
    ),
}


@pytest.mark.every_database
@pytest.mark.promise(83)
@pytest.mark.parametrize("change", FORMER_OWNERS.values(), ids=FORMER_OWNERS)
def test_a_client_that_only_the_name_still_knows_counts_as_a_stranger(change, site, ada, settings):
    addresses = [f"198.51.100.{number}" for number in range(LIMIT + 1)]
    for each in addresses:
        site.site.throttle.recognise(ada, (each,))
    change(ada, settings)
    sent = len(mailbox(site).codes)
    for each in addresses:
        Program(site, each).ask()
    codes = mailbox(site).codes[sent:]
    assert len(codes) == LIMIT  # of all such clients together
    asked = [json.loads(row.data) for row in OneTimeSecret.select() if row.user_id]
    assert [each["is_known"] for each in asked] == [False] * LIMIT
    stranger = Program(site, "203.0.113.1")
    for _ in range(LIMIT):  # also without an account, so that the limit says nothing of it
        stranger.ask()
    stranger.ask(status=429)


@pytest.mark.every_database
@pytest.mark.promise(39)
def test_an_unproven_address_gets_few_links_whoever_knows_the_account(site, settings):
    eve = create_user("Eve", EMAIL, PASSWORD, settings=settings)
    for number in range(4):
        name, address = f"Eve{number}", f"198.51.100.{number}"
        update_user(eve, username=name)
        site.site.throttle.recognise(eve, (address,))
        for typed in (name, EMAIL):
            Program(site, address).ask(typed)
    assert [each["To"] for each in mailbox(site)] == [EMAIL] * LIMIT


@pytest.mark.promise(83)
def test_requests_for_codes_keep_no_owner_from_a_link_or_an_earlier_code(program, tab, ada):
    tab.ask()
    code = program.code()
    for _ in range(LIMIT - 1):
        program.ask()
    program.ask(status=429)
    program.client.post_json("/auth/forgot", {"username": USERNAME}, status=202)
    tab.enter(code, 303)


@pytest.mark.promise(83)
def test_strangers_keep_an_owner_at_a_new_address_from_a_code_alone(site, ada):
    stranger, owner = Program(site, "198.51.100.7"), Program(site, "203.0.113.9")
    for _ in range(LIMIT):
        stranger.enter(stranger.ask(), WRONG, 401)
    owner.ask(status=429)
    owner.client.post_json("/auth/forgot", {"username": USERNAME}, status=202)
    login = {"username": USERNAME, "password": PASSWORD}
    owner.client.post_json("/auth/login", login, status=200)


def test_the_emails_of_an_address_count_together(program, options, site):
    for number in range(10):
        program.ask(f"user{number}")
        program.client.post_json("/auth/forgot", {"username": f"user{number}"}, status=202)
    program.ask("another", status=429)
    program.client.post_json("/auth/forgot", {"username": "another"}, status=429)


def test_a_code_that_is_asked_for_again_in_the_browser_voids_the_former(tab, ada, site):
    tab.ask()
    (first,) = mailbox(site).codes
    tab.ask()
    _, second = mailbox(site).codes
    assert OneTimeSecret.select().count() == 1
    tab.enter(first, 401)
    tab.enter(second, 303)


def test_without_the_setting_there_is_nothing(settings):
    off = replace(settings, LOGIN_CODES=False)
    site = AuthMiddleware(echo, off, send_mail=Post())
    client = TestApp(site)
    for path in ("/auth/code", "/auth/code/enter"):
        client.get(path, status=404)
        client.post_json(path, {"username": USERNAME}, status=404)
    assert "code" not in client.get("/auth/login", headers=BROWSER).html.main.text
    assert not [
        path for path in client.get("/auth/openapi.json").json["paths"] if path.startswith("/code")
    ]


def test_without_mail_the_setting_is_refused():
    changes = {**MAIL, "MAIL_URL": None, "LOGIN_CODES": True}
    with pytest.raises(ConfigurationError, match="MAIL_URL must be set, because LOGIN_CODES is on"):
        Settings(**changes)
