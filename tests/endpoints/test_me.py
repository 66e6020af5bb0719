"""GET /auth/me."""

import time

import pytest

from tests.support.sites import BROWSER, PASSWORD
from wsgiauth import hash_password
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.storage.models import utc_now
from wsgiauth.testing import api_key

CHALLENGE = 'Bearer realm="wsgiauth"'
INVALID_TOKEN = 'Bearer realm="wsgiauth", error="invalid_token"'


def deactivate(user):
    user.is_active = False
    user.save()


def deactivate_behind_our_back(user):
    User.update(is_active=False).execute()


def give_another_password(user):
    user.hashed_password = hash_password("another four words", rounds=4)
    user.save()


ENDINGS = [
    pytest.param(deactivate, id="deactivated"),
    pytest.param(deactivate_behind_our_back, id="deactivated in the database"),
    pytest.param(give_another_password, id="given another password"),
    pytest.param(User.delete_instance, id="deleted"),
    pytest.param(sessions.revoke_all, id="logged out everywhere"),
]


def test_the_profile_of_the_caller_is_answered(client, ada, bearer):
    ada.grant("reports.publish", "reports.archive")
    profile = client.get("/auth/me", headers=bearer(ada)).json
    assert profile == {
        "id": ada.id,
        "username": "Ada",
        "label": "Ada",
        "email": "ada@example.org",
        "email_verified": False,
        "is_active": True,
        "is_staff": False,
        "is_superuser": False,
        "created_at": ada.created_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "permissions": ["reports.archive", "reports.publish"],
        "groups": [],
        "has_password": True,
        "language": "",
    }


@pytest.mark.every_database
def test_the_profile_says_whether_the_address_is_verified_and_names_the_groups(client, ada, bearer):
    update_user(ada, email_verified_at=utc_now(), email_verified_by="link")
    for name in ("Writers", "editors"):
        ada.join(Group.objects.create(name=name))
    profile = client.get("/auth/me", headers=bearer(ada)).json
    assert (profile["email_verified"], profile["groups"]) == (True, ["editors", "Writers"])


def test_the_profile_of_a_key_has_no_groups(client, ada):
    ada.grant("reports.publish")
    ada.join(Group.objects.create(name="Editors"))
    headers = api_key(client.app, ada, ["reports.publish"])
    profile = client.get("/auth/me", headers=headers).json
    assert (profile["permissions"], profile["groups"]) == (["reports.publish"], [])


def test_a_stranger_is_challenged(client):
    refused = client.get("/auth/me", status=401)
    assert refused.headers["WWW-Authenticate"] == CHALLENGE
    assert refused.content_type == "application/problem+json"
    assert refused.json == {
        "type": "about:blank",
        "title": "Unauthorized",
        "status": 401,
        "detail": "Log in to see your profile.",
        "code": "unauthenticated",
    }


def test_a_bad_token_is_challenged_as_such(client):
    refused = client.get("/auth/me", headers={"Authorization": "Bearer x.y.z"}, status=401)
    assert refused.headers["WWW-Authenticate"] == INVALID_TOKEN
    assert refused.json["code"] == "invalid_token"


def test_a_browser_is_refused_with_a_page(client):
    refused = client.get("/auth/me", headers=BROWSER, status=401)
    assert refused.content_type == "text/html"
    assert refused.headers["WWW-Authenticate"] == CHALLENGE
    refused.mustcontain("Log in to see your profile.", 'href="/auth/login?next=%2Fauth%2Fme"')


@pytest.mark.promise(5)
@pytest.mark.parametrize("end", ENDINGS)
def test_an_ended_login_is_nobody_on_the_next_request(client, ada, bearer, end):
    headers = bearer(ada)
    client.get("/auth/me", headers=headers, status=200)
    end(ada)
    refused = client.get("/auth/me", headers=headers, status=401)
    assert refused.headers["WWW-Authenticate"] == INVALID_TOKEN


@pytest.mark.promise(5)
def test_the_logins_of_others_go_on(client, ada, bearer, settings):
    bob = create_user("Bob", "bob@example.org", PASSWORD, settings=settings)
    headers = bearer(bob)
    deactivate(ada)
    assert client.get("/auth/me", headers=headers).json["username"] == "Bob"


@pytest.mark.promise(5)
def test_a_demotion_shows_on_the_next_request(client, settings, ada, bearer):
    create_user("boss", "boss@example.org", PASSWORD, settings=settings, is_superuser=True)
    ada.is_staff = ada.is_superuser = True
    ada.save()
    ada.grant("reports.publish")
    headers = bearer(ada)
    client.get("/auth/me", headers=headers)
    ada.is_staff = ada.is_superuser = False
    ada.save()
    ada.revoke("reports.publish")
    profile = client.get("/auth/me", headers=headers).json
    assert (profile["is_staff"], profile["is_superuser"]) == (False, False)
    assert profile["permissions"] == []


def test_a_login_ends_when_its_time_is_over(client, ada, settings):
    two_hours_ago = Tokens(settings, clock=lambda: time.time() - 7200)
    headers = {"Authorization": f"Bearer {sessions.start(ada, two_hours_ago).token}"}
    client.get("/auth/me", headers=headers, status=401)


def test_a_token_outlives_neither_its_row_nor_its_user(client, ada, bearer, settings):
    headers = bearer(ada)
    ada.delete_instance()
    create_user("Bob", "bob@example.org", PASSWORD, settings=settings)
    client.get("/auth/me", headers=headers, status=401)
