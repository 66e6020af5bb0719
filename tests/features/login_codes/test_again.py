"""Another email, without typing the name again."""

from dataclasses import replace

import pytest

from tests.features.links.test_forgot import without_values
from tests.features.login_codes.conftest import Tab
from tests.support.mails import Post
from tests.support.sites import BROWSER, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.testing import mailbox

UNKNOWN = "goldfinch"
AGAIN = {"again": "on", "next": "/reports"}


@pytest.fixture
def later(site, monkeypatch):
    """Return a function that moves the clock of the site to so many seconds after its start."""
    start = site.site.tokens.now()

    def move(seconds):
        for clock in (site.site.tokens, site.site.outbox):
            monkeypatch.setattr(clock, "now", lambda: start + seconds)

    move(0)
    return move


def ask_again(tab, status=303, **headers):
    return tab.client.post(
        "/auth/code/enter", AGAIN, headers={**SAME_ORIGIN, **headers}, status=status
    )


def test_a_browser_gets_another_code_without_its_name(tab, site, ada, later):
    page = tab.ask(next="/reports", remember="on")
    former = mailbox(site).codes[-1]
    later(30)
    page = page.form.submit("again", headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    assert "another email is on its way" in page.html.find(role="status").text
    assert page.form["next"].value == "/reports"
    first, code = mailbox(site).codes
    assert first == former
    tab.enter(former, 401)
    answer = tab.enter(code, 303)
    assert "Max-Age" in answer.headers.getall("Set-Cookie")[0]  # remembered, as asked for first
    assert tab.name() == USERNAME


@pytest.mark.promise(83)
@pytest.mark.parametrize("name", [USERNAME, UNKNOWN])
def test_within_30_seconds_nothing_is_sent_or_counted(tab, site, ada, later, name):
    tab.ask(name)
    later(29)
    before = OneTimeSecret.select().count(), len(mailbox(site))
    for _ in range(20):  # more than MAILS_PER_ACCOUNT
        refused = ask_again(tab, 429)
        assert refused.headers["Retry-After"] == "1"
    assert "Try again in a second." in refused.html.find(role="alert").text
    assert refused.form.action == "/auth/code/enter"
    assert (OneTimeSecret.select().count(), len(mailbox(site))) == before
    later(30)
    ask_again(tab)


@pytest.mark.promise(83)
@pytest.mark.every_database
def test_a_name_without_an_account_has_the_same_answers_and_statements(site, ada, later, queries):
    seen = []
    for name in (USERNAME, UNKNOWN):
        later(0)
        tab, answers = Tab(site), []
        tab.ask(name)
        statements = []
        for seconds in (10, 40, 80, 120, 160, 200, 240):
            later(seconds)
            asked = queries(lambda tab=tab, found=answers: found.append(ask_again(tab, "*")))
            statements.append([without_values(sql) for sql in asked])
        seen.append(([(each.status, each.location) for each in answers], statements))
    assert seen[0] == seen[1]
    assert "429 Too Many Requests" in {status for status, _ in seen[0][0][1:]}  # by the limits


@pytest.mark.promise(83)
def test_the_name_is_in_no_url_or_readable_cookie(tab, ada):
    sent = tab.send(UNKNOWN)
    page = sent.follow(headers=BROWSER)
    urls = [each["href"] for each in page.html.select("[href]:not([rel=icon])")]
    for found in (sent.location, *urls, *sent.headers.getall("Set-Cookie")):
        assert "finch" not in found
    assert page.text.count(UNKNOWN) == 1
    assert page.html.find(id="asked").text == UNKNOWN


def test_the_name_can_be_changed_where_it_was_typed(tab, ada):
    page = tab.send(UNKNOWN, next="/reports", remember="on").follow(headers=BROWSER)
    form = page.click("Change it").form
    assert (form["username"].value, form["next"].value) == (UNKNOWN, "/reports")
    assert form["remember"].checked
    plain = tab.client.get("/auth/code", headers=BROWSER).form
    assert (plain["username"].value, plain["remember"].checked) == ("", False)


def test_the_page_says_for_how_long_to_wait(tab, ada, later):
    tab.ask()
    for seconds, left in ((0, "30"), (29, "1"), (30, "0"), (300, "0")):
        later(seconds)
        page = tab.client.get("/auth/code/enter", headers=BROWSER)
        assert page.html.select_one("[name=again]")["data-pause"] == left


def test_a_script_gets_json_and_a_program_must_name_the_account(tab, program, ada, later):
    tab.ask()
    later(30)
    answer = ask_again(tab, 202, Accept="application/json")
    assert answer.json.keys() == {"detail"}
    refused = program.client.post_json("/auth/code/enter", {"again": True}, status=422)
    assert refused.json["errors"].keys() == {"code", "request"}


@pytest.mark.parametrize("value", [None, "x", "forged.name"])
def test_a_browser_that_has_not_asked_goes_to_the_form(tab, ada, value):
    if value is not None:
        tab.client.set_cookie("wsgiauth-code-for", value)
    assert ask_again(tab).location == "/auth/code?next=%2Freports"


def test_a_request_of_ten_minutes_ago_or_a_string_that_is_no_name_is_not_sent_again(
    tab, ada, later
):
    tab.ask()
    later(600)
    assert ask_again(tab).location == "/auth/code?next=%2Freports"
    tab.ask("x" * 5000)
    later(700)
    assert ask_again(tab).location == "/auth/code?next=%2Freports"


def test_after_the_login_the_name_is_forgotten(tab, site, ada):
    tab.ask()
    tab.enter(mailbox(site).codes[-1], 303)
    assert not any("code" in name for name in tab.client.cookies)


def test_a_cookie_of_the_registration_is_of_no_use_here(settings, tab, ada, later):
    of = replace(settings, VERIFICATION=True, LOGIN_CODES=False)
    other = AuthMiddleware(echo, of, send_mail=Post())
    other.site.tokens.now = tab.site.site.tokens.now
    fields = {"username": "Eve", "email": "eve@example.org"}
    Tab(other).client.post("/auth/register", fields, headers=SAME_ORIGIN)
    client = Tab(other).client
    answer = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=202)
    tab.client.set_cookie("wsgiauth-code-for", client.cookies["wsgiauth-registering"])
    assert "wsgiauth-registering" in answer.headers["Set-Cookie"]
    later(40)
    assert ask_again(tab).location == "/auth/code?next=%2Freports"
    other.site.outbox.stop()
    storage.discard_connection(other.database)
