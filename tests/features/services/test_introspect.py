"""POST /auth/introspect: who can ask, how, and that all who cannot know get the same answer."""

import time
from base64 import b64encode
from dataclasses import replace

import jwt
import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY
from tests.support.service_keys import REPORTS, new_key, with_services, write_key
from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import known_permissions
from wsgiauth.authentication import sessions
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.features.keys import api_keys
from wsgiauth.features.services.service_tokens import ServiceTokens
from wsgiauth.testing import (
    add_authenticator,
    api_key,
    bearer,
    logged_in,
    make_user,
    recovery_codes,
)

pytestmark = pytest.mark.promise(66)

URL = "/auth/introspect"
INTROSPECT = "wsgiauth.introspect"
JSON = {"Content-Type": "application/json"}


@pytest.fixture
def settings(settings, tmp_path):
    return with_services(
        settings, write_key(tmp_path / "key.pem"), BASIC_AUTH="keys", FACTOR_KEY=FACTOR_KEY
    )


@pytest.fixture
def service(site, grace):
    """Return the credentials of another service."""
    grace.grant(INTROSPECT)
    return api_key(site, grace, [INTROSPECT])


@pytest.fixture
def token(site, ada):
    """Return an access token."""
    return bearer(site, ada)["Authorization"].removeprefix("Bearer ")


# What can be sent


def test_a_token_is_described(client, service, token):
    for send in (client.post, client.post_json):
        for further in ({}, {"token_type_hint": "refresh_token"}, {"unknown": "field"}):
            answer = send(URL, {"token": token, **further}, headers=service)
            assert (answer.json["active"], answer.json["username"]) == (True, USERNAME)
            assert answer.headers["Cache-Control"] == "no-store"


FORM = "application/x-www-form-urlencoded"
BODIES = {
    "no token": (FORM, "", 400),
    "two tokens": (FORM, "token=a&token=b", 400),
    "no string": ("application/json", '{"token": ["a"]}', 400),
    "empty string": ("application/json", '{"token": ""}', 400),
    "too long": ("application/json", " " * (16 * 1024 + 1), 413),
    "another type": ("text/plain", "token=a", 415),
}


def test_another_body_is_refused(client, service):
    def status_of(content_type, body):
        headers = {**service, "Content-Type": content_type}
        return client.post(URL, body, headers=headers, status="*").status_int

    found = {name: status_of(kind, body) for name, (kind, body, _) in BODIES.items()}
    assert found == {name: status for name, (*_, status) in BODIES.items()}


# Who can ask


def test_basic_is_accepted_where_the_site_has_it(client, service, token):
    key = service["Authorization"].removeprefix("Bearer ")
    basic = b64encode(f"Grace:{key}".encode()).decode()
    answer = client.post(URL, {"token": token}, headers={"Authorization": f"Basic {basic}"})
    assert answer.json["active"]


def test_an_anonymous_client_gets_the_challenges(client, token):
    for headers in ({}, BROWSER):
        answer = client.post(URL, {"token": token}, headers=headers, status=401)
        assert answer.headers.getall("WWW-Authenticate") == [
            'Basic realm="wsgiauth", charset="UTF-8"',
            'Bearer realm="wsgiauth"',
        ]


def test_a_key_without_the_permission_is_refused_and_is_the_actor(client, site, ada, token, caplog):
    ada.grant(INTROSPECT)
    answer = client.post(URL, {"token": token}, headers=api_key(site, ada), status=403)
    assert answer.json["code"] == "insufficient_scope"
    key_id = api_keys.list_keys(ada, 0)[0].id
    assert caplog.records[-1].actor == f"user {ada.id} key {key_id}"


def test_a_key_whose_owner_lost_the_permission_is_refused(client, service, grace, token):
    grace.revoke(INTROSPECT)
    client.post(URL, {"token": token}, headers=service, status=403)


def test_a_session_is_refused_even_with_the_permission(client, site, grace, service, token):
    answer = client.post(URL, {"token": token}, headers=bearer(site, grace), status=403)
    assert answer.json["code"] == "forbidden"
    browser = logged_in(site, grace)
    browser.post(URL, {"token": token}, headers={**SAME_ORIGIN, "Accept": "*/*"}, status=403)


def test_who_cannot_ask_does_not_learn_whether_the_body_is_right(client):
    for headers in ({"Authorization": "Bearer x"}, {}):
        client.post(URL, "x", headers={**headers, "Content-Type": "text/plain"}, status=401)


@pytest.fixture
def other_site(settings):
    """Return a function that returns a site with other settings."""
    made = []

    def make(**changes):
        made.append(AuthMiddleware(echo, replace(settings, **changes)))
        return made[-1]

    yield make
    for each in made:
        storage.discard_connection(each.database)


def test_a_session_without_the_demanded_second_factor_is_refused_as_others_are(other_site):
    site = other_site(SECOND_FACTOR="all")
    headers = bearer(site, make_user(site), second_factor=False)
    answer = TestApp(site).post(URL, {"token": "x"}, headers=headers, status=403)
    assert answer.json["code"] == "forbidden"


def test_without_service_keys_there_is_no_such_url(other_site):
    TestApp(other_site(SERVICE_KEYS=None, SERVICES=())).post(URL, {"token": "x"}, status=404)


def test_the_permission_is_listed(site):
    assert INTROSPECT in known_permissions.asked_for()


# What is not active


def revoked(site, user):
    token = bearer(site, user)["Authorization"].removeprefix("Bearer ")
    sessions.revoke_all(user)
    return token


def refresh_token(site, user):
    body = {"username": USERNAME, "password": PASSWORD, "refresh": True}
    return TestApp(site).post_json("/auth/login", body).json["refresh_token"]


def id_token(site, user):
    """Return an ID token of another issuer, signed by a key of its own."""
    claims = {"iss": "https://id.example", "sub": str(user.id), "aud": "reports", "exp": 2**33}
    return jwt.encode(claims, new_key(), "ES256")


def link_of_a_mail(site, user):
    return make_reset_link(user, site.site.settings, mount="/auth", now=time.time())


def recovery_code(site, user):
    add_authenticator(site, user)
    return recovery_codes(site, user)[0]


def basic(site, user):
    return b64encode(f"{USERNAME}:{PASSWORD}".encode()).decode()


def key_in_basic(site, user):
    key = api_key(site, user)["Authorization"].removeprefix("Bearer ")
    return b64encode(f"{USERNAME}:{key}".encode()).decode()


def with_its_scheme(site, user):
    return bearer(site, user)["Authorization"]


NOT_ACTIVE = [
    revoked,
    refresh_token,
    id_token,
    link_of_a_mail,
    recovery_code,
    basic,
    key_in_basic,
    with_its_scheme,
]


def test_what_is_not_active_gets_the_answer_of_garbage(client, site, service, ada):
    def answer_to(token):
        answer = client.post(URL, {"token": token}, headers=service)
        return answer.body, answer.headerlist

    garbage = answer_to("garbage")
    assert garbage[0] == b'{"active":false}'
    sent = {make.__name__: make(site, ada) for make in NOT_ACTIVE}
    assert {name: answer_to(each) for name, each in sent.items()} == dict.fromkeys(sent, garbage)


def active_access_token(site, user):
    return bearer(site, user)["Authorization"].removeprefix("Bearer ")


def active_key(site, user):
    return api_key(site, user)["Authorization"].removeprefix("Bearer ")


def active_service_token(site, user):
    key_id = api_keys.id_of(active_key(site, user))
    return site.site.part(ServiceTokens).issue(user.id, REPORTS, scope=(), sid=key_id, proof=None)


def test_these_three_are_active(client, site, service, ada):
    for make in (active_access_token, active_key, active_service_token):
        assert client.post(URL, {"token": make(site, ada)}, headers=service).json["active"]
