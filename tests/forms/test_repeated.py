"""A form that a browser sends again on a reload does nothing the second time."""

import pytest
from webtest import TestApp

from tests.support.mails import Post, with_mail
from tests.support.page_forms import account
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, User, storage
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.mail.outbox import Mail
from wsgiauth.testing import logged_in, make_user
from wsgiauth.throttling.counts import AttemptCount

WRONG = {"username": USERNAME, "password": "wrong", "next": "/reports"}


def send(client, path, fields, sent, status):
    return client.post(path, {**fields, "sent": sent}, headers=SAME_ORIGIN, status=status)


def test_a_refused_login_counts_once(site, client, ada):
    send(client, "/auth/login", WRONG, "0000000a1", 401)
    again = send(client, "/auth/login", WRONG, "0000000a1", 303)
    assert again.location == "/auth/login?next=%2Freports"
    assert len(site.site.throttle.failed_logins(ada)) == 1
    send(client, "/auth/login", WRONG, "0000000a2", 401)
    assert len(site.site.throttle.failed_logins(ada)) == 2


def test_a_form_without_a_number_of_the_script_is_taken_each_time(client, ada):
    for sent in ["", "short", "UPPERCASE1", "a.b.c.d.e.f", "a" * 17, "é" * 10]:
        AttemptCount.delete().execute()  # let no attempt wait
        for _ in range(2):
            send(client, "/auth/login", WRONG, sent, 401)
        assert "wsgiauth-sent" not in client.cookies, sent


def test_the_forms_of_other_browsers_are_taken(site, ada):
    for _ in range(2):
        send(TestApp(site), "/auth/login", WRONG, "0000000a1", 401)


def test_a_browser_keeps_the_last_eight(client, ada):
    for number in range(9):
        send(client, "/auth/forgot", {"username": ""}, f"0000000{number}", "*")
        send(client, "/auth/register", {"username": ""}, f"0000000{number}", 422)
    assert client.cookies["wsgiauth-sent"].count(".") == 7
    send(client, "/auth/register", {"username": ""}, "00000000", 422)
    send(client, "/auth/register", {"username": ""}, "00000008", 303)


def test_what_has_worked_needs_no_cookie(client, ada):
    done = send(client, "/auth/login", {**WRONG, "password": PASSWORD}, "0000000a1", 303)
    assert not any("-sent=" in each for each in done.headers.getall("Set-Cookie"))


def test_a_script_and_a_program_are_not_concerned(client, ada):
    script = {**SAME_ORIGIN, "Accept": "application/json"}
    for _ in range(2):
        client.post("/auth/login", {**WRONG, "sent": "0000000a1"}, headers=script, status=401)
        client.post_json("/auth/login", {**WRONG, "sent": "0000000a1"}, status=401)


@pytest.fixture
def mail_site(settings, unsent):
    made = AuthMiddleware(echo, with_mail(settings), send_mail=Post())
    yield made
    storage.discard_connection(made.database)


def test_a_forgotten_password_sends_one_email(mail_site, ada):
    client = TestApp(mail_site)
    send(client, "/auth/forgot", {"username": EMAIL}, "0000000a1", 202)
    again = send(client, "/auth/forgot", {"username": EMAIL}, "0000000a1", 303)
    assert again.follow(headers=BROWSER).form["username"].value == ""
    assert Mail.select().count() == 1


def test_the_answer_leads_back_to_the_link_of_an_email(mail_site, ada):
    client = TestApp(mail_site)
    now = mail_site.site.tokens.now()
    link = make_reset_link(ada, mail_site.site.settings, mount="/auth", now=now)
    fields = {"token": link.partition("=")[2], "password": "password"}
    send(client, "/auth/reset", fields, "0000000a1", 422)
    again = send(client, "/auth/reset", fields, "0000000a1", 303)
    assert link.endswith(again.location)
    assert again.headers["Referrer-Policy"] == "strict-origin"
    assert again.follow(headers=BROWSER).form["token"].value == fields["token"]


def test_an_action_on_several_users_is_done_once(site):
    boss, tim = (
        make_user(site, name, is_staff=True, is_superuser=True) for name in ("boss", "tim")
    )
    browser = logged_in(site, boss)
    logged_in(site, tim)
    fields = {"action": "end-logins", "users": str(tim.id), "next": "/auth/admin/users?q=t"}
    fields["account"] = account(browser)
    send(browser, "/auth/admin/users/several", fields, "0000000a1", 200)
    logged_in(site, tim)
    again = send(browser, "/auth/admin/users/several", fields, "0000000a1", 303)
    assert again.follow(headers=BROWSER, status=303).location == "/auth/admin/users?q=t"
    assert Session.select().where(Session.user == User.get_by_id(tim.id)).count() == 1
