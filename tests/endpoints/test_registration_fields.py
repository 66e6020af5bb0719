"""Fields of the application where accounts are created: /auth/register and /auth/verify."""

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime

import peewee
import pytest
from markupsafe import Markup
from webtest import TestApp

from tests.support.mails import MAIL, Post, with_mail
from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, Field, User, storage
from wsgiauth.accounts.registration import Registration
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ConfigurationError, ForbiddenError, ValidationError
from wsgiauth.features.links.invitations import Invitation
from wsgiauth.features.links.letters import issue_invitation
from wsgiauth.features.registry import FEATURES, page_samples
from wsgiauth.forms.registration import check_registration
from wsgiauth.mail.outbox import Mail
from wsgiauth.site import Site
from wsgiauth.testing import make_group, make_user
from wsgiauth.throttling.hash_slots import Claim

ADA = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
PHONE = {"phone": " +49 30 1 "}
VALUES = {"phone": "+49 30 1", "organisation": ""}
HOSTILE = "<script>alert(1)</script>"


def check_phone(value):
    return None if value.startswith("+") else "Begin with + and the code of the country."


FIELDS = (
    Field("phone", "Phone number", required=True, autocomplete="tel", check=check_phone),
    Field("organisation", "Organisation", max_length=40),
)


class Hook:
    """An `on_registered` that keeps what it was called with, and does what a test sets."""

    def __init__(self):
        self.calls = []
        self.action = None

    def __call__(self, user, values):
        self.calls.append((user.username, values))
        if self.action is not None:
            self.action(user, values)


@pytest.fixture
def hook():
    return Hook()


@pytest.fixture
def events():
    return []


@pytest.fixture
def make_site(settings, hook, events, unsent):
    """Return a function that makes a site with two fields."""
    made = []

    def make(**changes):
        site = AuthMiddleware(
            echo,
            with_mail(settings, **changes),
            send_mail=Post(),
            on_event=events.append,
            registration=FIELDS,
            on_registered=hook,
        )
        made.append(site)
        return site

    yield make
    for site in made:
        storage.discard_connection(site.database)


@pytest.fixture
def site(make_site):
    return make_site()


@pytest.fixture
def profiles(site):
    """Return a table of the application, in the same database."""

    class Profile(peewee.Model):
        user_id = peewee.BigIntegerField(primary_key=True)
        phone = peewee.CharField(max_length=40, unique=True)

        class Meta:
            database = site.database
            table_name = "profile_of_a_test"

    site.database.drop_tables([Profile])
    site.database.create_tables([Profile])
    yield Profile
    site.database.drop_tables([Profile])


@pytest.fixture
def make_link(site):
    """Return a function that returns the token of an invitation."""

    def make(**options):
        invitation = Invitation(**{"email": EMAIL, "username": USERNAME, **options})
        url = issue_invitation(invitation, None, site.site.settings, mount="/auth", now=time.time())
        return url.partition("=")[2]

    return make


def nothing_is_left():
    return not (User.objects.count() or RecordedEvent.select().count() or Mail.select().count())


# Asking


def test_a_program_sends_the_fields_beside_the_names(client, hook):
    profile = client.post_json("/auth/register", ADA | PHONE, status=201).json
    assert hook.calls == [(USERNAME, VALUES)]
    assert profile.keys() == client_profile_keys()


def client_profile_keys():
    names = ("id", "username", "label", "email", "email_verified", "created_at", "permissions")
    return {*names, "groups", "has_password", "is_active", "is_staff", "is_superuser", "language"}


def test_a_refused_value_is_told_by_field(client, hook):
    for sent, errors in (
        ({}, {"phone": ["This field is required."]}),
        ({"phone": "030"}, {"phone": ["Begin with + and the code of the country."]}),
        (
            {"phone": "+1", "organisation": "x" * 41},
            {"organisation": ["This field must have at most 40 characters."]},
        ),
    ):
        refused = client.post_json("/auth/register", ADA | sent, status=422).json
        assert (refused["code"], refused["errors"]) == ("invalid", errors)
        assert hook.calls == []
        assert nothing_is_left()


def test_all_that_is_wrong_is_told_at_once(client):
    refused = client.post_json("/auth/register", {"phone": "1"}, status=422).json
    assert refused["errors"].keys() == {*ADA, "phone"}


def test_a_value_that_is_no_string_is_refused(client, hook):
    for value in (5, ["+1"], None, {}):
        client.post_json("/auth/register", {**ADA, "phone": value}, status=400)
    assert hook.calls == []


def test_a_page_asks_for_them_before_the_password_and_for_optional_ones_after_it(client):
    page = client.get("/auth/register", headers=BROWSER)
    names = [each["name"] for each in page.html.form.find_all("input")]
    assert names == ["next", "username", "email", "phone", "password", "organisation"]
    phone, organisation = page.form["phone"].attrs, page.form["organisation"].attrs
    assert (phone["autocomplete"], phone["maxlength"]) == ("tel", "100")
    assert "required" in phone
    assert "autocomplete" not in organisation
    assert "required" not in organisation
    labels = [each.text for each in page.html.find_all("label")]
    assert labels == [
        *("Username", "Email address"),
        *("Phone number", "Password", "Organisation (optional)"),
    ]


def test_the_optional_ones_are_folded_unless_one_has_a_value_or_an_error(client):
    page = client.get("/auth/register", headers=BROWSER)
    (folded,) = page.html.find_all("details")
    assert [each["name"] for each in folded.find_all("input")] == ["organisation"]
    assert folded.summary.text == "More about you (optional)"
    assert "open" not in folded.attrs
    for organisation, focused in (("", "phone"), ("Library", "phone"), ("x" * 41, "phone")):
        fields = {**ADA, "phone": "030", "organisation": organisation}
        page = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=422)
        assert page.html.details.has_attr("open") is bool(organisation)
        assert "autofocus" in page.form[focused].attrs
    fields = {**ADA, **PHONE, "password": "", "organisation": ""}
    page = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=422)
    assert "autofocus" in page.form["password"].attrs
    fields = {**ADA, **PHONE, "organisation": "x" * 41}
    page = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=422)
    assert "autofocus" in page.form["organisation"].attrs


def test_a_refused_form_keeps_what_was_typed_and_has_the_error_beside_its_field(client):
    fields = {**ADA, "phone": "030", "organisation": "Riverside Library"}
    page = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=422)
    assert page.form["phone"].value == "030"
    assert page.form["organisation"].value == "Riverside Library"
    assert "autofocus" in page.form["phone"].attrs
    assert page.form["phone"].attrs["aria-describedby"] == "phone-error"
    assert page.html.find(id="phone-error").text == "Begin with + and the code of the country."
    assert page.html.find(class_="notice") is None
    assert PASSWORD not in page


def test_a_browser_is_logged_in_afterwards(client, hook):
    client.post("/auth/register", ADA | PHONE, headers=SAME_ORIGIN, status=303)
    assert client.get("/").json["user"] == USERNAME
    assert hook.calls == [(USERNAME, VALUES)]


@pytest.mark.promise(75)
def test_nothing_of_the_application_is_markup(settings):
    promised = Markup(HOSTILE)  # noqa: S704 - what an application could do

    def refuse(_user, _values):
        raise ValidationError({"note": [promised], "other": [promised]})

    asked = [
        Field("phone", promised, check=lambda value: promised if value == "1" else None),
        Field("note", "Note"),
    ]
    site = AuthMiddleware(echo, settings, registration=asked, on_registered=refuse)
    client = TestApp(site)
    pages = [client.get("/auth/register", headers=BROWSER)]
    for phone in ("1", "2"):
        fields = {**ADA, "phone": phone, "note": HOSTILE}
        pages.append(client.post("/auth/register", fields, headers=SAME_ORIGIN, status=422))
    for page in pages:
        assert HOSTILE not in page.text
        assert f"{HOSTILE} (optional)" in [each.text for each in page.html.find_all("label")]
    assert pages[1].html.find(id="phone-error").text == HOSTILE
    assert pages[2].html.find(id="note-error").text == HOSTILE
    assert pages[2].html.find(class_="notice").text == HOSTILE  # beside none of the fields
    storage.discard_connection(site.database)


KINDS = (
    Field("line", "Line", kind="tel", hint="With the code of the country."),
    Field("invoices", "Invoices", kind="email"),
    Field("website", "Website", kind="url"),
    Field("seats", "Seats", kind="number"),
    Field("branch", "Branch", kind="select", options=[("n", "North <b>"), ("s", "South")]),
    Field("about", "About", kind="textarea"),
    Field("rules", "I accept the rules.", kind="checkbox", required=True),
)
ALL_RIGHT = {
    **{"line": "+49 30 1", "invoices": "a@example.org", "website": "https://example.org"},
    **{"seats": "2", "branch": "s", "about": "\r\n<b>\r\nme", "rules": "on"},
}


@pytest.fixture
def of_kinds(settings, hook):
    site = AuthMiddleware(echo, settings, registration=KINDS, on_registered=hook)
    yield TestApp(site)
    storage.discard_connection(site.database)


def test_each_kind_has_its_element_on_the_page(of_kinds):
    page = of_kinds.get("/auth/register", headers=BROWSER)
    found = {each.name: page.html.find(id=each.name) for each in KINDS}
    assert {name: (each.name, each.get("type")) for name, each in found.items()} == {
        "line": ("input", "tel"),
        "invoices": ("input", "text"),
        "website": ("input", "url"),
        "seats": ("input", "number"),
        "branch": ("select", None),
        "about": ("textarea", None),
        "rules": ("input", "checkbox"),
    }
    assert (found["invoices"]["inputmode"], found["seats"]["step"]) == ("email", "any")
    filled_in = {name: each.get("autocomplete") for name, each in found.items()}
    assert {name for name, token in filled_in.items() if token} == {"line", "invoices", "website"}
    assert found["line"]["aria-describedby"] == "line-hint"
    assert page.html.find(id="line-hint").text == "With the code of the country."
    options = [(each["value"], each.text) for each in found["branch"].find_all("option")]
    assert options == [("", "Choose…"), ("n", "North <b>"), ("s", "South")]
    assert [name for name, each in found.items() if each.has_attr("required")] == ["rules"]
    assert found["rules"].parent.text.strip() == "I accept the rules."


def test_the_values_of_each_kind_come_back_with_a_refusal(of_kinds):
    page = of_kinds.get("/auth/register", headers=BROWSER)
    for name, value in {**ALL_RIGHT, **ADA, "password": "short"}.items():
        page.form[name] = value
    refused = page.form.submit(headers=SAME_ORIGIN, status=422)
    assert refused.html.find(class_="error").text.startswith("A password must")
    back = {name: refused.form[name].value for name in ALL_RIGHT}
    assert {**back, "about": back["about"].strip()} == {**ALL_RIGHT, "about": "<b>\r\nme"}
    refused.form["password"] = PASSWORD
    refused.form.submit(headers=SAME_ORIGIN, status=303)


def test_a_line_break_at_the_start_of_a_text_comes_back(of_kinds):
    sent = {**ADA, **ALL_RIGHT, "password": "short"}
    refused = of_kinds.post("/auth/register", sent, headers=SAME_ORIGIN, status=422)
    start = refused.text.index(">", refused.text.index("<textarea")) + 1
    assert refused.text[start:].replace("\r", "").startswith("\n\n&lt;b&gt;\nme</textarea>")


def test_each_kind_says_what_is_wrong_with_its_value(of_kinds, hook):
    sent = {**ADA, **ALL_RIGHT, **dict.fromkeys(ALL_RIGHT, "wrong"), "about": "\0", "rules": ""}
    page = of_kinds.post("/auth/register", sent, headers=SAME_ORIGIN, status=422)
    errors = of_kinds.post_json("/auth/register", sent, status=422).json["errors"]
    assert errors.keys() == ALL_RIGHT.keys()
    for name, (message,) in errors.items():
        assert page.html.find(id=f"{name}-error").text == message
        element = page.html.find(id=name)
        assert element["aria-invalid"] == "true"
        assert f"{name}-error" in element["aria-describedby"].split()
    assert hook.calls == []


def test_the_application_gets_the_time_at_which_a_box_was_ticked(of_kinds, hook):
    of_kinds.post_json("/auth/register", ADA | ALL_RIGHT, status=201)
    ((_, values),) = hook.calls
    rules = values.pop("rules")
    assert values == {**{k: v for k, v in ALL_RIGHT.items() if k != "rules"}, "about": "<b>\nme"}
    assert abs((datetime.now(UTC) - datetime.fromisoformat(rules)).total_seconds()) < 60


@pytest.mark.promise(75)
def test_the_function_sees_no_password(client, hook):
    seen = []
    hook.action = lambda user, values: seen.append((vars(user), values))
    client.post_json("/auth/register", ADA | PHONE | {"next": "/x", "other": "y"}, status=201)
    ((_, values),) = seen
    assert values.keys() == {"phone", "organisation"}
    assert PASSWORD not in repr(seen)


# With an invitation


@pytest.fixture
def verifying(make_site):
    """Return a client of a site that asks for the address first."""
    return TestApp(make_site(VERIFICATION=True))


def test_with_verification_the_page_of_the_link_asks(verifying, hook):
    page = verifying.get("/auth/register", headers=BROWSER)
    assert "phone" not in page.form.fields
    page.form["username"], page.form["email"] = USERNAME, EMAIL
    page.form.submit(headers=SAME_ORIGIN, status=202)
    verifying.post_json("/auth/register", {**ADA, "phone": 5}, status=202)
    assert hook.calls == []


def test_the_page_of_an_invitation_asks(client, hook, make_link):
    page = client.get(f"/auth/verify?token={make_link()}", headers=BROWSER)
    page.form["password"] = PASSWORD
    refused = page.form.submit(headers=SAME_ORIGIN, status=422)
    assert refused.html.find(id="phone-error").text == "This field is required."
    assert "autofocus" in refused.form["phone"].attrs
    refused.form["phone"] = "+1"
    refused.form["password"] = PASSWORD
    refused.form.submit(headers=SAME_ORIGIN, status=303)
    assert hook.calls == [(USERNAME, {"phone": "+1", "organisation": ""})]
    assert client.get("/").json["user"] == USERNAME


def test_a_new_user_has_the_rights_of_the_invitation(client, site, hook, make_link):
    rights = []
    make_group(site, "editors", ["reports.publish"])
    hook.action = lambda user, _: rights.append((user.is_staff, user.has_permission("app.read")))
    token = make_link(is_staff=True, permissions=("app.read",))
    body = {"token": token, "password": PASSWORD, **PHONE}
    client.post_json("/auth/verify", body, status=201)
    assert rights == [(True, True)]
    client.post_json("/auth/verify", body, status=410)
    assert len(hook.calls) == 1


def test_a_refused_value_leaves_the_link_as_it_was(client, hook, make_link):
    def refuse(_user, _values):
        raise ValidationError({"phone": ["This number is known."], "email": ["Not this one."]})

    hook.action = refuse
    token = make_link()
    sent = {"token": token, "password": PASSWORD, **PHONE}
    errors = client.post_json("/auth/verify", sent, status=422).json["errors"]
    assert errors == {"phone": ["This number is known."], "email": ["Not this one."]}
    page = client.post("/auth/verify", sent, headers=SAME_ORIGIN, status=422)
    assert page.html.find(id="phone-error").text == "This number is known."
    assert page.html.find(class_="notice").text == "Not this one."
    assert User.objects.count() == 0
    hook.action = None
    client.post_json("/auth/verify", sent, status=201)


# The transaction


@pytest.mark.every_database
@pytest.mark.promise(75)
def test_what_the_function_does_is_committed_with_the_user(client, site, hook, events, profiles):
    make_group(site, "members")
    events.clear()

    def welcome(user, values):
        profiles.create(user_id=user.id, phone=values["phone"])
        user.grant("app.read")
        user.join("members")

    hook.action = welcome
    client.post_json("/auth/register", ADA | PHONE, status=201)
    ada = User.objects.get(username=USERNAME)
    assert profiles.get().user_id == ada.id
    assert (ada.permissions, [str(each) for each in ada.groups]) == ({"app.read"}, ["members"])
    actors = {each.name: each.actor for each in events if each.user_id == ada.id}
    assert actors == {"registration": f"user {ada.id}", "rights_changed": "code"}


class BrokenError(Exception):
    """An error of the application."""


def fail(_user, _values):
    raise BrokenError("the code of the application")


@pytest.mark.every_database
@pytest.mark.promise(75)
def test_an_exception_of_the_function_undoes_all(client, hook, events, profiles, make_link, caplog):
    def fail_late(user, values):
        profiles.create(user_id=user.id, phone=values["phone"])
        user.grant("app.read")
        raise BrokenError("the code of the application")

    token, hook.action = make_link(), fail_late
    RecordedEvent.delete().execute()  # of the invitation
    events.clear()
    caplog.clear()
    sent = {"token": token, "password": PASSWORD, **PHONE}
    for path, fields in (("/auth/register", ADA | PHONE), ("/auth/verify", sent)):
        refused = client.post_json(path, fields, status=500).json
        assert refused["code"] == "application_error"
        assert "code of the application" not in refused["detail"]
        assert nothing_is_left()
        assert events == []
        assert profiles.select().count() == 0
    failures = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert [each.getMessage() for each in failures] == ["on_registered failed"] * 2
    assert {type(each.exc_info[1]) for each in failures} == {BrokenError}
    assert OneTimeSecret.select().count() == 1
    hook.action = None
    client.post_json("/auth/verify", sent, status=201)


@pytest.mark.every_database
@pytest.mark.promise(75)
def test_an_error_that_the_function_hides_does_not_hide_what_it_undid(
    client, hook, events, profiles, make_link
):
    def hide(_user, values):
        with suppress(peewee.IntegrityError):  # PostgreSQL then makes a rollback of the commit
            profiles.create(user_id=-1, phone=values["phone"])

    profiles.create(user_id=-1, phone="1")
    token, hook.action = make_link(), hide
    events.clear()
    bob = {"username": "Bob", "email": "bob@example.org", "password": PASSWORD}
    for path, fields in (("/auth/register", bob), ("/auth/verify", {**ADA, "token": token})):
        before = User.objects.count()
        created = client.post_json(path, fields | PHONE, status="*").status_int == 201
        assert created == (User.objects.count() == before + 1)
    reported = [each for each in events if each.name == "registration"]
    assert len(reported) == User.objects.count()


@pytest.mark.every_database
@pytest.mark.promise(75)
def test_a_function_that_rolls_back_is_an_error_of_the_application(client, site, hook, events):
    def roll_back_itself(_user, _values):
        with site.database.transaction() as transaction:
            transaction.rollback()

    for hook.action in (roll_back_itself, lambda user, values: site.database.rollback()):
        failed = client.post_json("/auth/register", ADA | PHONE, status=500).json
        assert failed["code"] == "application_error"
        assert nothing_is_left()
        assert events == []


@pytest.mark.every_database
def test_a_function_that_commits_is_an_error_of_the_application(client, site, hook):
    hook.action = lambda user, values: site.database.commit()
    failed = client.post_json("/auth/register", ADA | PHONE, status=500).json
    assert failed["code"] == "application_error"


def test_a_browser_gets_a_page_with_500(client, hook):
    hook.action = fail
    page = client.post("/auth/register", ADA | PHONE, headers=SAME_ORIGIN, status=500)
    assert page.html.h1.text == "An error occurred on this site"
    assert "code of the application" not in page
    assert "Set-Cookie" not in page.headers


def test_a_check_that_fails_is_an_error_of_the_application(settings, caplog):
    asked = [Field("phone", "Phone", check=lambda value: value.no_such_method())]
    site = AuthMiddleware(echo, settings, registration=asked)
    TestApp(site).post_json("/auth/register", ADA | PHONE, status=500)
    assert "the check of the field phone failed" in caplog.messages
    assert User.objects.count() == 0
    storage.discard_connection(site.database)


@pytest.mark.every_database
def test_a_row_that_the_database_refuses_is_an_error_of_the_application(client, hook, profiles):
    hook.action = lambda user, values: profiles.create(user_id=user.id, phone=values["phone"])
    client.post_json("/auth/register", ADA | PHONE, status=201)
    other = {"username": "Bob", "email": "bob@example.org", "password": PASSWORD}
    refused = client.post_json("/auth/register", other | PHONE, status=500).json
    assert refused["code"] == "application_error"
    assert User.objects.count() == profiles.select().count() == 1


def test_other_refusals_of_wsgiauth_are_errors_of_the_application(client, hook):
    def forbid(_user, _values):
        raise ForbiddenError("Not today.")

    hook.action = forbid
    assert "Not today" not in client.post_json("/auth/register", ADA | PHONE, status=500)


@pytest.mark.every_database
def test_of_a_race_for_a_name_the_function_sees_the_winner_alone(site, hook):
    def register(number):
        fields = {**ADA, "email": f"{number}@example.org"} | PHONE
        extra = {"REMOTE_ADDR": f"192.0.2.{number}"}
        client = TestApp(site, extra_environ=extra)
        status = client.post_json("/auth/register", fields, status="*").status_int
        storage.discard_connection(site.database)
        return status

    with ThreadPoolExecutor(4) as pool:
        statuses = sorted(pool.map(register, range(1, 5)))
    assert statuses == [201, 409, 409, 409]
    assert len(hook.calls) == User.objects.count() == 1


def test_the_function_holds_no_slot_for_hashing(make_site, hook):
    site = make_site(HASHING_THREADS=1)

    def hash_too(_user, _values):
        with site.site.hash_slots.slot(Claim(("192.0.2.9",))):
            pass

    hook.action = hash_too
    TestApp(site).post_json("/auth/register", ADA | PHONE, status=201)
    assert len(hook.calls) == 1


def test_a_function_can_leave_the_user_inactive(client, hook):
    def hold(user, _values):
        user.is_active = False
        user.save()

    hook.action = hold
    answer = client.post("/auth/register", ADA | PHONE, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/auth/login"
    assert "Set-Cookie" not in answer.headers


def test_guesses_of_what_a_check_knows_are_counted(make_site):
    client = TestApp(make_site(REGISTRATIONS_PER_ADDRESS=3))
    for number in range(3):
        client.post_json("/auth/register", {"phone": str(number)}, status=422)
    client.post_json("/auth/register", {"phone": "3"}, status=429)


@pytest.mark.parametrize("path", ["/auth/register", "/auth/verify"])
def test_guesses_at_which_a_check_fails_are_counted(path, settings, make_link):
    codes = {"1234": None}
    asked = [Field("code", "Code", check=codes.__getitem__)]
    settings = with_mail(settings, REGISTRATIONS_PER_ADDRESS=3)
    site = AuthMiddleware(echo, settings, send_mail=Post(), registration=asked)
    client, sent = TestApp(site), {**ADA, "token": make_link()}
    for number in range(3):
        client.post_json(path, {**sent, "code": str(number)}, status=500)
    client.post_json(path, {**sent, "code": "3"}, status=429)
    client.post_json(path, {**sent, "code": "1234"}, status=429)
    storage.discard_connection(site.database)


def test_guesses_with_a_link_are_counted(make_site, make_link):
    client = TestApp(make_site(REGISTRATIONS_PER_ADDRESS=3))
    sent = {"token": make_link(), "password": PASSWORD}
    for number in range(3):
        client.post_json("/auth/verify", {**sent, "phone": str(number)}, status=422)
    client.post_json("/auth/verify", {**sent, "phone": "3"}, status=429)


def test_users_made_in_code_are_not_passed_on(site, hook):
    make_user(site, "grace")
    assert hook.calls == []


# Templates of a host


@pytest.mark.slow
def test_a_template_that_lacks_a_required_field_is_refused_at_start(make_site, tmp_path):
    template = tmp_path / "register.html"
    for loop in ("", "{% for each in page.fields %}<input name='{{ each.name }}'>{% endfor %}"):
        template.write_text(f'<form><input name="username">{loop}</form>')
        if loop:
            page = TestApp(make_site(TEMPLATES=tmp_path)).get("/auth/register", headers=BROWSER)
            assert page.form.fields.keys() == {"username", "phone", "organisation"}
        else:
            with pytest.raises(ConfigurationError, match=r"register\.html .* field phone"):
                make_site(TEMPLATES=tmp_path)


@pytest.mark.slow
def test_only_templates_that_are_used_need_the_fields(settings, tmp_path):
    def check(**changes):
        changed = replace(settings, **{**MAIL, "TEMPLATES": tmp_path, **changes})
        send = Post() if changed.MAIL_URL else None
        asked = Registration(FIELDS)
        site = Site.from_settings(changed, "/auth", FEATURES, send, registration=asked)
        check_registration(page_samples(), site)

    register, invitation = tmp_path / "register.html", tmp_path / "invitation.html"
    register.write_text("<p>Nothing</p>")
    check(REGISTRATION=False)
    check(VERIFICATION=True)
    with pytest.raises(ConfigurationError, match=r"register\.html .* field phone"):
        check()
    register.rename(invitation)
    check(MAIL_URL=None, PUBLIC_URL=None)
    with pytest.raises(ConfigurationError, match=r"invitation\.html .* field phone"):
        check()
