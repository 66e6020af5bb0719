"""GET and POST /auth/keys, and what a key can do elsewhere."""

import re
import time
from dataclasses import replace
from functools import partial

import pytest
from webtest import TestApp

from tests.support.logins import make_stale
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import (
    AuthMiddleware,
    User,
    log_in,
    log_out,
    login_required,
    permission_required,
    storage,
)
from wsgiauth.accounts import delete_user, update_user
from wsgiauth.accounts.tables import Key, OneTimeSecret, Session
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.features.keys import api_keys
from wsgiauth.features.keys.api_keys import MAX_KEYS
from wsgiauth.testing import logged_in

NEW_PASSWORD = "another unrelated phrase"
INSUFFICIENT_SCOPE = 'Bearer realm="wsgiauth", error="insufficient_scope"'
INVALID_TOKEN = 'Bearer realm="wsgiauth", error="invalid_token"'
KEY = re.compile(r"wsgiauth_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}")
NEW = {"name": "export", "permissions": ["a.read"], "days": 30}


@pytest.fixture
def ada(ada):
    """Return a user with permissions."""
    ada.grant("a.read", "a.write")
    return ada


@pytest.fixture
def login(ada, bearer):
    """Return the header of a program that has just logged in."""
    return bearer(ada)


@pytest.fixture
def browser(site, ada):
    return logged_in(site, ada)


@pytest.fixture
def make_key(login, ada):
    """Return a function that makes a key and returns its header."""

    def make(**fields):
        made = api_keys.create(ada, **{**NEW, **fields}, now=time.time())
        return {"Authorization": f"Bearer {made.text}"}

    return make


@pytest.fixture
def client_of(site, settings):
    """Return a function that returns a client of another application in front of the database."""
    made = []

    def make(app, **changes):
        made.append(AuthMiddleware(app, replace(settings, **changes)))
        return TestApp(made[-1])

    yield make
    for each in made:
        storage.discard_connection(each.database)


def submit(page, status=201, **fields):
    form = page.forms[len(page.forms) - 1]
    for name, value in fields.items():
        form[name] = value
    return form.submit(headers=SAME_ORIGIN, status=status)


# Make, list, end


def test_a_program_makes_a_key_which_is_shown_once(client, login):
    made = client.post_json("/auth/keys", NEW, headers=login, status=201)
    (listed,) = client.get("/auth/keys", headers=login).json["keys"]
    document = made.json
    assert KEY.fullmatch(document.pop("key"))
    assert document == listed
    assert made.headers["Cache-Control"] == "no-store"
    assert (listed["name"], listed["permissions"]) == ("export", ["a.read"])
    assert listed["last_used_at"] is None
    row = Key.get()
    assert (row.id, row.expires_at - row.created_at) == (listed["id"], 30 * 86400)


def test_a_key_needs_no_permission_and_ends_after_90_days_by_default(client, login):
    for permissions in ({}, {"permissions": []}):
        fields = {"name": "export"} | permissions
        made = client.post_json("/auth/keys", fields, headers=login, status=201).json
        assert made["permissions"] == []
        headers = {"Authorization": f"Bearer {made['key']}"}
        assert client.get("/", headers=headers).json["user"] == USERNAME
    assert [each.expires_at - each.created_at for each in Key.select()] == [90 * 86400] * 2


@pytest.mark.every_database
def test_a_program_ends_a_key(client, login, make_key):
    headers = make_key()
    make_key(name="other")
    ended = Key.get(Key.name == "export").id
    answer = client.post_json("/auth/keys", {"end": ended}, headers=login, status=200)
    assert [each["name"] for each in answer.json["keys"]] == ["other"]
    assert client.get("/", headers=headers).json["user"] is None
    gone = client.post_json("/auth/keys", {"end": ended}, headers=login, status=404)
    assert gone.json["code"] == "no_such_key"


@pytest.mark.every_database
def test_a_browser_makes_a_key_which_is_shown_once(browser):
    page = browser.get("/auth/keys", headers=BROWSER)
    form = page.forms[0]
    form["name"] = "export"
    form.set("permissions", True, index=0)
    made = form.submit(headers=SAME_ORIGIN, status=201)
    (key,) = KEY.findall(made.text)
    assert made.html.find("code").text == key
    assert made.headers["Cache-Control"] == "no-store"
    again = browser.get("/auth/keys", headers=BROWSER)
    again.mustcontain("export", "a.read", no=key[22:])
    used = TestApp(browser.app).get("/auth/me", headers={"Authorization": f"Bearer {key}"})
    assert used.json["permissions"] == ["a.read"]
    form = again.forms[len(again.forms) - 1]
    form["name"] = "both"
    for index in range(2):
        form.set("permissions", True, index=index)
    form.submit(headers=SAME_ORIGIN, status=201)
    assert Key.get(Key.name == "both").permissions == "a.read a.write"


@pytest.mark.every_database
def test_a_key_that_a_reload_asks_for_again_is_not_made_again(browser, ada):
    form = browser.get("/auth/keys", headers=BROWSER).forms[0]
    form.submit(headers=SAME_ORIGIN, status=422)  # without a name: the form can be sent again
    form["name"] = "export"
    form.submit(headers=SAME_ORIGIN, status=201)
    repeated = form.submit(headers=SAME_ORIGIN, status=409)
    repeated.mustcontain("This key has already been created")
    assert repeated.html.find("input", attrs={"name": "name"})["value"] == "export"
    assert Key.select().count() == 1


@pytest.mark.every_database
@pytest.mark.promise(40)
def test_what_is_kept_of_a_form_ends_with_the_account_and_after_a_day(browser, ada):
    def make(once):
        fields = {"name": "export", "once": once}
        browser.post("/auth/keys", fields, headers=SAME_ORIGIN, status=201)

    make("a")
    make("b")
    OneTimeSecret.update(expires_at=0).execute()
    make("c")
    assert OneTimeSecret.select().count() == 1
    delete_user(ada)
    assert not OneTimeSecret.select().exists()


def test_a_browser_ends_a_key(browser, ada):
    api_keys.create(ada, "export", ["a.read"], now=4_000_000_000)
    form = browser.get("/auth/keys", headers=BROWSER).forms[0]
    page = form.submit(headers=SAME_ORIGIN, status=303).follow(headers=BROWSER)
    page.mustcontain("The API key has been revoked.", "You have no API keys.")
    refused = form.submit(headers=SAME_ORIGIN, status=404)
    refused.mustcontain("That API key has already been revoked.")


def test_the_form_is_shown_again_as_it_was_sent(browser):
    form = browser.get("/auth/keys", headers=BROWSER).forms[0]
    form["name"], form["days"] = "<i>x", "4000"
    form.set("permissions", True, index=1)
    refused = form.submit(headers=SAME_ORIGIN, status=422)
    refused.mustcontain("from 1 to 3650", no="<i>")
    again = refused.forms[0]
    assert (again["name"].value, again["days"].value) == ("<i>x", "4000")
    assert [each.checked for each in again.fields["permissions"]] == [False, True]


def test_a_number_of_days_that_is_none_is_refused(browser):
    form = browser.get("/auth/keys", headers=BROWSER).forms[0]
    form["name"] = "x"
    form.set("permissions", True, index=0)
    for days in ("0", "x", "1.5", "9" * 30, "\u0663"):
        form["days"] = days
        form.submit(headers=SAME_ORIGIN, status=422).mustcontain("from 1 to 3650")


def test_other_fields_are_refused(client, login):
    malformed = [
        {"name": ["x"]},
        {"permissions": "a.read"},
        {"permissions": [1]},
        {"permissions": None},
        {"days": "30"},
        {"days": True},
        {"days": 1.5},
    ]
    invalid = [{"days": 0}, {"name": ""}, {"permissions": ["b.other"]}]
    expected = [
        *((fields, 400, "malformed") for fields in malformed),
        *((fields, 422, "invalid") for fields in invalid),
        ({"end": "unknown"}, 404, "no_such_key"),
    ]
    found = []
    for fields, *_ in expected:
        refused = client.post_json("/auth/keys", {**NEW, **fields}, headers=login, status="*")
        found.append((fields, refused.status_int, refused.json.get("code")))
    assert found == expected
    assert not Key.select().exists()


def test_the_form_offers_the_users_permissions_and_a_superuser_those_asked_for(browser, ada):
    permission_required("test.asked")(echo)
    page = browser.get("/auth/keys", headers=BROWSER)
    assert [each["value"] for each in page.html.find_all(type="checkbox")] == ["a.read", "a.write"]
    ada.revoke("a.read", "a.write")
    page = browser.get("/auth/keys", headers=BROWSER)
    assert page.html.find(type="checkbox") is None
    page.mustcontain("You have no permissions")
    submit(page, name="export").mustcontain("Copy the new key now.", ">none</dd>")
    update_user(ada, is_superuser=True)
    browser.get("/auth/keys", headers=BROWSER).mustcontain('value="test.asked"')


def test_the_page_names_the_key_a_password_only_where_it_is_one(browser, client_of):
    assert "password" not in browser.get("/auth/keys", headers=BROWSER).html.main.text
    other = client_of(echo, BASIC_AUTH="keys")
    other.post("/auth/login", {"username": USERNAME, "password": PASSWORD}, headers=SAME_ORIGIN)
    assert "the key as the password" in other.get("/auth/keys", headers=BROWSER).html.main.text


def test_a_full_list_has_no_form(browser, client, login, ada):
    for _ in range(MAX_KEYS):
        api_keys.create(ada, "export", ["a.read"], now=4_000_000_000)
    browser.get("/auth/keys", headers=BROWSER).mustcontain("You cannot have more keys.")
    refused = client.post_json("/auth/keys", NEW, headers=login, status=409)
    assert (refused.json["code"], "20" in refused.json["detail"]) == ("too_many_keys", True)


@pytest.mark.promise(58)
def test_a_name_is_escaped(browser, ada):
    assert browser.get("/auth/account", headers=BROWSER).html.find(href="/auth/keys")
    api_keys.create(ada, "<script>x</script>", ["a.read"], now=4_000_000_000)
    browser.get("/auth/keys", headers=BROWSER).mustcontain("&lt;script&gt;", no="<script>x<")


@pytest.mark.promise(58)
def test_another_site_makes_no_key(browser):
    for site in ("cross-site", "same-site"):
        headers = {**BROWSER, "Sec-Fetch-Site": site}
        browser.post("/auth/keys", {"name": "x"}, headers=headers, status=403)
    assert not Key.select().exists()


def test_an_anonymous_client_is_asked_to_log_in(client, ada):
    client.get("/auth/keys", status=401)
    client.post_json("/auth/keys", NEW, status=401)
    asked = client.get("/auth/keys", headers=BROWSER, status=302)
    assert asked.location.endswith("/auth/login?next=%2Fauth%2Fkeys")


# Proof of identity


@pytest.mark.promise(46)
def test_only_a_change_needs_a_recent_proof(client, login):
    make_stale()
    client.get("/auth/keys", headers=login, status=200)
    for fields in (NEW, {"end": "unknown"}):
        refused = client.post_json("/auth/keys", fields, headers=login, status=401)
        assert refused.json["code"] == "insufficient_user_authentication"
    assert not Key.select().exists()


@pytest.mark.promise(46)
def test_a_stale_browser_gets_a_link_to_confirm_instead_of_forms(browser, ada):
    api_keys.create(ada, "export", ["a.read"], now=4_000_000_000)
    make_stale()
    page = browser.get("/auth/keys", headers=BROWSER)
    assert not page.forms
    assert page.html.find(href="/auth/confirm?next=%2Fauth%2Fkeys")
    form = browser.post("/auth/keys", {"name": "x"}, headers=SAME_ORIGIN, status=303)
    assert "/auth/confirm" in form.location


@pytest.mark.every_database
def test_a_login_that_ends_meanwhile_makes_no_key(client, login, monkeypatch):
    monkeypatch.setattr("wsgiauth.features.keys.api_keys.create", lambda *_, **__: None)
    refused = client.post_json("/auth/keys", NEW, headers=login, status=401)
    assert refused.headers["WWW-Authenticate"] == INVALID_TOKEN


# What a key can do


@pytest.mark.promise(57)
def test_the_application_sees_the_key_and_no_session(client, make_key):
    seen = client.get("/", headers=make_key()).json
    assert (seen["user"], seen["session"], seen["key"]) == (USERNAME, None, Key.get().id)
    assert (seen["remote_user"], seen["auth_type"], seen["error"]) == (None, None, None)


def test_a_login_has_no_key(client, login):
    environ = {"wsgiauth.key": "injected"}
    seen = client.get("/", headers=login, extra_environ=environ).json
    assert (seen["user"], seen["key"]) == (USERNAME, None)
    assert client.get("/", extra_environ=environ).json["key"] is None


@pytest.mark.promise(57)
def test_a_guard_admits_a_key_with_its_permission_alone(client_of, make_key):
    headers = make_key()
    for permission, status in (("a.read", 200), ("a.write", 403), ("b.other", 403)):
        guarded = client_of(permission_required(permission)(echo))
        answer = guarded.get("/", headers=headers, status=status)
        assert answer.headers.get("WWW-Authenticate") == (
            INSUFFICIENT_SCOPE if status == 403 else None
        )


@pytest.mark.promise(57)
def test_a_key_without_permissions_passes_login_required_alone(client_of, make_key, ada):
    update_user(ada, is_superuser=True)
    headers = make_key(permissions=[])
    client_of(login_required(echo)).get("/", headers=headers, status=200)
    for guard in (permission_required("a.read"), login_required(fresh=True)):
        assert client_of(guard(echo)).get("/", headers=headers, status="*").status_int in (401, 403)
    client_of(echo).get("/auth/keys", headers=headers, status=403)
    shown = client_of(echo).get("/auth/me", headers=headers).json
    assert (shown["permissions"], shown["is_superuser"]) == ([], False)


@pytest.mark.promise(46)
@pytest.mark.promise(57)
def test_a_key_is_never_fresh(client_of, make_key):
    guarded, key = client_of(login_required(fresh=True)(echo)), make_key()
    for headers in ({}, BROWSER):
        refused = guarded.get("/", headers=headers | key, status=401)
        assert "insufficient_user_authentication" in refused.headers["WWW-Authenticate"]


@pytest.mark.promise(57)
def test_me_shows_what_the_key_can_do(client, make_key, ada):
    update_user(ada, is_staff=True, is_superuser=True)
    shown = client.get("/auth/me", headers=make_key(), status=200).json
    assert (shown["username"], shown["permissions"]) == (USERNAME, ["a.read"])
    assert (shown["is_staff"], shown["is_superuser"]) == (False, False)


REFUSED = [
    ("GET", "account"),
    ("GET", "keys"),
    ("POST", "keys"),
    ("GET", "sessions"),
    ("POST", "sessions"),
    ("GET", "password"),
    ("POST", "password"),
    ("GET", "confirm"),
    ("POST", "confirm"),
    ("GET", "username"),
    ("POST", "username"),
    ("GET", "close"),
    ("POST", "close"),
    ("GET", "admin/users"),
    ("GET", "admin/users.csv"),
]


@pytest.mark.promise(57)
def test_a_key_changes_and_shows_nothing_else_of_the_account(client, make_key, ada):
    update_user(ada, is_staff=True, is_superuser=True)
    headers = make_key()
    before = list(User.select().dicts())
    fields = {"current_password": PASSWORD, "new_password": NEW_PASSWORD, "password": PASSWORD}
    body = {"params": fields | {"name": "x", "username": "lin", "end": "others"}}
    for method, path in REFUSED:
        send = client.post_json if method == "POST" else client.get
        options = body if method == "POST" else {}
        refused = send(f"/auth/{path}", **options, headers=headers, status=403)
        assert refused.json["code"] == "insufficient_scope", path
        page = send(f"/auth/{path}", **options, headers=headers | BROWSER, status=403)
        for each in (refused, page):
            assert each.headers["WWW-Authenticate"] == INSUFFICIENT_SCOPE, path
    assert list(User.select().dicts()) == before
    assert (Key.select().count(), Session.select().count()) == (1, 1)


@pytest.mark.promise(57)
def test_a_key_starts_and_ends_no_login(client, make_key, login):
    headers = make_key()
    client.post("/auth/logout", headers=headers, status=403)
    client.get("/", headers=headers).mustcontain(USERNAME)
    assert client.get("/", headers=login).json["user"] == USERNAME
    client.get("/auth/login", headers=headers | BROWSER).mustcontain('name="password"')
    fields = {"username": USERNAME, "password": PASSWORD}
    client.post_json("/auth/login", fields, headers=headers, status=200)
    assert client.get("/", headers=login).json["user"] == USERNAME


@pytest.mark.promise(57)
def test_a_view_cannot_turn_a_key_into_a_login(client_of, make_key):
    def view(environ, start_response):
        with pytest.raises(ValueError, match="identified by an API key"):
            log_in(environ, environ["wsgiauth.user"])
        assert log_out(environ)
        return echo(environ, start_response)

    headers = make_key()
    seen = client_of(view).get("/", headers=headers).json
    assert (seen["user"], seen["key"]) == (None, None)
    assert Session.select().count() == 1


# Where a key is accepted


@pytest.mark.promise(57)
def test_a_key_is_accepted_as_a_bearer_token_alone(client, make_key):
    key = make_key()["Authorization"].removeprefix("Bearer ")
    places = [
        {"headers": {"Cookie": f"wsgiauth={key}"}},
        {"headers": {"Authorization": f"Basic {key}"}},
        {"params": {"access_token": key, "key": key}},
    ]
    for place in places:
        assert client.get("/", **place).json["user"] is None
    assert client.post("/", {"access_token": key}).json["user"] is None


@pytest.mark.promise(45)
def test_a_key_is_no_refresh_token_and_no_other_token_is_a_key(client, make_key, ada):
    key = make_key()["Authorization"].removeprefix("Bearer ")
    refused = client.post_json("/auth/refresh", {"refresh_token": key}, status=401)
    assert refused.json["code"] == "invalid_grant"
    fields = {"username": USERNAME, "password": PASSWORD, "refresh": True}
    tokens = client.post_json("/auth/login", fields).json
    for token in (tokens["refresh_token"], f"wsgiauth_{tokens['access_token']}"):
        seen = client.get("/", headers={"Authorization": f"Bearer {token}"}).json
        assert (seen["user"], seen["error"]) == (None, "invalid_token")


def test_a_wrong_key_is_a_wrong_token_and_costs_no_query(client, make_key, queries):
    key = make_key()["Authorization"].removeprefix("Bearer ")
    wrong = {
        "short": key[:-1],
        "long": key + "0",
        "very long": key * 10_000,
        "not ASCII": key[:-1] + "\xe9",
        "other order": key[:22] + key[23:28] + key[22] + key[28:],
    }
    for name, each in wrong.items():
        headers = {"Authorization": f"Bearer {each}"}
        assert queries(partial(client.get, "/", headers=headers)) == [], name
        refused = client.get("/auth/me", headers=headers, status=401)
        assert refused.headers["WWW-Authenticate"] == INVALID_TOKEN, name


@pytest.mark.promise(57)
def test_a_key_that_ends_while_it_is_used_is_anonymous_on_the_next_request(
    client, client_of, make_key
):
    headers = make_key()

    def end(environ, start_response):
        assert api_keys.revoke(environ["wsgiauth.user"], environ["wsgiauth.key"])
        return echo(environ, start_response)

    assert client_of(end).get("/", headers=headers).json["user"] == USERNAME
    assert client.get("/", headers=headers).json["user"] is None


# Passwords


@pytest.mark.every_database
@pytest.mark.parametrize(("flag", "user"), [(True, None), (False, USERNAME)])
def test_a_new_password_ends_the_keys_only_if_asked_to(client, login, make_key, flag, user):
    headers = make_key()
    fields = {"current_password": PASSWORD, "new_password": NEW_PASSWORD, "end_keys": flag}
    client.post_json("/auth/password", fields, headers=login, status=200)
    assert client.get("/", headers=headers).json["user"] == user


@pytest.mark.every_database
def test_the_form_has_the_box_where_there_are_keys_and_keeps_its_tick(browser, ada):
    browser.get("/auth/password", headers=BROWSER).mustcontain(no="end_keys")
    api_keys.create(ada, "export", ["a.read"], now=4_000_000_000)
    form = browser.get("/auth/password", headers=BROWSER).form
    form["current_password"], form["new_password"] = "wrong", NEW_PASSWORD
    form["end_keys"] = True
    again = form.submit(headers=SAME_ORIGIN, status=401).form
    assert again["end_keys"].checked
    again["current_password"], again["new_password"] = PASSWORD, NEW_PASSWORD
    again.submit(headers=SAME_ORIGIN, status=303)
    assert not Key.select().exists()


@pytest.mark.promise(57)
def test_a_new_password_by_a_link_ends_all_keys(client_of, make_key, ada, client):
    headers = make_key()
    linked = client_of(echo, PUBLIC_URL="http://localhost")
    link = make_reset_link(ada, linked.app.site.settings, mount="/auth", now=time.time())
    fields = {"token": link.partition("token=")[2], "password": NEW_PASSWORD}
    linked.post_json("/auth/reset", fields, status=200)
    assert client.get("/", headers=headers).json["user"] is None
    assert not Key.select().exists()
