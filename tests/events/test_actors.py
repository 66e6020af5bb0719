"""Who a change is attributed to."""

import getpass
import io
import sys
import time
from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.mails import Post, with_mail
from tests.support.sites import PASSWORD, SAME_ORIGIN, USERNAME, echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, User, accounts, events, log_in, storage
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.cli import main
from wsgiauth.events import actors
from wsgiauth.feature import Feature
from wsgiauth.features.audit.trail import Filters, page
from wsgiauth.features.keys.api_keys import id_of
from wsgiauth.forms.endpoint import Endpoint, require_login
from wsgiauth.guards import permission_required
from wsgiauth.testing import api_key
from wsgiauth.web.responses import json_response

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
NEW_PASSWORD = "other unrelated birds"
GRACE = {"username": "Grace", "email": "grace@example.org", "password": NEW_PASSWORD}


@pytest.fixture
def heard():
    """Return the events of `site`."""
    return []


@pytest.fixture
def view():
    """Return a list with the application that `site` wraps; a test can replace it."""
    return [echo]


@pytest.fixture
def site(settings, heard, view):
    made = AuthMiddleware(
        lambda environ, start_response: view[0](environ, start_response),
        with_mail(settings),
        on_event=heard.append,
        send_mail=Post(),
    )
    yield made
    for each in (made.database, storage.current()):
        storage.discard_connection(each)


@pytest.fixture
def grace(ada, settings):
    return accounts.create_user(**GRACE, settings=settings)


def newest():
    """Return the newest event of the trail, less its time."""
    ((_, event),) = page(size=1)
    return event.name, event.user_id, event.actor


pytestmark = [pytest.mark.promise(51)]


@pytest.mark.parametrize(
    "headers", [pytest.param({}, id="JSON"), pytest.param(SAME_ORIGIN, id="form")]
)
def test_who_logs_in_is_the_user(client, ada, headers):
    post = client.post if headers else client.post_json
    post("/auth/login", CREDENTIALS, headers=headers)
    assert newest() == ("login", ada.id, f"user {ada.id}")


def test_who_logs_in_as_another_user_is_the_other_one(client, ada, grace):
    client.post("/auth/login", CREDENTIALS, headers=SAME_ORIGIN)
    client.post("/auth/login", GRACE, headers=SAME_ORIGIN)
    done = [(event.name, event.user_id, event.actor) for _, event in page(size=3)]
    assert sorted(done) == [
        ("login", ada.id, f"user {ada.id}"),
        ("login", grace.id, f"user {grace.id}"),
        ("logout", ada.id, f"user {ada.id}"),
    ]


def test_who_registers_is_the_new_user(client, site):
    client.post_json("/auth/register", GRACE)
    user = User.objects.get(username="Grace")
    assert newest() == ("registration", user.id, f"user {user.id}")


def test_who_follows_a_link_is_its_user(client, site, ada):
    link = make_reset_link(ada, site.site.settings, mount="/auth", now=time.time())
    fields = {"token": link.partition("=")[2], "password": NEW_PASSWORD}
    client.post_json("/auth/reset", fields)
    assert newest() == ("password_changed", ada.id, f"user {ada.id}")


def test_who_changes_a_password_or_logs_out_is_the_user(client, ada, bearer):
    fields = {"current_password": PASSWORD, "new_password": NEW_PASSWORD}
    done = client.post_json("/auth/password", fields, headers=bearer(ada))
    assert newest() == ("password_changed", ada.id, f"user {ada.id}")
    headers = {"Authorization": f"Bearer {done.json['access_token']}"}
    client.post("/auth/logout", headers=headers)
    assert newest() == ("logout", ada.id, f"user {ada.id}")


class Staff(Endpoint):
    """An endpoint that changes another user than its caller, as pages for staff do."""

    def get(self, environ, site):
        require_login(environ, site)
        User.objects.get(username="Grace").grant("a.b")
        return json_response({})


def test_an_endpoint_for_users_acts_for_its_caller(settings, ada, grace, bearer):
    staff = Feature(name="staff", urls={"/staff": Staff()})
    client = TestApp(AuthMiddleware(echo, replace(settings, FEATURES=(staff,))))
    client.get("/auth/staff", headers=bearer(ada))
    assert newest() == ("rights_changed", grace.id, f"user {ada.id}")


def grant_to(user):
    def app(environ, start_response):
        user.grant("a.b")
        return echo(environ, start_response)

    return app


def test_a_view_acts_for_the_user_who_is_logged_in(client, view, ada, grace, bearer):
    view[0] = grant_to(grace)
    client.get("/", headers=bearer(ada))
    assert newest() == ("rights_changed", grace.id, f"user {ada.id}")


def test_a_view_for_anyone_is_code(client, view, ada):
    view[0] = grant_to(ada)
    client.get("/")
    assert newest() == ("rights_changed", ada.id, "code")


def test_a_request_leaves_no_actor_behind(client, ada, bearer):
    client.get("/auth/me", headers=bearer(ada))
    client.get("/auth/sessions", headers=bearer(ada))
    client.post_json("/auth/login", CREDENTIALS)
    ada.grant("a.b")
    assert newest() == ("rights_changed", ada.id, "code")


def test_who_logs_in_by_a_view_of_the_application_is_the_user(client, view, ada):
    def login(environ, start_response):
        log_in(environ, ada)
        return echo(environ, start_response)

    view[0] = login
    client.get("/")
    assert newest() == ("login", ada.id, f"user {ada.id}")


def test_a_user_of_another_site_is_no_actor_in_this_one(client, view, ada, bearer, tmp_path):
    headers = bearer(ada)
    settings = replace(client.app.site.settings, DATABASE_URL=f"sqlite:///{tmp_path}/other.db")
    other = AuthMiddleware(echo, settings, send_mail=Post())
    stranger = accounts.create_user(**GRACE, settings=settings)
    view[0] = grant_to(stranger)
    client.get("/", headers=headers)
    with storage.context.using(other.database):
        assert newest() == ("rights_changed", stranger.id, "code")
    storage.discard_connection(other.database)


def test_what_a_subscriber_does_is_done_by_code(site, ada, bearer):
    def promote(event):
        if event.name == "login":
            User.objects.get(id=event.user_id).grant("a.b")

    events.subscribe(site.database, [promote])
    TestApp(site).post_json("/auth/login", CREDENTIALS)
    assert newest() == ("rights_changed", ada.id, "code")


def test_a_command_is_done_by_the_systems_user(ada, settings, monkeypatch):
    monkeypatch.setattr(getpass, "getuser", lambda: "operator")
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    assert main(["grant", "ada", "a.b"]) == 0
    assert newest() == ("rights_changed", ada.id, "command line operator")
    ada.revoke("a.b")
    assert newest() == ("rights_changed", ada.id, "code")


def accept(client, link):
    """Create an account by an invitation; return who did what."""
    fields = {"token": link.strip().partition("token=")[2], "password": NEW_PASSWORD}
    client.post_json("/auth/verify", fields, status=201)
    return [(event.name, event.reason, event.actor) for _, event in reversed(page(size=3))]


@pytest.mark.every_database
def test_the_rights_of_an_invitation_are_given_by_who_invited(client, view, site, ada, bearer):
    links = []

    def invite(environ, start_response):
        rights = {"is_staff": True, "permissions": ["a.b"]}
        links.append(site.invite(GRACE["email"], username="Grace", **rights))
        return echo(environ, start_response)

    site.site = replace(site.site, outbox=None)  # the link is returned
    view[0] = invite
    client.get("/", headers=bearer(ada))
    done = accept(client, links[0])
    grace = User.objects.get(username="Grace")
    assert done == [
        ("registration", None, f"user {grace.id}"),
        ("rights_changed", "is_staff on", f"user {ada.id}"),
        ("rights_changed", "granted a.b", f"user {ada.id}"),
    ]


def test_the_rights_of_a_commands_invitation_are_given_by_the_systems_user(
    client, settings, monkeypatch, capsys
):
    monkeypatch.setattr(getpass, "getuser", lambda: f"{chr(0xDCFF)}operator")
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    monkeypatch.setenv("PUBLIC_URL", "https://example.org")
    rights = ["--staff", "--grant", "a.b"]
    assert main(["invite", GRACE["email"], "--username", "Grace", *rights]) == 0
    done = accept(client, capsys.readouterr().out)
    assert [actor for *_, actor in done[1:]] == ["command line ?operator"] * 2


@pytest.mark.parametrize("error", [KeyError("getpwuid(): uid not found: 1000"), OSError()])
def test_a_systems_user_without_a_name_is_the_command_line(monkeypatch, error):
    def getuser():
        raise error

    monkeypatch.setattr(getpass, "getuser", getuser)
    assert actors.command_line() == "command line"


@pytest.mark.every_database
def test_a_systems_user_of_any_name_can_be_stored(ada):
    with actors.acting(f"command line {chr(0xDCFF)}\0{'x' * 200}"):
        ada.grant("a.b")
    assert newest() == ("rights_changed", ada.id, f"command line ??{'x' * 62}")


@row_by_row(
    ("actor", "user_id"),
    [
        ("user 7", 7),
        ("user 7 key 4fD8sKq2ZxLw", 7),
        ("code", None),
        ("command line", None),
        ("command line user 7", None),
    ],
)
def test_only_a_user_has_an_id(actor, user_id):
    assert actors.user_id_of(actor) == user_id


@row_by_row(
    ("actor", "key_id"),
    [
        ("user 7 key 4fD8sKq2ZxLw", "4fD8sKq2ZxLw"),
        ("user 7", ""),
        ("command line user 7 key 4fD8sKq2ZxLw", ""),
    ],
)
def test_only_a_user_has_a_key(actor, key_id):
    assert actors.key_of(actor) == key_id


@pytest.mark.every_database
def test_a_key_with_which_a_view_makes_a_change_is_named(client, view, ada, grace):
    ada.grant("reports.read")
    headers = api_key(client.app, ada, ["reports.read"])
    key_id = id_of(headers["Authorization"].removeprefix("Bearer "))
    view[0] = grant_to(grace)
    client.get("/", headers=headers)
    done = ("rights_changed", grace.id, f"user {ada.id} key {key_id}")
    assert newest() == done
    for actor in (f"user {ada.id}", f"user {ada.id} key {key_id}"):
        ((_, event),) = page(Filters(actor=actor, name="rights_changed"))
        assert event.actor == done[2]
    assert page(Filters(actor=f"user {ada.id} key {key_id[::-1]}")) == []


@pytest.mark.parametrize("name", ["code", "command line", "user 7"])
def test_a_systems_user_of_any_name_is_a_command(ada, monkeypatch, name):
    monkeypatch.setattr(getpass, "getuser", lambda: name)
    with actors.acting(actors.command_line()):
        ada.grant("a.b")
    assert newest()[2] == f"command line {name}"
    assert page(Filters(actor="code", name="rights_changed")) == []


def test_a_refused_attempt_of_a_stranger_has_no_actor_and_one_of_a_user_has(
    client, view, ada, bearer, heard
):
    client.post_json("/auth/login", {**CREDENTIALS, "password": "mistyped words"}, status=401)
    assert (heard[-1].name, heard[-1].actor) == ("login_failed", None)
    view[0] = permission_required("a.b")(echo)
    client.get("/", headers=bearer(ada), status=403)
    assert (heard[-1].name, heard[-1].actor) == ("refused", f"user {ada.id}")
