"""GET and POST /auth/register."""

import hashlib
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.sites import BROWSER, EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, User
from wsgiauth.app import AuthApp
from wsgiauth.features.registry import FEATURES
from wsgiauth.site import Site
from wsgiauth.throttling.hash_slots import Claim, HashSlots

SCRIPT = {"Accept": "application/json", "Sec-Fetch-Site": "same-origin"}
FIELDS = {"username": USERNAME, "email": EMAIL, "password": PASSWORD}
ALL_TAKEN = {
    "username": ["This username is taken."],
    "email": ["This email address is taken."],
}
FORBIDDEN = {
    "id": "987654321",
    "is_superuser": "true",
    "is_staff": "true",
    "is_active": "false",
    "created_at": "2001-01-01T00:00:00Z",
    "hashed_password": "$2b$04$................................u.....................",
    "username_key": "root",
    "permissions": "reports.publish",
}
BROKEN = [
    ("username", ""),
    ("username", "ada@home"),
    ("username", "a da"),
    ("username", "x" * 151),
    ("username", "nul\0"),
    ("email", ""),
    ("email", "ada"),
    ("email", "a@" + "x" * 253),
    ("password", ""),
    ("password", "7 chars"),
    ("password", "x1" * 36 + "y"),
    ("password", "four unrelated\0words"),
    ("password", "password123"),
    ("password", EMAIL),
]
JUST_RIGHT = [
    {"username": "x" * 150, "email": "150@x", "password": PASSWORD},
    {"username": "254", "email": "a@" + "x" * 252, "password": PASSWORD},
    {"username": "8", "email": "8@x", "password": "8 chars!"},
    {"username": "72", "email": "72@x", "password": f"{PASSWORD:x<72}"},
    {"username": "Zoë", "email": "zoë@exämple.org", "password": "四つの関係のない言葉"},
]


@pytest.mark.every_database
def test_a_program_gets_the_new_profile_and_where_it_is(client):
    answer = client.post_json("/auth/register", FIELDS, status=201)
    assert answer.headers["Location"] == "/auth/me"
    assert "Set-Cookie" not in answer.headers
    created_at = User.get().created_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    assert answer.json == {
        "id": User.get().id,
        "username": USERNAME,
        "label": USERNAME,
        "email": EMAIL,
        "email_verified": False,
        "is_active": True,
        "is_staff": False,
        "is_superuser": False,
        "created_at": created_at,
        "permissions": [],
        "groups": [],
        "has_password": True,
        "language": "",
    }


def test_the_new_account_logs_in(client):
    client.post_json("/auth/register", FIELDS)
    client.post_json("/auth/login", {"username": USERNAME, "password": PASSWORD}, status=200)


@pytest.fixture
def breached(tmp_path):
    """Return a file with the hash of "Four Breached Words"."""
    file = tmp_path / "pwned-passwords.txt"
    digest = hashlib.sha1(b"Four Breached Words").hexdigest().upper()  # noqa: S324
    file.write_text(f"{digest}:17\r\n", newline="")
    return file


@pytest.mark.promise(7)
def test_the_words_of_the_site_and_breached_passwords_are_refused(site, settings, breached):
    rules = {
        "PASSWORD_WORDS": ("acmewidgets",),
        "SITE_NAME": "Bob & Sons",
        "BREACHED_PASSWORDS": breached,
    }
    client = TestApp(AuthMiddleware(echo, replace(settings, **rules)))
    for password, reason in (
        ("AcmeWidgets2026", "this site"),
        ("bob & sons!", "this site"),
        ("Four Breached Words", "breach"),
    ):
        fields = {**FIELDS, "password": password}
        answer = client.post_json("/auth/register", fields, status=422)
        assert reason in answer.json["errors"]["password"][0]
    breached.unlink()
    answer = client.post_json("/auth/register", FIELDS, status=503)
    assert answer.json["code"] == "unavailable"
    assert int(answer.headers["Retry-After"]) > 0
    page = client.post("/auth/register", FIELDS, headers=SAME_ORIGIN, status=503)
    assert "Try again in a minute" in page
    assert User.objects.count() == 0


def test_what_just_keeps_the_rules_is_accepted(client):
    for fields in JUST_RIGHT:
        client.post_json("/auth/register", fields, status=201)


def test_a_broken_rule_is_told_by_field(client):
    for field, value in BROKEN:
        refused = client.post_json("/auth/register", {**FIELDS, field: value}, status=422)
        assert refused.content_type == "application/problem+json"
        assert (refused.json["code"], [*refused.json["errors"]]) == ("invalid", [field])
    assert not User.select().exists()


def test_all_broken_rules_are_told_at_once(client):
    refused = client.post_json("/auth/register", {}, status=422)
    assert refused.json["errors"].keys() == FIELDS.keys()


@pytest.mark.every_database
def test_taken_names_are_a_conflict_in_any_letter_case(client, ada):
    fields = {**FIELDS, "username": "aDA", "email": EMAIL.upper()}
    refused = client.post_json("/auth/register", fields, status=409)
    assert refused.json == {
        "type": "about:blank",
        "title": "Conflict",
        "status": 409,
        "detail": "The username or the email address is taken; see `errors`.",
        "code": "taken",
        "errors": ALL_TAKEN,
    }


def test_broken_rules_do_not_hide_that_a_name_is_taken(client, ada):
    fields = {"username": "aDA", "email": "nowhere", "password": PASSWORD}
    refused = client.post_json("/auth/register", fields, status=422)
    assert refused.json["code"] == "invalid"
    assert refused.json["errors"]["username"] == ALL_TAKEN["username"]
    assert refused.json["errors"].keys() == {"username", "email"}
    fields = {"username": "aDA", "email": EMAIL, "password": "short"}
    page = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=422)
    page.mustcontain(*ALL_TAKEN["username"], *ALL_TAKEN["email"], "at least 8 characters")


@pytest.mark.promise(11)
def test_what_is_not_a_text_is_malformed(client):
    for field in FIELDS:
        for value in ([USERNAME, EMAIL], 1, 1.5, True, None, {"a": "b"}):
            refused = client.post_json("/auth/register", {**FIELDS, field: value}, status=400)
            assert refused.json["code"] == "malformed"
    assert not User.select().exists()


@pytest.mark.promise(11)
@pytest.mark.parametrize("send", [TestApp.post_json, TestApp.post], ids=["JSON", "form"])
def test_nobody_sets_what_they_may_not(client, send):
    send(client, "/auth/register", {**FIELDS, **FORBIDDEN}, headers=SAME_ORIGIN)
    user = User.get()
    assert (user.is_active, user.is_staff, user.is_superuser) == (True, False, False)
    assert (user.username_key, user.permissions) == ("ada", frozenset())
    assert user.hashed_password != FORBIDDEN["hashed_password"]
    assert user.id != int(FORBIDDEN["id"])
    assert user.created_at.year != 2001


@pytest.mark.promise(11)
def test_what_is_not_a_text_is_ignored_in_unknown_fields(client):
    fields = {**FIELDS, "is_superuser": True, "id": 4, "age": 1.5, "pets": [None]}
    assert client.post_json("/auth/register", fields, status=201).json["is_superuser"] is False


def test_the_page_shows_an_empty_form_that_carries_next(client):
    page = client.get("/auth/register?next=/reports", headers=BROWSER, status=200)
    assert (page.form.method, page.form.action) == ("post", "/auth/register")
    assert page.form["next"].value == "/reports"
    assert [page.form[name].value for name in FIELDS] == ["", "", ""]
    page.mustcontain('minlength="8"', 'href="/auth/login?next=%2Freports"')


def test_the_page_tells_a_user_who_is_logged_in(client, ada):
    client.post("/auth/login", FIELDS, headers=SAME_ORIGIN)
    page = client.get("/auth/register", headers=BROWSER)
    assert page.html.find("strong").text == USERNAME
    assert client.get("/auth/register?switch=1", headers=BROWSER).form.action == "/auth/register"


def test_the_form_registers_and_logs_a_browser_in(client):
    answer = client.post("/auth/register", FIELDS, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/"
    assert client.get("/auth/me").json["username"] == USERNAME


def test_the_form_leads_to_next(client):
    fields = {**FIELDS, "next": "/reports"}
    answer = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=303)
    assert answer.headers["Location"] == "/reports"


def test_registering_ends_the_browsers_previous_login(client, ada):
    client.post("/auth/login", {"username": USERNAME, "password": PASSWORD}, headers=SAME_ORIGIN)
    previous = client.cookies["wsgiauth"]
    fields = {**FIELDS, "username": "Bob", "email": "bob@example.org"}
    client.post("/auth/register", fields, headers=SAME_ORIGIN, status=303)
    assert client.get("/auth/me").json["username"] == "Bob"
    client.reset()
    client.get("/auth/me", headers={"Cookie": f"wsgiauth={previous}"}, status=401)


def test_a_form_that_breaks_rules_is_shown_again_without_the_password(client):
    fields = {"username": "a da", "email": "ada", "password": "7 chars", "next": "/reports"}
    refused = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=422)
    shown = [refused.form[name].value for name in ("username", "email", "password", "next")]
    assert shown == ["a da", "ada", "", "/reports"]
    assert "Set-Cookie" not in refused.headers
    refused.mustcontain(
        "A username cannot contain spaces or invisible characters.",
        "Enter an email address such as ada@example.org.",
        "A password must have at least 8 characters.",
        no=["7 chars"],
    )


def test_a_form_with_taken_names_is_shown_again(client, ada):
    refused = client.post("/auth/register", FIELDS, headers=SAME_ORIGIN, status=409)
    refused.mustcontain("This username is taken.", "This email address is taken.")
    assert "Set-Cookie" not in refused.headers


def test_a_form_that_asks_for_json_gets_the_profile_and_the_cookie(client):
    answer = client.post("/auth/register", FIELDS, headers=SCRIPT, status=201)
    assert answer.headers["Location"] == "/auth/me"
    assert answer.json == client.get("/auth/me").json
    taken = client.post("/auth/register", FIELDS, headers=SCRIPT, status=409)
    assert taken.json["errors"] == ALL_TAKEN
    invalid = client.post("/auth/register", {"next": "/"}, headers=SCRIPT, status=422)
    assert invalid.json["errors"].keys() == FIELDS.keys()
    for refused in (taken, invalid):
        assert "Set-Cookie" not in refused.headers


def test_the_first_broken_field_has_the_focus(client):
    for broken in FIELDS:
        fields = {**FIELDS, broken: ""}
        refused = client.post("/auth/register", fields, headers=SAME_ORIGIN, status=422)
        assert [name for name in FIELDS if "autofocus" in refused.form[name].attrs] == [broken]


# Refused for now


@pytest.fixture
def parts(stopped_throttle, settings, database):
    """Return the parts of a site where one registration, and one at once, are the limit."""
    chosen = replace(settings, REGISTRATIONS_PER_ADDRESS=1, HASHING_THREADS=1)
    slots = HashSlots(chosen, queue=0)
    return replace(Site.from_settings(chosen, "/auth", FEATURES), hash_slots=slots)


@pytest.fixture
def strict(parts):
    """Return a client of that site."""
    return TestApp(AuthApp(parts), extra_environ={"SCRIPT_NAME": "/auth", "wsgiauth.root": ""})


def shown(refused):
    return [refused.form[name].value for name in (*FIELDS, "next")]


@pytest.mark.promise(12)
def test_a_throttled_form_is_shown_again_with_the_reason(strict):
    strict.post("/register", FIELDS, headers=SAME_ORIGIN, status=303)
    fields = {**FIELDS, "username": "Grace", "email": "grace@example.org", "next": "/reports"}
    refused = strict.post("/register", fields, headers=SAME_ORIGIN, status=429)
    assert 3590 < int(refused.headers["Retry-After"]) <= 3600
    reason = "There were too many registrations from your network. Try again in 60 minutes."
    assert refused.html.find(id="message").text == reason
    refused.mustcontain(no=[PASSWORD])
    assert refused.form.action == "/auth/register"
    assert shown(refused) == ["Grace", "grace@example.org", "", "/reports"]


@pytest.mark.promise(14)
def test_a_form_for_which_there_was_no_slot_is_shown_again_with_the_reason(strict, parts):
    fields = {**FIELDS, "next": "/reports"}
    with parts.hash_slots.slot(Claim(("192.0.2.1",))):
        refused = strict.post("/register", fields, headers=SAME_ORIGIN, status=503)
    assert refused.headers["Retry-After"] == "1"
    refused.mustcontain("Too many people are logging in or registering.", no=[PASSWORD])
    assert shown(refused) == [USERNAME, EMAIL, "", "/reports"]
    strict.post("/register", fields, headers=SAME_ORIGIN, status=303)
