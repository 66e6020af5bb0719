"""Registration by the code in the email of /auth/register."""

import re
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.features.links.test_forgot import without_values
from tests.features.login_codes.conftest import WRONG, Program, Tab
from tests.support.factors import add_app
from tests.support.mails import MAIL, Post
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, Field, Session, storage
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.mail.letters import plain_text_of
from wsgiauth.testing import bearer, logged_in, mailbox

NEW, LIN = "lin@example.org", "Lin"
NAMES = {"username": LIN, "email": NEW}
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
ENTER, AGAIN = "/auth/code/enter", {"again": "on"}
SCRIPT = {**SAME_ORIGIN, "Accept": "application/json"}


@pytest.fixture
def options():
    return {"VERIFICATION": True}


@pytest.fixture
def make_site(settings):
    """Return a function that makes another site with the same database."""
    made = []

    def make(registration=(), on_registered=None, **changes):
        site = AuthMiddleware(
            echo,
            replace(settings, **changes),
            send_mail=Post(),
            registration=registration,
            on_registered=on_registered,
        )
        mailbox(site)
        made.append(site)
        return site

    yield make
    for each in made:
        storage.discard_connection(each.database)


class Newcomer(Tab):
    """A browser that registers."""

    def register(self, **fields):
        """Send the form; return the page with the field for the code."""
        sent = self.client.post(
            "/auth/register", {**NAMES, **fields}, headers=SAME_ORIGIN, status=303
        )
        return sent.follow(headers={**BROWSER})

    def code(self):
        return mailbox(self.site).codes[-1]

    def open_link(self, status=200):
        return self.client.get(link_of(self.site), headers=BROWSER, status=status)


@pytest.fixture
def newcomer(site):
    return Newcomer(site)


def link_of(site, number=-1):
    """Return the path and the query of a link."""
    return mailbox(site).links[number].removeprefix(MAIL["PUBLIC_URL"])


def begin(program, **fields):
    """Register as a program; return the request."""
    answer = program.client.post_json("/auth/register", {**NAMES, **fields}, status=202)
    return answer.json["request"]


@pytest.fixture
def later_of(monkeypatch):
    """Return a function that stops the clock of a site, and returns one that moves it."""

    def of(site):
        start = site.site.tokens.now()

        def move(seconds):
            for clock in (site.site.tokens, site.site.outbox):
                monkeypatch.setattr(clock, "now", lambda: start + seconds)

        move(0)
        return move

    return of


@pytest.fixture
def later(site, later_of):
    """Return a function that moves the clock of the site to so many seconds after its start."""
    return later_of(site)


# The email


def test_the_email_has_the_link_first_and_says_who_asked(site, newcomer):
    newcomer.client.extra_environ["HTTP_USER_AGENT"] = FIREFOX
    newcomer.register()
    (message,) = mailbox(site)
    text = plain_text_of(message)
    parts = [
        "/auth/verify?token=",
        "for 10 minutes",
        newcomer.code(),
        "Firefox on Linux",
        "Give this code to no one",
        "this link or code",
    ]
    assert sorted(parts, key=text.index) == parts
    html = message.get_body(("html",)).get_content()
    assert re.search(r'href="https://example.org/auth/verify\?token=[^"]+" style="display', html)


def test_without_codes_the_registration_is_as_before(make_site):
    client = TestApp(make_site(LOGIN_CODES=False))
    page = client.post("/auth/register", NAMES, headers=SAME_ORIGIN, status=202)
    assert page.html.h1.text == "Check your email"
    assert "request" not in client.post_json("/auth/register", NAMES, status=202).json


def test_an_email_that_comes_too_late_has_the_link_alone(site, newcomer, later):
    newcomer.client.post("/auth/register", NAMES, headers=SAME_ORIGIN, status=303)
    later(600)
    assert mailbox(site).codes == []
    newcomer.open_link()


@pytest.mark.promise(100)
def test_an_email_that_is_sent_again_has_another_link_and_code(site, newcomer, monkeypatch):
    outbox = site.site.outbox
    real = outbox._letters.message
    sent = []

    def fail_once(addressed):
        sent.append(addressed.letter)
        if len(sent) == 1:
            raise OSError("away")
        return real(addressed)

    monkeypatch.setattr(outbox._letters, "message", fail_once)
    newcomer.client.post("/auth/register", NAMES, headers=SAME_ORIGIN, status=303)
    mailbox(site)
    now = outbox.now() + 120
    monkeypatch.setattr(outbox, "now", lambda: now)
    mailbox(site)
    first, second = sent
    assert first.code != second.code
    newcomer.enter(first.code, 401)
    newcomer.enter(second.code, 303)
    assert newcomer.name() == LIN


# A browser


@pytest.mark.every_database
@pytest.mark.promise(100)
def test_a_newcomer_is_in_after_a_form_and_eight_digits(site, newcomer, heard):
    page = newcomer.client.get("/auth/register?next=/reports", headers=BROWSER)
    page.mustcontain("with a link and a code")
    page.form["username"], page.form["email"] = LIN, NEW
    page = page.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    for sentence in ("for 10 minutes", "within the next 60 minutes", "the code of the newest"):
        page.mustcontain(sentence)
    assert User.select().count() == 0
    page.form["code"] = newcomer.code()
    answer = page.form.submit(headers=SAME_ORIGIN, status=303)
    assert answer.location == "/reports"
    assert newcomer.name() == LIN
    user = User.get()
    assert (user.email, user.has_password, user.email_verified_by) == (NEW, False, "link")
    assert Session.get().methods == "email"
    assert not any("code" in name or "detour" in name for name in newcomer.client.cookies)
    assert [each.name for each in heard].count("registration") == 1
    account = newcomer.client.get("/auth/account", headers=BROWSER)
    account.mustcontain("Set a password", "a code by email")


def test_a_pasted_email_is_read(site, newcomer):
    page = newcomer.register()
    assert page.form["code"].attrs["maxlength"] == "1000"
    (message,) = mailbox(site)
    pasted = plain_text_of(message).replace("\n", "")  # as browsers do in a field of one line
    newcomer.enter(pasted, 303)
    assert newcomer.name() == LIN


def test_two_numbers_cost_one_try(newcomer):
    newcomer.register()
    code = newcomer.code()
    for _ in range(4):
        newcomer.enter(f"{code}, {WRONG}", 401)
    newcomer.enter(f"{code}. It works for 10 minutes, until 12:30", 303)


@pytest.mark.promise(100)
def test_a_name_that_was_taken_meanwhile_is_asked_again(newcomer, site, settings):
    newcomer.register(next="/reports")
    create_user(LIN, "other@example.org", PASSWORD, settings=settings)
    page = newcomer.enter(newcomer.code(), 303).follow(headers=BROWSER)
    assert page.html.find(id="username-error").text == "This username is taken."
    assert "required" not in page.form["password"].attrs
    page.form["username"] = "Lin2"
    page.form["password"] = PASSWORD
    assert page.form.submit(headers=SAME_ORIGIN, status=303).location == "/reports"
    assert newcomer.name() == "Lin2"
    assert User.get(username="Lin2").has_password


@pytest.mark.every_database
@pytest.mark.promise(100)
def test_a_site_that_asks_more_asks_it_after_the_code(make_site):
    site = make_site(registration=[Field("phone", "Phone", required=True)])
    newcomer = Newcomer(site)
    newcomer.register()
    code, link = newcomer.code(), link_of(site)
    answer = newcomer.enter(code, 303)
    assert "lin" not in answer.location.lower().partition("token")[0]
    page = answer.follow(headers=BROWSER)
    newcomer.client.get(link, headers=BROWSER, status=410)
    newcomer.enter(code, 401)
    assert User.select().count() == 0
    refused = page.form.submit(headers=SAME_ORIGIN, status=422)
    refused.form["phone"] = "+1"
    refused.form["password"] = "short"
    refused = refused.form.submit(headers=SAME_ORIGIN, status=422)
    assert refused.html.find(id="password-error")
    refused.form["phone"] = "+1"
    refused.form.submit(headers=SAME_ORIGIN, status=303)
    assert newcomer.name() == LIN
    assert (User.get().has_password, Session.get().methods) == (False, "email")


@pytest.mark.promise(100)
def test_the_page_after_the_code_lasts_as_long_as_the_link(make_site, monkeypatch):
    site = make_site(registration=[Field("phone", "Phone", required=True)])
    newcomer = Newcomer(site)
    newcomer.register()
    location = newcomer.enter(newcomer.code(), 303).location
    now = site.site.tokens.now()
    for minutes, status in ((59, 200), (60, 410)):
        monkeypatch.setattr(site.site.tokens, "now", lambda m=minutes: now + m * 60)
        newcomer.client.get(location, headers=BROWSER, status=status)


def test_a_link_still_needs_a_password(newcomer):
    newcomer.register()
    page = newcomer.open_link()
    refused = page.form.submit(headers=SAME_ORIGIN, status=422)
    assert refused.html.find(id="password-error")
    assert User.select().count() == 0


def test_a_refusal_of_the_application_leads_to_the_page(make_site):
    from wsgiauth.exceptions import ValidationError

    def refuse(user, values):
        raise ValidationError({"email": ["Not this one."]})

    newcomer = Newcomer(make_site(on_registered=refuse))
    newcomer.register()
    page = newcomer.enter(newcomer.code(), 303).follow(headers=BROWSER)
    assert page.html.h1.text == "Create your account"
    assert User.select().count() == 0


def test_without_usernames_an_address_and_a_code_are_enough(make_site, later_of):
    site = make_site(USERNAMES=False)
    newcomer, move = Newcomer(site), later_of(site)
    page = newcomer.client.get("/auth/register", headers=BROWSER)
    page.form["email"] = NEW
    page = page.form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    move(30)
    page = page.form.submit("again", headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    page.form["code"] = newcomer.code()
    page.form.submit(headers=SAME_ORIGIN, status=303)
    user = User.get()
    assert (user.email, newcomer.name()) == (NEW, user.username)
    assert re.fullmatch("u[a-z2-7]{15}", user.username)


def test_a_program_is_told_of_the_link_and_the_code(program):
    answer = program.client.post_json("/auth/register", NAMES, status=202)
    assert "with a link and a code" in answer.json["detail"]


def test_without_usernames_a_program_sends_none(make_site):
    program = Program(make_site(USERNAMES=False))
    sent = {"email": NEW, "username": "ignored"}
    request = program.client.post_json("/auth/register", sent, status=202).json["request"]
    answer = program.enter(request, program.code(), 201, username="Ida", password=PASSWORD)
    assert re.fullmatch("u[a-z2-7]{15}", answer.json["username"])
    document = program.client.get("/auth/openapi.json").json["paths"]["/code/enter"]["post"]
    schema = document["requestBody"]["content"]["application/json"]["schema"]
    assert "username" not in schema["properties"]


def test_a_script_registers_by_the_cookie(site, make_site):
    for made, status in (
        (site, 201),
        (make_site(registration=[Field("phone", "Phone", required=True)]), 200),
    ):
        newcomer = Newcomer(made)
        sent = {**NAMES, "email": f"{status}@example.org", "username": f"lin{status}"}
        answer = newcomer.client.post("/auth/register", sent, headers=SCRIPT, status=202)
        assert answer.json.keys() == {"detail"}
        code = {"code": newcomer.code()}
        answer = newcomer.client.post("/auth/code/enter", code, headers=SCRIPT, status=status)
        assert (answer.json.get("next") or "").startswith(
            "/auth/verify?token=" if status == 200 else ""
        )
        assert newcomer.name() == ("lin201" if status == 201 else None)


@pytest.mark.promise(100)
def test_a_browser_with_a_session_keeps_it(site, settings, newcomer):
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    newcomer.client = logged_in(site, grace)
    newcomer.register()
    answer = newcomer.enter(newcomer.code(), 303)
    assert answer.location == "/auth/login"
    assert newcomer.name() == "Grace"
    assert User.get(username=LIN).email == NEW
    assert Session.select().where(Session.user != grace).count() == 0


@pytest.mark.promise(37, 100)
def test_what_is_sent_besides_the_names_is_ignored(newcomer, program):
    newcomer.register(password="a password of a stranger")
    newcomer.enter(newcomer.code(), 303, password="another one of a form", username="Eve")
    user = User.get()
    assert (user.username, user.has_password) == (LIN, False)


# A program


@pytest.mark.every_database
def test_a_program_creates_an_account_with_a_password(make_site):
    site = make_site(registration=[Field("phone", "Phone", required=True)])
    program = Program(site)
    request, code = begin(program), program.code()
    for sent, wrong in (
        ({}, {"phone"}),
        ({"phone": "+1", "password": "short"}, {"password"}),
    ):
        answer = program.enter(request, code, 422, **sent)
        assert answer.json["errors"].keys() == wrong
    answer = program.enter(request, code, 201, phone="+1", password=PASSWORD, username="Ida")
    assert answer.json["username"] == "Ida"
    assert "Set-Cookie" not in answer.headers
    assert User.get().has_password
    assert OneTimeSecret.select().count() == 0
    program.enter(request, code, 401)


def test_a_program_needs_no_password_and_is_told_of_a_taken_name(program, settings):
    create_user(LIN, "other@example.org", PASSWORD, settings=settings)
    request, code = begin(program), program.code()
    assert program.enter(request, code, 409).json["code"] == "taken"
    program.enter(request, code, 201, username="Lin2")
    assert not User.get(username="Lin2").has_password


def test_a_field_of_the_site_does_not_get_the_code(make_site):
    seen = []
    fields = [Field(name, name) for name in ("code", "refresh", "phone")]
    site = make_site(fields, lambda user, values: seen.append(values))
    program = Program(site)
    request, code = begin(program), program.code()
    program.enter(request, code, 201, phone="+1", refresh=True)
    assert seen == [{"code": "", "refresh": "", "phone": "+1"}]
    schema = program.client.get("/auth/openapi.json").json["paths"]["/code/enter"]["post"]
    described = schema["requestBody"]["content"]["application/json"]["schema"]["properties"]
    assert described["refresh"]["type"] == "boolean"
    assert "phone" in described


def test_without_verification_a_code_takes_no_fields(make_site):
    site = make_site([Field("phone", "Phone")], VERIFICATION=False)
    paths = TestApp(site).get("/auth/openapi.json").json["paths"]
    schema = paths["/code/enter"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert "phone" not in schema["properties"]


# The code and the link


@pytest.mark.every_database
@pytest.mark.promise(100)
def test_the_code_of_a_stranger_is_void_after_the_owner_has_used_the_link(site, newcomer):
    newcomer.register(username="Mallory")
    code, owner = newcomer.code(), Newcomer(site)
    page = owner.open_link()
    page.form["password"] = PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)
    refused = newcomer.enter(code, 401)
    assert "This code is wrong" in refused.html.find(role="alert").text
    assert newcomer.name() is None
    assert [each.user_id for each in Session.select()] == [User.get().id]


@pytest.mark.every_database
@pytest.mark.promise(100)
def test_the_link_is_void_after_the_code_was_used(site, newcomer):
    newcomer.register()
    link = link_of(site)
    newcomer.enter(newcomer.code(), 303)
    for client in (newcomer.client, TestApp(site)):
        client.get(link, headers=BROWSER, status=410)
        token = link.partition("=")[2]
        sent = {"token": token, "password": PASSWORD, "username": "Eve"}
        client.post_json("/auth/verify", sent, status=410)
    assert not User.get().has_password


@pytest.mark.promise(100)
def test_a_code_is_void_if_the_address_got_an_account_in_another_way(program, settings):
    request, code = begin(program), program.code()
    create_user("Owner", NEW, PASSWORD, settings=settings, is_verified=True)
    assert program.enter(request, code, 401).json["code"] == "invalid_code"
    assert Session.select().count() == 0


@pytest.mark.promise(82, 100)
def test_wrong_codes_end_the_code_and_not_the_link(site, newcomer):
    newcomer.register()
    code = newcomer.code()
    for _ in range(5):
        newcomer.enter(WRONG, 401)
    newcomer.enter(code, 401)
    page = newcomer.open_link()
    page.form["password"] = PASSWORD
    page.form.submit(headers=SAME_ORIGIN, status=303)
    assert newcomer.name() == LIN


@pytest.mark.promise(100)
def test_a_code_works_only_with_its_own_request(site, program, newcomer):
    first, code = begin(program), program.code()
    second = begin(program, username="Ida", email="ida@example.org")
    newcomer.register(email="tab@example.org")
    assert program.enter(second, code, 401)
    newcomer.enter(code, 401)
    Tab(site).enter(code, 401)
    program.enter(first, code, 201)
    assert [each.email for each in User.select()] == [NEW]


@pytest.mark.promise(82, 100)
def test_codes_of_logins_and_of_registrations_are_refused_in_each_others_requests(program, ada):
    login, of_login = program.ask(), program.code()
    registration, of_registration = begin(program), program.code()
    program.enter(login, of_registration, 401)
    program.enter(registration, of_login, 401)
    assert User.select().count() == 1


@pytest.mark.promise(100)
def test_a_code_of_a_registration_confirms_no_session(site, program, settings):
    zoe = create_user("zoe", "zoe@example.org", None, settings=settings, is_verified=True)
    request = begin(program)
    headers = bearer(site, zoe, confirmed_minutes_ago=60)
    sent = {"request": request, "code": program.code()}
    program.client.post_json("/auth/confirm", sent, headers=headers, status=401)
    program.enter(request, program.code(), 201)


@pytest.mark.promise(100)
def test_another_email_voids_the_former_code(site, newcomer, later):
    page = newcomer.register(next="/reports")
    former, link = newcomer.code(), link_of(site)
    later(29)
    page.form["code"] = "1234"
    early = page.form.submit("again", headers=SAME_ORIGIN, status=429)
    assert early.headers["Retry-After"] == "1"
    assert "Try again in a second." in early.html.find(role="alert").text
    assert (early.form["code"].value, early.form["next"].value) == ("1234", "/reports")
    assert len(mailbox(site)) == 1
    later(30)
    again = early.form.submit("again", headers=SAME_ORIGIN, status=303)
    assert NEW not in again.location
    again = again.follow(headers=BROWSER)
    assert "another email is on its way" in again.html.find(role="status").text
    assert again.form["next"].value == "/reports"
    assert again.form["code"].value == ""
    newcomer.enter(former, 401)
    TestApp(site).get(link, headers=BROWSER, status=200)
    newcomer.enter(newcomer.code(), 303)
    TestApp(site).get(link, headers=BROWSER, status=410)


def test_another_email_is_counted(newcomer, later):
    page = newcomer.register()
    for seconds in (30, 60):
        later(seconds)
        page.form.submit("again", headers=SAME_ORIGIN, status=303)
    later(90)
    refused = page.form.submit("again", headers=SAME_ORIGIN, status=429)  # MAILS_PER_ACCOUNT
    assert "minutes" in refused.html.find(role="alert").text


@pytest.mark.promise(34)
def test_of_a_code_and_a_link_at_the_same_moment_one_works(site, program, monkeypatch):
    """Another client uses the link after the code was found to be right."""
    from wsgiauth.features.login_codes import registering

    real = registering.read_invitation

    def use_link_first(secret):
        OneTimeSecret.delete().where(OneTimeSecret.id == secret.id).execute()
        return real(secret)

    fields = [Field("phone", "Phone")]
    other = AuthMiddleware(echo, site.site.settings, send_mail=Post(), registration=fields)
    mailbox(other)
    tab = Newcomer(other)
    tab.register()
    code_of_tab = tab.code()
    request, code = begin(program), program.code()
    monkeypatch.setattr(registering, "read_invitation", use_link_first)
    program.enter(request, code, 401)
    tab.enter(code_of_tab, 401)
    assert User.select().count() == 0
    storage.discard_connection(other.database)


# An address that has an account


@pytest.mark.every_database
@pytest.mark.promise(83, 100)
def test_a_proven_owner_logs_in_by_the_code_of_the_same_email(site, newcomer, ada):
    newcomer.register(email=EMAIL.upper(), next="/reports")
    (message,) = mailbox(site)
    text = plain_text_of(message)
    assert text.index("/auth/reset?token=") < text.index(newcomer.code())
    assert message["Subject"] == "You already have an account at example.org"
    assert "you have one already" in text
    assert "was requested" not in text
    page = newcomer.client.get("/auth/code/enter?next=/reports", headers=BROWSER)
    page.form["code"] = newcomer.code()
    assert page.form.submit(headers=SAME_ORIGIN, status=303).location == "/reports"
    assert newcomer.name() == USERNAME
    assert User.select().count() == 1


def test_without_passwords_the_owner_gets_a_code_too(make_site, ada):
    newcomer = Newcomer(make_site(PASSWORD_LOGIN=False))
    newcomer.register(email=EMAIL)
    newcomer.enter(newcomer.code(), 303)
    assert newcomer.name() == USERNAME


def test_the_code_of_an_owner_is_one_factor(program, ada):
    add_app(program.site, ada)
    request = begin(program, email=EMAIL)
    assert program.enter(request, program.code(), 401).json["code"] == "second_factor_required"


@pytest.mark.promise(82)
def test_an_unproven_owner_gets_the_link_alone(site, newcomer, settings):
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    newcomer.register(email=EMAIL)
    assert mailbox(site).codes == []
    assert "/auth/reset?token=" in link_of(site)


def test_an_inactive_owner_gets_nothing(site, newcomer, ada):
    update_user(ada, is_active=False)
    newcomer.register(email=EMAIL)
    assert len(mailbox(site)) == 0


@pytest.mark.promise(82)
def test_registrations_and_logins_share_the_limit_of_codes_of_an_account(site, ada):
    for number in range(3):  # MAILS_PER_ACCOUNT
        Program(site, f"192.0.2.{number}").ask(EMAIL)
    assert len(mailbox(site).codes) == 3
    begin(Program(site, "192.0.2.7"), email=EMAIL)
    assert len(mailbox(site)) == 4
    assert len(mailbox(site).codes) == 3
    begin(Program(site, "192.0.2.7"))
    assert len(mailbox(site).codes) == 4  # a code that creates an account is no login


def test_clients_that_the_name_alone_still_knows_share_a_limit(site, ada):
    first, second = Program(site, "192.0.2.1"), Program(site, "198.51.100.2")
    for each in (first, second):
        each.enter(each.ask(EMAIL), each.code(), 200)
    User.update(security_stamp=User.security_stamp + 1).execute()
    for _ in range(3):
        first.ask(EMAIL)
    assert len(mailbox(site).codes) == 5
    begin(second, email=EMAIL)
    assert len(mailbox(site)) == 6
    assert len(mailbox(site).codes) == 5


# Nothing tells who has an account


@pytest.mark.every_database
@pytest.mark.promise(38, 83, 100)
def test_every_address_has_the_same_answers_and_statements(site, ada, settings, queries, later):
    inactive = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    update_user(inactive, is_active=False)
    create_user("Uma", "uma@example.org", PASSWORD, settings=settings)  # never proven
    seen = {}
    for email in (NEW, EMAIL, "grace@example.org", "uma@example.org"):
        later(0)
        address = f"192.0.2.{len(seen) + 1}"
        tab, program = Newcomer(site), Program(site, address)
        tab.client.extra_environ["REMOTE_ADDR"] = address
        answers, statements = [], []

        def count(send, answers=answers, statements=statements):
            sent = queries(lambda: answers.append(send()))
            statements.append([without_values(sql) for sql in sent])
            mailbox(site)

        form = {"username": LIN, "email": email}
        count(lambda c=tab.client, f=form: c.post("/auth/register", f, headers=SAME_ORIGIN))
        count(lambda c=tab.client: c.get("/auth/code/enter", headers=BROWSER))
        count(lambda t=tab: t.enter(WRONG))
        for seconds in (10, 40, 80, 120):
            later(seconds)
            count(lambda c=tab.client: c.post(ENTER, AGAIN, headers=SAME_ORIGIN, status="*"))
        count(lambda p=program, f=form: p.client.post_json("/auth/register", f, status="*"))
        request = program.client.post_json("/auth/register", form, status="*")
        assert request.status_int == 429
        seen[email] = [shown(each) for each in answers], statements
    assert "wsgiauth_user" not in str(seen[NEW][1][0])
    for email, found in seen.items():
        assert found == seen[NEW], email


def shown(answer):
    """Return an answer without secrets, sealed values and the time that has passed."""
    headers = [
        (name, re.sub("=[^;]+", "=", value, count=1) if name == "Set-Cookie" else value)
        for name, value in answer.headerlist
        if name not in ("Retry-After", "Content-Length")
    ]
    parts = rb'"request":"[^"]+"|in \d+ (seconds|minutes)|(?<=data-wait=")\d+|(?<=id="asked">)[^<]+'
    body = re.sub(parts, b"", answer.body)
    return answer.status, headers, body


@pytest.mark.promise(83)
def test_the_address_is_in_no_url_or_readable_cookie(newcomer):
    fields = {"username": "goldfinch", "email": "goldfinch@example.org"}
    sent = newcomer.client.post("/auth/register", fields, headers=SAME_ORIGIN, status=303)
    page = sent.follow(headers=BROWSER)
    urls = [each["href"] for each in page.html.select("[href]:not([rel=icon])")]
    for found in (sent.location, *urls, *sent.headers.getall("Set-Cookie")):
        assert "finch" not in found
    assert page.text.count("goldfinch") == 1
    assert page.html.find(id="asked").text == "goldfinch@example.org"


def test_the_address_can_be_changed_where_it_was_typed(newcomer):
    fields = {"username": "goldfinch", "email": "goldfinch@example.org", "next": "/reports"}
    page = newcomer.client.post("/auth/register", fields, headers=SAME_ORIGIN, status=303)
    form = page.follow(headers=BROWSER).click("Change it").form
    assert {name: form[name].value for name in fields} == fields
    assert "autofocus" in form["email"].attrs
    plain = newcomer.client.get("/auth/register", headers=BROWSER)
    assert (plain.form["username"].value, plain.form["email"].value) == ("", "")


def test_the_registration_does_not_show_for_whom_a_code_was_asked(newcomer):
    newcomer.client.post("/auth/code", {"username": "goldfinch"}, headers=SAME_ORIGIN, status=303)
    assert "goldfinch" not in newcomer.client.get("/auth/register?change=1", headers=BROWSER)


@pytest.mark.promise(17)
def test_another_site_can_neither_ask_nor_enter(newcomer):
    newcomer.register()
    cross = {**SAME_ORIGIN, "Sec-Fetch-Site": "cross-site"}
    for path, sent in (
        ("/auth/register", NAMES),
        ("/auth/code/enter", {"code": newcomer.code()}),
        ("/auth/code/enter", {"again": "on"}),
    ):
        newcomer.client.post(path, sent, headers=cross, status=403)
    assert User.select().count() == 0


@pytest.mark.parametrize(
    "closed", [{"REGISTRATION": False}, {"VERIFICATION": False}], ids=["closed", "without links"]
)
def test_a_registration_that_was_closed_sends_nothing_again(make_site, newcomer, closed, later_of):
    newcomer.register()
    assert newcomer.code()
    after = make_site(**closed)
    browser = TestApp(after, cookiejar=newcomer.client.cookiejar)
    later_of(after)(40)
    browser.post(ENTER, AGAIN, headers=SAME_ORIGIN, status=404)
    assert len(mailbox(after)) == 0
