"""USERNAMES of a site that has users already: switched off, and on again."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from webtest import TestApp

from tests.support.mails import with_mail
from tests.support.sites import BROWSER, EMAIL, PASSWORD, USERNAME
from wsgiauth import AuthMiddleware, create_user, storage
from wsgiauth.accounts import names
from wsgiauth.testing import api_key, bearer

GRACE = "grace@example.org"


@pytest.fixture
def switch(settings):
    """Return a function that starts the site anew, with the database of before."""
    settings = replace(with_mail(settings), MAIL_URL=None, FORWARD_AUTH=True)
    sites = []

    def start(usernames, **changes):
        changes["USERNAMES"] = usernames == "on"
        site = AuthMiddleware(remote_user, replace(settings, **changes))
        sites.append(site)
        return SimpleNamespace(site=site, client=TestApp(site))

    yield start
    for site in sites:
        storage.discard_connection(site.database)


def remote_user(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [environ.get("REMOTE_USER", "-").encode()]


def make(site, username, email):
    return create_user(username, email, PASSWORD, settings=site.site.settings)


def log_in(client, name):
    """Return the header of a new session, or None."""
    answer = client.post_json("/auth/login", {"username": name, "password": PASSWORD}, status="*")
    token = answer.json.get("access_token")
    return token and {"Authorization": f"Bearer {token}"}


@pytest.mark.every_database
def test_switched_off_every_name_of_a_user_still_logs_in(switch):
    make(switch("on").site, USERNAME, EMAIL)
    off = switch("off")
    grace = make(off.site, None, GRACE)
    for name in (USERNAME, EMAIL, GRACE, grace.username):
        assert log_in(off.client, name), name
    me = off.client.get("/auth/me", headers=log_in(off.client, USERNAME)).json
    assert (me["username"], me["label"]) == (USERNAME, EMAIL)


def test_a_session_survives_the_switch(switch):
    on = switch("on")
    headers = bearer(on.site, make(on.site, USERNAME, EMAIL))
    for usernames in ("off", "on"):
        assert switch(usernames).client.get("/", headers=headers).text == USERNAME


def test_applications_and_proxies_get_the_username_that_was_made(switch):
    off = switch("off")
    grace = make(off.site, None, GRACE)
    headers = bearer(off.site, grace)
    assert off.client.get("/", headers=headers).text == grace.username
    checked = off.client.get("/auth/check", headers={**headers, "X-Forwarded-Method": "GET"})
    assert checked.headers["Remote-User"] == grace.username
    assert checked.headers["Remote-Email"] == GRACE


@pytest.mark.parametrize("name", ["username", "email"])
def test_tools_send_either_name_with_an_api_key(switch, name):
    off = switch("off", BASIC_AUTH="keys")
    grace = make(off.site, None, GRACE)
    key = api_key(off.site, grace)["Authorization"].removeprefix("Bearer ")
    off.client.authorization = ("Basic", (getattr(grace, name), key))
    assert off.client.get("/auth/me").json["label"] == GRACE


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_switched_off_no_page_changes_a_username(switch, method):
    off = switch("off")
    headers = bearer(off.site, make(off.site, USERNAME, EMAIL))
    for sent in ({}, headers):
        off.client.request("/auth/username", method=method, headers=sent, status=404)


def test_switched_on_again_a_user_sees_the_username_that_was_made_and_can_choose_one(switch):
    off = switch("off")
    grace = make(off.site, None, GRACE)
    headers = bearer(off.site, grace)
    on = switch("on")
    assert names.is_made(grace.username)
    assert grace.username in on.client.get("/auth/username", headers={**headers, **BROWSER}).text
    assert on.client.get("/auth/me", headers=headers).json["label"] == grace.username
    on.client.post_json("/auth/username", {"username": "grace"}, headers=headers, status=200)
    assert on.client.get("/", headers=headers).text == "grace"
    assert log_in(on.client, grace.username) is None


def test_an_invitation_of_before_gives_no_username_when_they_are_off(switch):
    link = switch("on").site.invite(GRACE, username="grace")
    off = switch("off")
    body = {"token": link.partition("token=")[2], "password": PASSWORD}
    off.client.post_json("/auth/verify", body, status=201)
    me = off.client.get("/auth/me", headers=log_in(off.client, GRACE)).json
    assert names.is_made(me["username"])
