"""GET and POST /auth/code/enter."""

import json
import logging
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.conftest import insert_user
from tests.features.links.test_forgot import without_values
from tests.features.login_codes.conftest import WRONG, Program, Tab
from tests.support.declared import CHANGES
from tests.support.factors import add_app
from tests.support.mails import Post
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, Session, change_password, delete_user, storage
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.features.panel.event_words import reason_in_words
from wsgiauth.testing import bearer, logged_in, mailbox
from wsgiauth.throttling.counts import AttemptCount

ARABIC = str.maketrans("0123456789", "٠١٢٣٤٥٦٧٨٩")
OTHER_KEY = SECRET_KEY[::-1]


def in_form(code):
    return f"{code[:4]}-{code[5:]}"


SPELLINGS = {
    "as shown": lambda code: code,
    "in one piece": lambda code: code.replace(" ", ""),
    "with a hyphen": in_form,
    "with a no-break space and a line break": lambda code: code.replace(" ", "\xa0") + "\r\n",
    "Arabic digits": lambda code: code.translate(ARABIC),
    "full-width digits": lambda code: "".join(chr(ord(c) + 0xFEE0) for c in code if c != " "),
    "in a sentence": lambda code: f"Your code is {code}.",
}
WRONG_CODES = {
    "another code": WRONG,
    "seven digits": "1234567",
    "too long": "x" * 993 + WRONG,
    "letters": "abcdefgh",
    "NUL": "\0",
}


@pytest.mark.every_database
@pytest.mark.promise(82)
def test_a_program_logs_in_once_and_is_known_then(site, program, ada, heard):
    request = program.ask()
    code = program.code()
    assert not site.site.throttle.knows(USERNAME, ("192.0.2.1",))
    answer = program.enter(request, code, 200, refresh=True)
    token = {"Authorization": f"Bearer {answer.json['access_token']}"}
    assert program.client.get("/auth/me", headers=token).json["username"] == USERNAME
    assert answer.json["refresh_token"]
    assert Session.get().methods == "email"
    assert reason_in_words(heard[-1], CHANGES[heard[-1].name]) == "code by email"
    assert User.get_by_id(ada.id).last_login_at is not None
    assert site.site.throttle.knows(USERNAME.upper(), ("192.0.2.1",))
    assert site.site.throttle.knows(EMAIL, ("192.0.2.1",))
    assert program.enter(request, code, 401).json["code"] == "invalid_code"


def test_the_session_whose_token_is_sent_ends(site, program, ada):
    program.client.authorization = ("Bearer", bearer(site, ada)["Authorization"].split()[1])
    request = program.ask()
    program.enter(request, program.code(), 200)
    assert Session.select().count() == 1


@pytest.mark.promise(82)
def test_a_browser_logs_in_and_goes_where_it_wanted(tab, program, ada):
    page = tab.ask(next="/reports", remember="on")
    page.form["code"] = program.code()
    answer = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/reports"
    login, code, asked = answer.headers.getall("Set-Cookie")
    assert "Max-Age" in login  # remembered
    assert code.startswith("wsgiauth-code=; Max-Age=0;")
    assert asked.startswith("wsgiauth-code-for=; Max-Age=0;")
    assert tab.name() == USERNAME


def test_the_page_can_be_loaded_again_and_remembers(site, program, ada):
    for fields in ({"remember": "on"}, {}):
        tab = Tab(site)
        first = tab.ask(next="/reports", **fields)
        page = tab.client.get(first.request.path_qs, headers=BROWSER)
        page.form["code"] = program.code()
        answer = page.form.submit(headers=SAME_ORIGIN, status=303)
        assert answer.headers["Location"] == "/reports"
        assert ("Max-Age" in answer.headers.getall("Set-Cookie")[0]) is bool(fields)
    tab = Tab(site)
    tab.ask()
    answer = tab.enter(program.code(), 303, remember="on")
    assert "Max-Age" in answer.headers.getall("Set-Cookie")[0]


def test_a_program_asks_to_be_remembered_with_its_code(program, ada):
    ends = []
    for remember in (False, True):
        sent = {"username": USERNAME, "remember": not remember}
        request = program.client.post_json("/auth/code", sent).json["request"]
        program.enter(request, program.code(), 200, refresh=True, remember=remember)
        ends.append(Session.select().order_by(Session.ends_at.desc()).get().ends_at)
    assert ends[1] - ends[0] > 24 * 60 * 60


def test_a_script_logs_in_once(tab, program, ada):
    tab.ask()
    code = program.code()
    headers = {**SAME_ORIGIN, "Accept": "application/json"}
    answer = tab.client.post("/auth/code/enter", {"code": code}, headers=headers)
    assert answer.json["next"] == "/"
    assert tab.name() == USERNAME
    tab.client.post("/auth/code/enter", {"code": code}, headers=headers, status=401)


def test_a_code_can_be_typed_in_many_ways(program, ada, app):
    request = program.ask()
    code = program.code()
    answers = {
        name: program.enter(request, spell(code), 401).json["code"]
        for name, spell in SPELLINGS.items()
    }
    assert answers == dict.fromkeys(SPELLINGS, "second_factor_required")  # the code was right


@pytest.mark.promise(82)
def test_another_code_is_refused(program, ada, heard):
    request = program.ask()
    assert len(WRONG_CODES) <= 5  # any code is refused after so many
    program.code()
    for name, code in WRONG_CODES.items():
        refused = program.enter(request, code, 401)
        assert refused.json["code"] == "invalid_code", name
        assert "Bearer" in refused.headers["WWW-Authenticate"], name
        event = heard.pop()
        assert (event.name, event.user_id, event.reason) == ("login_failed", ada.id, "email code")


def test_a_browser_sees_why_its_code_was_refused(tab, ada):
    page = tab.ask(next="/reports")
    page.form["code"] = WRONG
    refused = page.form.submit(headers=SAME_ORIGIN, status=401)
    assert "This code is wrong" in refused.html.find(role="alert").text
    assert refused.form["code"].value == ""
    assert refused.form["next"].value == "/reports"
    assert "on its way" in page
    assert "on its way" not in refused


def test_a_program_must_send_both(client):
    for sent, missing in (
        ({}, {"code", "request"}),
        ({"code": "1"}, {"request"}),
        ({"request": "x"}, {"code"}),
    ):
        answer = client.post_json("/auth/code/enter", sent, status=422)
        assert answer.json["errors"].keys() == missing


def test_a_code_is_required_and_costs_no_try(tab, program, ada):
    tab.ask()
    for _ in range(6):
        assert "Enter the code." in tab.enter("", 422)
    tab.enter(program.code(), 303)


@pytest.mark.promise(82)
def test_a_code_without_its_request_is_refused(site, program, tab, ada):
    program.ask()
    code = program.code()
    program.client.post_json("/auth/forgot", {"username": USERNAME})
    secret_of_link = mailbox(site).links[-1].partition("=")[2]
    for request in ("unknown", "x", "x" * 101, secret_of_link, program.ask()):
        assert program.enter(request, code, 401).json["code"] == "invalid_code"
    tab.enter(code, 401)
    assert OneTimeSecret.select().count() == 3  # of the link and the two requests


@pytest.mark.every_database
@pytest.mark.promise(82)
@pytest.mark.parametrize("wrong", [5, 4], ids=["five wrong ones", "the fifth is right"])
def test_a_request_has_five_tries(program, ada, wrong):
    request = program.ask()
    code = program.code()
    details = [program.enter(request, WRONG, 401).json["detail"] for _ in range(wrong)]
    assert ["five wrong codes. Ask" in each for each in details] == [False] * 4 + [True] * (
        wrong - 4
    )
    if wrong == 5:
        refused = program.enter(request, code, 401).json
        assert (refused["code"], refused["detail"]) == ("invalid_code", details[-1])
    else:
        program.enter(request, code, 200)


@pytest.mark.promise(82)
def test_a_code_works_for_ten_minutes(site, program, ada, monkeypatch):
    now = 2_000_000_000
    monkeypatch.setattr(site.site.tokens, "now", lambda: now)
    monkeypatch.setattr(site.site.outbox, "now", lambda: now)
    request = program.ask()
    code = program.code()
    for seconds, status in ((600, 401), (599, 200)):
        monkeypatch.setattr(site.site.tokens, "now", lambda passed=seconds: now + passed)
        program.enter(request, code, status)


ENDS = {
    "password": lambda ada, settings: change_password(ada, "third bird song", settings=settings),
    "deactivation": lambda ada, settings: update_user(ada, is_active=False),
    "deactivation and back": lambda ada, settings: [
        update_user(ada, is_active=each) for each in (False, True)
    ],
    "new address": lambda ada, settings: update_user(ada, email="third@example.org"),
    "address unproven": lambda ada, settings: User.update(email_verified_by="").execute(),
    "another user": lambda ada, settings: OneTimeSecret.update(
        user=insert_user("Eve", "eve@example.org").id
    ).execute(),
    "deletion": lambda ada, settings: delete_user(ada),
}


@pytest.mark.every_database
@pytest.mark.promise(82)
def test_a_change_of_the_user_voids_the_code(site, program, ada, settings):
    request = program.ask()
    code = program.code()
    statuses = {}
    for name, end in ENDS.items():
        with site.database.atomic() as transaction:
            end(User.get_by_id(ada.id), settings)
            statuses[name] = program.enter(request, code).status_int
            transaction.rollback()
    assert statuses == dict.fromkeys(ENDS, 401)
    program.enter(request, code, 200)


@pytest.mark.promise(82)
def test_a_user_who_changes_at_the_same_moment_is_not_logged_in(program, ada, heard, monkeypatch):
    request = program.ask()
    code = program.code()
    with monkeypatch.context() as patch:  # another request used the code at the same moment
        patch.setattr("wsgiauth.authentication.one_time.use", lambda _: False)
        assert program.enter(request, code, 401).json["code"] == "invalid_code"
    monkeypatch.setattr("wsgiauth.authentication.sessions.start", lambda *_, **__: None)
    assert program.enter(request, code, 401).json["code"] == "invalid_code"
    assert heard[-1].reason == "changed meanwhile"


def test_a_code_of_a_former_key_is_accepted(settings, database_url, site, program, ada):
    request = program.ask()
    code = program.code()
    rotated = replace(settings, SECRET_KEY=OTHER_KEY, SECRET_KEY_FALLBACKS=(SECRET_KEY,))
    other = AuthMiddleware(echo, rotated, send_mail=Post())
    sent = {"request": request, "code": code}
    TestApp(other).post_json("/auth/code/enter", sent, status=200)
    storage.discard_connection(other.database)


# Who learns what.


@pytest.mark.every_database
@pytest.mark.promise(83)
def test_a_request_without_an_account_has_the_same_answers_and_statements(program, ada, queries):
    program.enter(program.ask("someone"), WRONG)  # the first of an address begins its counts
    requests = [program.ask(name) for name in (USERNAME, "nobody", "four finch words")]
    program.code()  # composes all

    def enter_often(request):
        answers = []
        sent = {"request": request, "code": WRONG}
        statements = [
            [
                without_values(sql)
                for sql in queries(
                    lambda: answers.append(
                        program.client.post_json("/auth/code/enter", sent, status="*")
                    )
                )
            ]
            for _ in range(7)
        ]
        return [(each.status, each.body) for each in answers], statements

    seen = [enter_often(each) for each in requests]
    assert seen[0] == seen[1] == seen[2]


@pytest.mark.promise(83)
@pytest.mark.parametrize("options", [{"LOGIN_FAILURES_PER_ADDRESS": 3}], ids=["limit"])
def test_failures_make_the_address_wait_and_nobody_else(site, program, ada, options):
    request = program.ask()
    code = program.code()
    for _ in range(3):
        program.enter("unknown", WRONG, 401)
    refused = program.enter(request, code, 429)
    assert int(refused.headers["Retry-After"]) >= 1
    Program(site, "198.51.100.7").enter(request, code, 200)
    credentials = {"username": USERNAME, "password": PASSWORD}
    program.client.post_json("/auth/login", credentials, status=200)


@pytest.mark.promise(83)
@pytest.mark.parametrize("options", [{"LOGIN_FAILURES_PER_ADDRESS": 3}], ids=["limit"])
def test_a_known_client_does_not_wait_for_its_neighbours(site, program, ada, options):
    site.site.throttle.recognise(ada, ("192.0.2.1",))
    request = program.ask()
    for _ in range(3):
        program.enter("unknown", WRONG, 401)
    program.enter("unknown", WRONG, 429)
    program.enter(request, WRONG, 401)
    program.enter(request, program.code(), 200)


def test_the_staff_sees_failures_under_the_name(site, program, ada):
    for name in (USERNAME, "nobody"):
        program.enter(program.ask(name), WRONG, 401)
    (failure,) = site.site.throttle.failed_logins(ada)
    assert (failure.reason, failure.address) == ("wrong email code", "192.0.2.1")


def test_the_panel_says_what_failed(site, ada):
    reasons = ["wrong email code", "email, wrong code", "email, wrong passkey"]
    for seconds, reason in enumerate(reasons):
        site.site.throttle.failure_log(USERNAME).add(int(site.site.tokens.now()) + seconds, reason)
    User.update(is_superuser=True, is_staff=True).execute()
    page = logged_in(site, ada).get(f"/auth/admin/users/{ada.id}", headers=BROWSER)
    items = page.html.find(attrs={"aria-describedby": "failed-logins-order"}).find_all("strong")
    shown = [each.text for each in items]
    assert ["code from an email" in each for each in shown] == [True] * 3
    assert sorted("passkey" in each for each in shown) == [False, False, True]


@pytest.mark.parametrize("options", [{"LOGINS_PER_ACCOUNT": 2}], ids=["limit"])
def test_logins_are_counted_with_the_others(program, ada, options):
    for _ in range(2):
        request = program.ask()
        program.enter(request, program.code(), 200)
    request = program.ask()
    code = program.code()
    program.enter(request, code, 429)
    AttemptCount.delete().execute()
    program.enter(request, code, 200)  # it was not used up


@pytest.mark.promise(82)
def test_neither_code_nor_request_is_in_the_database_or_the_log(site, program, ada, caplog):
    caplog.set_level(logging.INFO, "wsgiauth")
    request = program.ask()
    before = _rows(site)
    code = program.code()
    program.enter(request, WRONG, 401)
    found = before + _rows(site) + caplog.text
    for secret in (request, code, code.replace(" ", "")):
        assert secret not in found


def _rows(site):
    tables = storage.current().get_tables()
    return json.dumps(
        [
            list(map(str, storage.current().execute_sql(f"SELECT * FROM {each}")))  # noqa: S608
            for each in tables
        ]
    )


# The second factor.


@pytest.fixture
def app(site, ada):
    return add_app(site, ada)


@pytest.mark.every_database
@pytest.mark.promise(82)
def test_a_program_sends_the_same_again_with_the_second_factor(program, app):
    request = program.ask()
    code = program.code()
    for _ in range(6):  # a right code is no failed try
        asked = program.enter(request, code, 401)
        assert asked.json["code"] == "second_factor_required"
        assert asked.json["methods"] == ["otp"]
    assert Session.select().count() == 0
    assert program.enter(request, code, 401, second="123").json["code"] == "invalid_code"
    program.enter(request, WRONG, 401, second=app.code())
    program.enter(request, code, 200, second=app.code())
    assert Session.get().methods == "email otp"
    program.enter(request, code, 401, second=app.code())


def test_wrong_second_factors_wait_as_after_a_password(site, program, app, ada):
    request = program.ask()
    code = program.code()
    for _ in range(5):
        program.enter(request, code, 401, second="12345x")
    program.enter(request, code, 429, second=app.code())
    assert {each.reason for each in site.site.throttle.failed_logins(ada)} == {"email, wrong code"}


@pytest.mark.promise(82)
def test_a_browser_goes_to_the_second_step(site, tab, program, app):
    page = tab.ask(next="/reports", remember="on")
    page.form["code"] = program.code()
    answer = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert tab.name() is None
    second = answer.follow(headers=BROWSER)
    assert second.request.path == "/auth/second"
    assert not site.site.throttle.knows(USERNAME, ("127.0.0.1",))
    second.form["code"] = app.code()
    done = second.form.submit(headers=SAME_ORIGIN, status=303)
    assert done.headers["Location"] == "/reports"
    (login,) = (each for each in done.headers.getall("Set-Cookie") if each.startswith("wsgiauth="))
    assert "Max-Age" in login  # remembered
    assert Session.get().methods == "email otp"
    assert not OneTimeSecret.select().exists()


@pytest.mark.parametrize("options", [{"SECOND_FACTOR": "all"}], ids=["demanded"])
def test_a_session_by_a_code_has_one_factor(tab, program, ada, options):
    tab.ask()
    answer = tab.enter(program.code(), 303)
    assert answer.headers["Location"] == "/auth/totp"
    assert tab.name() is None
    request = program.ask()
    token = program.enter(request, program.code(), 200).json
    assert token["restriction"] == "second_factor_setup_required"


# Pages.


def test_the_page_without_a_request_leads_to_the_one_that_asks(tab):
    page = tab.client.get("/auth/code/enter?next=/reports", headers=BROWSER)
    assert not page.html.find("input", {"name": "code"})
    assert page.click("Ask for a code").request.path_qs == "/auth/code?next=%2Freports"


def test_two_tabs_share_the_last_code_and_keep_their_destinations(site, tab, ada):
    first, second = tab.ask(next="/first"), tab.ask(next="/second")
    (code,) = mailbox(site).codes
    first.form["code"] = code
    assert first.form.submit(headers=SAME_ORIGIN, status=303).headers["Location"] == "/first"
    second.form["code"] = code
    answer = second.form.submit(headers=SAME_ORIGIN, status=303)
    page = answer.follow(headers=BROWSER)
    assert page.html.h1.text == "You are logged in"
    assert page.html.find("a", href="/second")


@pytest.mark.promise(18)
@pytest.mark.promise(82)
def test_another_browser_cannot_use_the_code_which_never_leads_to_another_site(site, tab, ada):
    tab.ask()
    code = mailbox(site).codes[-1]
    other = Tab(site)
    other.ask("someone")
    other.enter(code, 401)
    answer = tab.enter(code, 303, next="//evil.example")
    assert answer.headers["Location"] == "/"
