"""New users accept the terms: every way to create an account asks them, once."""

import pytest
from webtest import TestApp

from tests.features.terms.sites import (
    LATER,
    MEMBERS,
    OLDER,
    SCRIPT,
    TERMS,
    VERSION,
    accepted_by,
    number_of_rows,
    reasons,
    to_page,
)
from tests.support.factors import FACTOR_KEY
from tests.support.mails import MAIL, Post
from tests.support.provider_logins import log_in, path_of
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME
from wsgiauth import Field
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret, Session
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ConfigurationError, ValidationError
from wsgiauth.features.terms.tables import Acceptance
from wsgiauth.storage import context
from wsgiauth.testing import bearer, logged_in, mailbox, make_user

ADA = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
REGISTER, VERIFY, COMPLETE = "/auth/register", "/auth/verify", "/auth/complete"

INVALID = {
    "missing": {},
    "false": {"accept_terms": False},
    "empty": {"accept_terms": ""},
    "yes": {"accept_terms": "yes"},
    "the string true": {"accept_terms": "true"},
    "on": {"accept_terms": "on"},
    "null": {"accept_terms": None},
    "number": {"accept_terms": 1},
    "digits": {"accept_terms": 20261102},
    "list": {"accept_terms": [VERSION]},
    "object": {"accept_terms": {"version": VERSION}},
    "no such day": {"accept_terms": "2026-02-30"},
    "another form of the day": {"accept_terms": "20261102"},
    "a week": {"accept_terms": "2026-W45-1"},
    "a time": {"accept_terms": f"{VERSION}T00:00:00"},
}
OTHERS = {"older": OLDER, "later": LATER}


def events_of(user):
    rows = RecordedEvent.select().where(RecordedEvent.user_id == user.id)
    return [(each.name, each.reason) for each in rows.order_by(RecordedEvent.id)]


def is_refused(answer, sent):
    """Return whether an answer is the right refusal of JSON."""
    if sent.get("accept_terms") in OTHERS.values():
        names = {"code": "other_version", **MEMBERS}
        return answer.status_int == 409 and names.items() <= answer.json.items()
    message = ["Accept the terms of use to continue."]
    return answer.status_int == 422 and answer.json["errors"] == {"accept_terms": message}


REFUSED = [*INVALID.values(), *({"accept_terms": each} for each in OTHERS.values())]


def submit(page, status=303, **fields):
    form = page.form
    for name, value in fields.items():
        form[name] = value
    return form.submit(headers=SAME_ORIGIN, status=status)


def submit_version(page, version, status, **fields):
    """Submit a form whose box has the value of another version."""
    form = page.form
    sent = dict(each for each in form.submit_fields() if each[0]) | fields
    sent["accept_terms"] = version
    return page.goto(form.action, method="post", params=sent, headers=SAME_ORIGIN, status=status)


# The registration


@pytest.mark.every_database
@pytest.mark.promise(97)
@pytest.mark.parametrize("value", [True, VERSION])
def test_a_program_registers(client, site, value, heard):
    made = client.post_json(REGISTER, {**ADA, "accept_terms": value}, status=201)
    assert made.json["username"] == USERNAME
    user = User.get()
    assert accepted_by(user) == [VERSION]
    assert events_of(user) == [("registration", None), ("terms_accepted", VERSION)]
    assert [each.name for each in heard] == ["registration", "terms_accepted"]
    login = client.post_json("/auth/login", {"username": USERNAME, "password": PASSWORD}).json
    assert "restriction" not in login


@pytest.mark.promise(97)
def test_a_program_that_accepts_nothing_registers_nobody(client, site):
    wrong = [
        each
        for each in REFUSED
        if not is_refused(client.post_json(REGISTER, {**ADA, **each}, status="*"), each)
    ]
    assert wrong == []
    assert (User.select().count(), number_of_rows(site)) == (0, 0)


@pytest.mark.promise(97)
def test_a_person_registers(client, heard):
    page = client.get(f"{REGISTER}?next=/members", headers=BROWSER)
    box = page.form["accept_terms"]
    assert not box.checked
    assert page.html.find(id="accept_terms")["value"] == VERSION
    assert page.html.find(id="accept_terms").has_attr("required")
    links = page.html.find(id="accept_terms").find_parent(class_="field").find_all("a")
    assert [each["href"] for each in links] == ["/terms", "https://example.org/privacy"]
    page.mustcontain(no="By creating an account")
    refused = submit(page, 422, **ADA)
    message = refused.html.find(id="accept_terms-error").text
    assert message == "Accept the terms of use to continue."
    assert not User.select().exists()
    assert submit(refused, password=PASSWORD, accept_terms=True).location == "/members"
    assert client.get("/").json["user"] == USERNAME
    assert accepted_by(User.get()) == [VERSION]
    assert reasons(heard) == [VERSION]


@pytest.mark.promise(97)
def test_the_page_of_another_version_registers_nobody(make_site, client):
    page = TestApp(make_site(version=OLDER)).get(REGISTER, headers=BROWSER)
    sent = {name: page.form[name].value for name in page.form.fields if name}
    sent |= {**ADA, "accept_terms": OLDER}
    again = client.post(REGISTER, sent, headers=SAME_ORIGIN, status=409)
    assert "another version of the terms" in again.html.find(role="alert").text
    assert again.html.find(id="accept_terms")["value"] == VERSION
    assert not again.form["accept_terms"].checked
    assert again.form["username"].value == USERNAME
    assert not User.select().exists()
    submit(again, password=PASSWORD, accept_terms=True)


@pytest.mark.parametrize("value", ["true", "on", ""])
def test_a_form_accepts_by_the_version_alone(client, value):
    sent = {**ADA, "accept_terms": value, "next": ""}
    client.post(REGISTER, sent, headers=SAME_ORIGIN, status=422)
    refused = client.post(REGISTER, sent, headers=SCRIPT, status=422)
    assert list(refused.json["errors"]) == ["accept_terms"]
    assert not User.select().exists()


def test_a_script_registers(client):
    sent = {**ADA, "accept_terms": VERSION}
    client.post(REGISTER, sent, headers=SCRIPT, status=201)
    assert client.get("/").json["user"] == USERNAME


@pytest.mark.every_database
@pytest.mark.promise(97)
def test_an_account_that_the_application_refuses_leaves_no_acceptance(make_site, heard):
    refusals = [ValidationError({"email": ["Not here."]}), RuntimeError("failed")]

    def on_registered(user, values):
        assert accepted_by(user) == [VERSION]
        assert values == {"phone": "1"}
        if refusals:
            raise refusals.pop(0)

    site = make_site(registration=[Field("phone", "Phone")], on_registered=on_registered)
    client = TestApp(site)
    sent = {**ADA, "phone": "1", "accept_terms": True}
    for status in (422, 500):
        client.post_json(REGISTER, sent, status=status)
        with context.using(site.database):
            assert (User.select().count(), Acceptance.select().count()) == (0, 0)
            assert RecordedEvent.select().count() == 0
        assert heard == []
    client.post_json(REGISTER, sent, status=201)
    assert reasons(heard) == [VERSION]


def test_another_version_is_refused_before_the_application_is_asked(make_site):
    """Nothing counts such requests, so they must not call a `check` that compares a secret."""
    asked = []
    site = make_site(registration=[Field("code", "Code", check=asked.append)])
    client, sent = TestApp(site), {**ADA, "code": "1"}
    client.post_json(REGISTER, {**sent, "accept_terms": OLDER}, status=409)
    assert asked == []
    refused = client.post_json(REGISTER, {**sent, "email": "x", "accept_terms": ""}, status=422)
    assert asked == ["1"]
    assert {"email", "accept_terms"} == refused.json["errors"].keys()


def test_a_taken_name_leaves_no_acceptance(client, site, ada):
    client.post_json(REGISTER, {**ADA, "accept_terms": True}, status=409)
    assert number_of_rows(site) == 0


# A link


@pytest.fixture
def mail_site(make_site):
    """Return a site that verifies addresses, and keeps its emails."""
    site = make_site(of={**MAIL, "VERIFICATION": True}, send_mail=Post())
    mailbox(site)
    return site


def link_of(site):
    return mailbox(site).links[-1].removeprefix(MAIL["PUBLIC_URL"])


@pytest.mark.promise(97)
def test_a_registration_by_link_asks_at_the_link_alone(mail_site, heard):
    client = TestApp(mail_site)
    page = client.get(REGISTER, headers=BROWSER)
    assert "accept_terms" not in page.form.fields
    submit(page, 202, username=USERNAME, email=EMAIL)
    page = client.get(link_of(mail_site), headers=BROWSER)
    refused = submit(page, 422, password=PASSWORD)
    assert refused.html.find(id="accept_terms-error") is not None
    assert number_of_rows(mail_site) == 0
    submit(refused, password=PASSWORD, accept_terms=True)
    assert client.get("/").json["user"] == USERNAME
    assert reasons(heard) == [VERSION]


@pytest.mark.every_database
@pytest.mark.promise(97)
def test_a_refusal_does_not_use_the_link_up(mail_site):
    client = TestApp(mail_site)
    names = {"username": USERNAME, "email": EMAIL}
    client.post_json(REGISTER, names, status=202)
    token = link_of(mail_site).partition("token=")[2]
    sent = {"token": token, "password": PASSWORD}
    wrong = [
        each
        for each in REFUSED
        if not is_refused(client.post_json(VERIFY, {**sent, **each}, status="*"), each)
    ]
    assert wrong == []
    with context.using(mail_site.database):
        assert (User.select().count(), OneTimeSecret.select().count()) == (0, 1)
    client.post_json(VERIFY, {**sent, "accept_terms": True}, status=201)
    assert number_of_rows(mail_site) == 1


@pytest.mark.promise(97)
def test_an_invited_person_accepts(mail_site):
    client = TestApp(mail_site)
    mail_site.invite(EMAIL, username=USERNAME)
    page = client.get(link_of(mail_site), headers=BROWSER)
    submit(page, 422, password=PASSWORD)
    again = submit_version(page, OLDER, 409, password=PASSWORD)
    assert not again.form["accept_terms"].checked
    submit(again, password=PASSWORD, accept_terms=True)
    assert client.get("/").json["user"] == USERNAME
    assert number_of_rows(mail_site) == 1


@pytest.mark.promise(96)
def test_a_link_does_not_replace_a_session_that_lacks_the_terms(mail_site):
    browser = logged_in(mail_site, make_user(mail_site, "grace"), terms=False)
    mail_site.invite(EMAIL, username=USERNAME)
    page = browser.get(link_of(mail_site), headers=BROWSER)
    answer = submit(page, password=PASSWORD, accept_terms=True)
    assert path_of(answer) == "/auth/login"
    assert browser.get("/auth/me").json["username"] == "grace"
    assert answer.follow(headers=BROWSER, status=303).location == "/auth/terms"


def test_an_account_without_a_password_accepts_too(make_site):
    of = {**MAIL, "VERIFICATION": True, "LOGIN_CODES": True, "PASSWORD_LOGIN": False}
    site = make_site(of={**of, "FACTOR_KEY": FACTOR_KEY}, send_mail=Post())
    mailbox(site)
    client = TestApp(site)
    client.post_json(REGISTER, {"username": USERNAME, "email": EMAIL}, status=202)
    page = client.get(link_of(site), headers=BROWSER)
    submit(page, 422)
    submit(page, accept_terms=True)
    assert client.get("/").json["user"] == USERNAME


@pytest.mark.promise(97)
def test_the_page_after_a_code_asks(make_site):
    site = make_site(of={**MAIL, "VERIFICATION": True, "LOGIN_CODES": True}, send_mail=Post())
    mailbox(site)
    client = TestApp(site)
    sent = {"username": USERNAME, "email": EMAIL}
    client.post(REGISTER, sent, headers=SAME_ORIGIN, status=303)
    code = {"code": mailbox(site).codes[-1]}
    answer = client.post("/auth/code/enter", code, headers=SAME_ORIGIN, status=303)
    page = client.get(answer.location, headers=BROWSER)
    submit(page, 422)
    assert number_of_rows(site) == 0
    submit(page, accept_terms=True)
    assert client.get("/").json["user"] == USERNAME


@pytest.mark.promise(97)
def test_a_program_accepts_with_the_code(make_site):
    site = make_site(of={**MAIL, "VERIFICATION": True, "LOGIN_CODES": True}, send_mail=Post())
    mailbox(site)
    client = TestApp(site)
    sent = {"username": USERNAME, "email": EMAIL}
    sent = {"request": client.post_json(REGISTER, sent, status=202).json["request"]}
    sent["code"] = mailbox(site).codes[-1]
    client.post_json("/auth/code/enter", sent, status=422)
    client.post_json("/auth/code/enter", {**sent, "accept_terms": VERSION}, status=201)
    assert number_of_rows(site) == 1


def test_a_new_address_does_not_ask(mail_site):
    headers = bearer(mail_site, make_user(mail_site))
    client = TestApp(mail_site)
    client.post_json("/auth/email", {"email": "new@example.org"}, headers=headers, status=202)
    token = link_of(mail_site).partition("token=")[2]
    client.post_json(VERIFY, {"token": token}, headers=headers, status=200)
    assert number_of_rows(mail_site) == 1  # of `bearer`


# A provider


@pytest.mark.promise(97)
def test_an_account_of_a_provider_accepts(make_provider_site, provider, heard):
    site = make_provider_site(**TERMS)
    client = TestApp(site)
    answer = log_in(client, provider, "eve", status=303, next="/members")
    page = client.get(answer.location, headers=BROWSER)
    page.mustcontain(no="By creating an account")
    for refused in (submit(page, 422), submit_version(page, OLDER, 409)):
        assert not refused.form["accept_terms"].checked
    assert number_of_rows(site) == 0
    assert submit(page, accept_terms=True).location == "/members"
    assert client.get("/").json["user"] == "eve"
    assert reasons(heard) == [VERSION]


@pytest.mark.promise(97)
def test_a_refusal_does_not_end_the_wait_of_an_account(make_provider_site, provider):
    site = make_provider_site(**TERMS)
    client = TestApp(site)
    log_in(client, provider, "eve", status=303)
    here = {"Sec-Fetch-Site": "same-origin"}
    wrong = [
        each
        for each in REFUSED
        if not is_refused(
            client.post_json(COMPLETE, {"username": "eve", **each}, headers=here, status="*"), each
        )
    ]
    assert wrong == []
    sent = {"username": "eve", "accept_terms": True}
    client.post_json(COMPLETE, sent, headers=here, status=201)
    assert number_of_rows(site) == 1


@pytest.mark.promise(97)
def test_an_address_that_the_provider_has_not_verified_asks_at_the_link(
    make_provider_site, provider
):
    provider.people["eve"] = {"email": EMAIL, "email_verified": False}
    site = make_provider_site(**MAIL, **TERMS)
    mailbox(site)
    client = TestApp(site)
    log_in(client, provider, "eve", status=303)
    page = client.get(COMPLETE, headers=BROWSER)
    assert "accept_terms" not in page.form.fields
    submit(page, 202, email=EMAIL)
    page = client.get(link_of(site), headers=BROWSER)
    submit_version(page, LATER, 409)
    again = submit(page, 422)
    with context.using(site.database):
        assert not User.select().exists()
    submit(again, accept_terms=True)
    assert client.get("/").json["user"] == "eve"
    assert number_of_rows(site) == 1


def test_a_connected_account_does_not_ask(make_provider_site, provider, ada):
    site = make_provider_site(**TERMS)
    client = TestApp(site)
    log_in(client, provider, "eve", status=303)
    page = client.get("/auth/login", headers=BROWSER)
    page.form["username"], page.form["password"] = USERNAME, PASSWORD
    page.form["next"].force_value(COMPLETE)
    answer = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert answer.location == to_page(COMPLETE)
    assert path_of(client.get(COMPLETE, headers=BROWSER, status=302)) == "/auth/terms"


# A field of the application


def test_a_field_of_this_name_is_refused_while_the_setting_is_there(make_site, settings):
    own = [Field("accept_terms", "I accept", kind="checkbox", required=True)]
    with pytest.raises(ConfigurationError, match="a field with the name accept_terms"):
        make_site(registration=own)
    taken = []
    site = make_site(
        version=None, registration=own, on_registered=lambda user, values: taken.append(values)
    )
    client = TestApp(site)
    client.post_json(REGISTER, ADA, status=422)
    client.post_json(REGISTER, {**ADA, "accept_terms": True}, status="4*")
    client.post_json(REGISTER, {**ADA, "accept_terms": "on"}, status=201)
    assert list(taken[0]) == ["accept_terms"]
    assert number_of_rows(site) == 0


def test_without_the_setting_nothing_is_asked(make_site):
    site = make_site(version=None)
    client = TestApp(site)
    page = client.get(REGISTER, headers=BROWSER)
    page.mustcontain("By creating an account, you accept the")
    assert "accept_terms" not in page.form.fields
    client.post_json(REGISTER, {**ADA, "accept_terms": "ignored"}, status=201)
    assert number_of_rows(site) == 0
    with context.using(site.database):
        assert not Session.select().exists()


LOOP = """{% extends "layout.html" %}
{% block content %}
<form method="post" action="{{ page.register_url }}">
{% for each in page.fields %}
<input type="checkbox" name="{{ each.name }}" VALUE>
{% endfor %}
</form>
{% endblock %}
"""


@pytest.mark.slow
def test_a_template_from_before_whose_box_sends_on_is_refused_at_start(make_site, tmp_path):
    """Otherwise, nobody could create an account."""
    template = tmp_path / "register.html"
    template.write_text(LOOP.replace("VALUE", ""))
    with pytest.raises(ConfigurationError, match="does not ask for the required field accept_term"):
        make_site(of={"TEMPLATES": str(tmp_path)})
    template.write_text(LOOP.replace("VALUE", 'value="{{ each.ticked }}"'))
    page = TestApp(make_site(of={"TEMPLATES": str(tmp_path)})).get(REGISTER, headers=BROWSER)
    assert page.html.find(attrs={"name": "accept_terms"})["value"] == VERSION
