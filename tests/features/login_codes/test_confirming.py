"""Codes at /auth/confirm."""

import pytest

from tests.features.login_codes.conftest import WRONG, proven
from tests.support.factors import add_app
from tests.support.federated import remove_password
from tests.support.logins import make_stale
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from wsgiauth import Session, change_password
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.testing import bearer, logged_in, mailbox

SENSITIVE = "/auth/username"


@pytest.fixture
def ada(ada):
    """Return a user without a password."""
    return remove_password(ada)


@pytest.fixture
def browser(site, ada):
    """Return a browser whose session is stale."""
    browser = logged_in(site, ada)
    make_stale()
    return browser


def confirm_page(browser):
    return browser.get(f"/auth/confirm?next={SENSITIVE}", headers=BROWSER)


def press(page, name, **fields):
    form = next(each for each in page.forms.values() if name in each.fields)
    for field, value in fields.items():
        form[field] = value
    return form.submit(name, headers=SAME_ORIGIN, status="*")


def test_a_browser_asks_for_a_code_and_enters_it(site, browser):
    page = confirm_page(browser)
    assert "let us send you a code by email" in page
    asked = press(page, "send_code").follow(headers=BROWSER)
    assert asked.html.find("input", {"name": "code"})["autocomplete"] == "one-time-code"
    (code,) = mailbox(site).codes
    assert "your code to confirm" in plain_text_of(mailbox(site)[0])
    done = press(asked, "request", code=code)
    assert done.status_int == 303
    assert done.headers["Location"] == SENSITIVE
    assert browser.get(SENSITIVE, headers=BROWSER).status_int == 200
    assert Session.get().methods == "email"
    assert not OneTimeSecret.select().where(OneTimeSecret.purpose == "login code").exists()
    assert "wsgiauth-code" not in browser.cookies


def test_asking_again_voids_the_former_code_and_can_be_done_a_few_times_in_an_hour(site, browser):
    page = confirm_page(browser)
    asked = press(page, "send_code").follow(headers=BROWSER)
    (first,) = mailbox(site).codes
    asked = press(asked, "send_code").follow(headers=BROWSER)
    refused = press(asked, "request", code=first)
    assert refused.status_int == 401
    assert "This code is wrong" in refused.html.find(role="alert").text
    assert [press(page, "send_code").status_int for _ in range(2)] == [303, 429]


def test_a_script_asks_for_a_code(site, browser):
    headers = {**SAME_ORIGIN, "Accept": "application/json"}
    answer = browser.post("/auth/confirm", {"send_code": "on"}, headers=headers, status=202)
    assert answer.json.keys() == {"detail"}
    sent = {"request": "this browser", "code": mailbox(site).codes[-1]}
    assert browser.post("/auth/confirm", sent, headers=headers).json["detail"] == "Confirmed."


@pytest.mark.every_database
@pytest.mark.promise(82)
def test_a_program_confirms_with_the_request(site, program, ada):
    program.client.authorization = ("Bearer", bearer(site, ada)["Authorization"].split()[1])
    request = program.ask()
    sent = {"request": request, "code": program.code()}
    answer = program.client.post_json("/auth/confirm", sent)
    token = {"Authorization": f"Bearer {answer.json['access_token']}"}
    assert Session.get().methods == "email"
    program.client.authorization = None
    program.client.post_json("/auth/confirm", sent, headers=token, status=401)


@pytest.mark.promise(82)
def test_the_code_of_another_user_confirms_nothing(site, program, ada, grace):
    proven(grace)
    request = program.ask("Grace")
    sent = {"request": request, "code": program.code()}
    token = bearer(site, ada)
    program.client.post_json("/auth/confirm", sent, headers=token, status=401)
    program.enter(request, sent["code"], 200)  # it was not used up


def test_a_wrong_code_confirms_nothing(site, program, ada):
    request, token = program.ask(), bearer(site, ada)
    for sent, status in (({"code": ""}, 422), ({"code": WRONG}, 401)):
        sent = {"request": request, **sent}
        program.client.post_json("/auth/confirm", sent, headers=token, status=status)


def test_a_program_without_a_code_is_told_to_ask_for_one_elsewhere(site, program, ada):
    token = bearer(site, ada)
    for sent in ({}, {"send_code": "on"}):
        answer = program.client.post_json("/auth/confirm", sent, headers=token, status=422)
        assert answer.json["errors"].keys() == {"send_code"}


def test_a_session_that_has_ended_meanwhile_is_not_confirmed(site, program, ada, monkeypatch):
    token = bearer(site, ada)
    request = program.ask()
    sent = {"request": request, "code": program.code()}
    monkeypatch.setattr("wsgiauth.features.login_codes.confirming.confirm", lambda *_, **__: None)
    answer = program.client.post_json("/auth/confirm", sent, headers=token, status=401)
    assert answer.json["code"] == "invalid_token"


def test_a_user_with_a_password_enters_it(site, program, ada, settings):
    change_password(ada, PASSWORD, settings=settings)
    token = bearer(site, ada)
    request = program.ask()
    for sent in ({"request": request, "code": program.code()}, {"send_code": "on"}):
        answer = program.client.post_json("/auth/confirm", sent, headers=token, status=422)
        assert answer.json["errors"].keys() == {"password"}
    assert "Email me a code" not in confirm_page(logged_in(site, ada))


def test_a_user_with_a_second_factor_proves_that(site, program, ada):
    app = add_app(site, ada)
    token = bearer(site, ada)
    request = program.ask()
    sent = {"request": request, "code": program.code()}
    program.client.post_json("/auth/confirm", sent, headers=token, status=401)
    sent = {"request": request, "code": app.code()}
    program.client.post_json("/auth/confirm", sent, headers=token, status=200)
    assert "Email me a code" not in confirm_page(logged_in(site, ada))


def test_a_user_whose_address_is_not_proven_gets_no_button(site, ada):
    User.update(email_verified_by="").execute()
    assert "Email me a code" not in confirm_page(logged_in(site, ada))


def test_a_code_permits_the_first_password(site, browser):
    asked = press(confirm_page(browser), "send_code").follow(headers=BROWSER)
    press(asked, "request", code=mailbox(site).codes[-1])
    page = browser.get("/auth/password", headers=BROWSER, status=200)
    page.form["new_password"] = "other unrelated birds"
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert User.get().has_password


@pytest.mark.promise(83)
def test_strangers_do_not_keep_a_user_who_is_logged_in_from_confirming(site, program, browser):
    for _ in range(3):
        program.ask()
    program.ask(status=429)
    assert press(confirm_page(browser), "send_code").status_int == 303
