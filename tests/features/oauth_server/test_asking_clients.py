"""POST /auth/introspect by the secret of a client: whose tokens a client learns of (RFC 7662)."""

from base64 import b64encode

import pytest
from webtest import TestApp

from tests.support.oauth_apps import App, RegisteredApp, service_client
from tests.support.service_keys import MAPS, REPORTS
from tests.support.sites import PASSWORD, SAME_ORIGIN, USERNAME
from tests.support.tables import row_by_row
from wsgiauth.accounts import update_user
from wsgiauth.authentication import sessions
from wsgiauth.features.oauth_server import clients, grants
from wsgiauth.features.oauth_server.clients import ClientFields
from wsgiauth.features.oauth_server.tables import Client, Grant
from wsgiauth.testing import api_key, bearer

pytestmark = pytest.mark.promise(99)

URL = "/auth/introspect"
INTROSPECT = "wsgiauth.introspect"
INACTIVE = b'{"active":false}'
BASIC = 'Basic realm="wsgiauth", charset="UTF-8"'
BOTH = (MAPS, REPORTS)


@pytest.fixture
def further():
    """Return the settings of a provider with two services."""
    return {"SERVICES": BOTH, "OAUTH_REGISTRATION": True}


@pytest.fixture
def blog(site):
    """Return another app."""
    return App(site, "Blog")


@pytest.fixture
def program(site):
    """Return a program that an operator lets ask about the tokens for one service."""
    return App(site, "Maps", uri="", is_service=True, scopes=["a.b"], audiences=(MAPS,))


def basic(client_id, secret):
    return {"Authorization": "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()}


def ask(app, token, **options):
    """Return the answer to an app that asks by its secret in the header."""
    headers = basic(app.id, app.secret)
    return TestApp(app.site).post(URL, {"token": token}, headers=headers, **options)


def is_active(app, token):
    answer = ask(app, token)
    assert answer.json["active"] or answer.body == INACTIVE
    return answer.json["active"]


# What a client learns


def in_the_header(app):
    return basic(app.id, app.secret), {}


def in_the_form(app):
    return {}, {"client_id": app.id, "client_secret": app.secret}


@pytest.mark.parametrize("way", [in_the_header, in_the_form])
@pytest.mark.every_database
def test_an_app_learns_of_its_own_tokens(site, browser, wiki, ada, way):
    tokens = wiki.log_in(browser, resource=MAPS)
    headers, form = way(wiki)
    for name, audience in (("access_token", MAPS), ("refresh_token", "http://localhost")):
        answer = TestApp(site).post(URL, {"token": tokens[name], **form}, headers=headers).json
        assert (answer["active"], answer["client_id"], answer["aud"]) == (True, wiki.id, audience)
        assert (answer["sub"], answer["username"]) == (str(ada.id), USERNAME)


def test_json_is_accepted_as_from_services(site, browser, wiki):
    token = wiki.log_in(browser)["access_token"]
    answer = TestApp(site).post_json(URL, {"token": token}, headers=basic(wiki.id, wiki.secret))
    assert answer.json["active"]


def test_the_username_needs_the_scope_profile(site, browser, wiki, ada, grace):
    token = wiki.log_in(browser, scope="openid email")["access_token"]
    answer = ask(wiki, token).json
    assert (answer["sub"], answer["scope"]) == (str(ada.id), "email openid")
    assert "username" not in answer
    grace.grant(INTROSPECT)
    key = api_key(site, grace, [INTROSPECT])
    assert TestApp(site).post(URL, {"token": token}, headers=key).json["username"] == USERNAME


def test_a_token_of_another_app_is_as_garbage(site, browser, ada, blog, queries):
    """Also if it is for the same service; and its permissions cost no statement."""
    ada.grant("a.b")
    wiki = App(site, scopes=["openid", "a.b"])
    blog.log_in(browser, resource=MAPS)
    tokens = wiki.log_in(browser, scope="openid a.b", resource=MAPS)
    asked = {"garbage": "x", **{name: tokens[name] for name in ("access_token", "refresh_token")}}
    answers, costs = {}, {}
    for name, token in asked.items():
        costs[name] = len(queries(lambda: answers.update({name: ask(blog, token)})))  # noqa: B023
    assert {*costs.values()} == {2}  # for the client and for the token
    found = {(each.body, tuple(each.headerlist)) for each in answers.values()}
    assert [body for body, _headers in found] == [INACTIVE]
    assert is_active(wiki, tokens["access_token"])


def test_a_program_learns_of_its_own_tokens(site):
    nightly, other = (service_client(site, "a.b") for _ in range(2))
    token = nightly.log_in_as_itself(resource=MAPS)["access_token"]
    assert ask(nightly, token).json["sub"] == f"client:{nightly.id}"
    assert not is_active(other, token)


def test_a_program_learns_of_the_tokens_for_its_services_alone(site, browser, wiki, program):
    for_maps, for_reports = (wiki.log_in(browser, resource=each) for each in BOTH)
    for_userinfo = wiki.log_in(browser)
    seen = {
        "for its service": is_active(program, for_maps["access_token"]),
        "for another one": is_active(program, for_reports["access_token"]),
        "for this site": is_active(program, for_userinfo["access_token"]),
        "of another program": is_active(
            program, service_client(site, "a.b").log_in_as_itself(resource=MAPS)["access_token"]
        ),
        "a refresh token": is_active(program, for_maps["refresh_token"]),
        "an ID token": is_active(program, for_maps["id_token"]),
    }
    assert [name for name, is_seen in seen.items() if is_seen] == [
        *("for its service", "of another program")
    ]


def test_a_program_learns_of_the_tokens_that_users_get_for_its_service(site, ada, program):
    client, login = TestApp(site), bearer(site, ada)
    for audience, is_seen in zip(BOTH, (True, False), strict=True):
        body = {"audience": audience}
        token = client.post_json("/auth/token", body, headers=login).json["access_token"]
        assert is_active(program, token) is is_seen


def test_a_service_is_compared_as_a_uri(site, browser, wiki):
    spelled = MAPS.replace("https://", "HTTPS://")
    program = App(site, "M", uri="", is_service=True, scopes=["a.b"], audiences=(spelled.lower(),))
    assert is_active(program, wiki.log_in(browser, resource=MAPS)["access_token"])


@pytest.mark.parametrize(
    "further",
    [{"SERVICES": ("http://localhost", "wsgiauth")}],
    ids=["services with names of this site"],
)
def test_a_name_of_this_site_as_a_service_opens_no_other_tokens(site, settings, browser, wiki, ada):
    services = ("http://localhost", settings.JWT_AUDIENCE or "wsgiauth")
    program = App(site, "M", uri="", is_service=True, scopes=["a.b"], audiences=services)
    tokens = wiki.log_in(browser, resource="http://localhost")
    assert is_active(program, tokens["access_token"])
    assert not is_active(program, tokens["refresh_token"])
    assert not is_active(program, bearer(site, ada)["Authorization"].removeprefix("Bearer "))


def of_a_session(site, user):
    return bearer(site, user)["Authorization"].removeprefix("Bearer ")


def of_a_key(site, user):
    return api_key(site, user)["Authorization"].removeprefix("Bearer ")


@pytest.mark.parametrize("make", [of_a_session, of_a_key])
def test_no_client_learns_of_other_credentials(site, wiki, program, ada, make, queries):
    for each in (wiki, program):
        token = make(site, ada)
        assert not is_active(each, token)
        assert len(queries(lambda: ask(each, token))) == 2  # noqa: B023


def test_a_question_of_a_client_does_not_present_the_token_of_a_refresh(site, wiki, ada, queries):
    login = {"username": USERNAME, "password": PASSWORD, "refresh": True}
    first = TestApp(site).post_json("/auth/login", login).json["refresh_token"]
    refreshed = TestApp(site).post_json("/auth/refresh", {"refresh_token": first}).json
    assert len(queries(lambda: ask(wiki, refreshed["access_token"]))) == 2


# What ends it


def revoke_the_consent(site, wiki, user):
    grants.revoke(user, wiki.id, site.site.tokens.now())


def deactivate_the_user(site, wiki, user):
    update_user(user, is_active=False)


def log_out(site, wiki, user):
    sessions.revoke_all(user)


def remove_the_service(site, wiki, user):
    Grant.update(resource="https://former.example").execute()


@pytest.mark.promise(92)
@pytest.mark.parametrize(
    "end", [revoke_the_consent, deactivate_the_user, log_out, remove_the_service]
)
def test_what_ended_is_not_active_at_once(site, browser, wiki, program, ada, end):
    tokens = wiki.log_in(browser, resource=MAPS)
    assert is_active(wiki, tokens["access_token"])
    end(site, wiki, ada)
    for each in (wiki, program):
        for name in ("access_token", "refresh_token"):
            assert not is_active(each, tokens[name])


def test_a_program_whose_service_was_taken_away_learns_nothing_more(browser, wiki, program):
    token = wiki.log_in(browser, resource=MAPS)["access_token"]
    assert is_active(program, token)
    row = Client.get_by_id(program.id)
    clients.change(row, ClientFields.of(row)._replace(audiences=()))
    assert not is_active(program, token)


# Who is refused


def a_wrong_secret(site, wiki):
    return basic(wiki.id, "x"), {}


def a_wrong_secret_in_the_form(site, wiki):
    return {}, {"client_id": wiki.id, "client_secret": "x"}


def no_secret(site, wiki):
    return {}, {"client_id": wiki.id}


def no_id(site, wiki):
    return {}, {"client_secret": wiki.secret}


def an_unknown_client(site, wiki):
    return basic("x", wiki.secret), {}


def no_base64(site, wiki):
    return {"Authorization": "Basic !"}, {}


def a_public_client(site, wiki):
    phone = App(site, "Phone", "com.example.phone:/callback", is_public=True)
    return {}, {"client_id": phone.id}


def a_public_client_with_a_secret(site, wiki):
    phone = App(site, "Phone", "com.example.phone:/callback", is_public=True)
    return basic(phone.id, "x"), {}


def a_client_that_registered_itself(site, wiki):
    return basic(RegisteredApp(site).id, ""), {}


@row_by_row(
    "way",
    [
        a_wrong_secret,
        a_wrong_secret_in_the_form,
        no_secret,
        no_id,
        an_unknown_client,
        no_base64,
        a_public_client,
        a_public_client_with_a_secret,
        a_client_that_registered_itself,
    ],
)
def test_a_client_that_is_not_authenticated_is_refused(site, browser, wiki, way):
    token = wiki.log_in(browser)["access_token"]
    headers, form = way(site, wiki)
    answer = TestApp(site).post(URL, {"token": token, **form}, headers=headers, status=401)
    assert answer.json["error"] == "invalid_client"
    assert answer.headers.getall("WWW-Authenticate") == [BASIC]


def test_a_client_cannot_authenticate_in_two_ways(site, wiki, grace):
    grace.grant(INTROSPECT)
    form = {"token": "x", "client_secret": wiki.secret}
    for headers in (basic(wiki.id, wiki.secret), api_key(site, grace, [INTROSPECT])):
        answer = TestApp(site).post(URL, form, headers=headers, status=400)
        assert answer.json["error"] == "invalid_request"


def test_a_client_that_is_refused_does_not_learn_whether_the_body_is_right(site, wiki):
    for secret, status in (("x", 401), (wiki.secret, 415)):
        headers = {**basic(wiki.id, secret), "Content-Type": "text/plain"}
        TestApp(site).post(URL, "x", headers=headers, status=status)


def test_a_client_sends_a_token(site, wiki):
    for form in ({"x": "y"}, {"token": ""}):
        answer = TestApp(site).post(URL, form, headers=basic(wiki.id, wiki.secret), status=400)
        assert answer.json["code"] == "malformed"


def test_a_cookie_makes_no_difference(browser, wiki):
    form = {"token": wiki.log_in(browser)["access_token"]}
    browser.post(URL, form, headers={**SAME_ORIGIN, "Accept": "*/*"}, status=403)
    form |= {"client_id": wiki.id, "client_secret": wiki.secret}
    assert browser.post(URL, form, headers={"Sec-Fetch-Site": "none"}).json["active"]


# Basic with API keys


with_keys = pytest.mark.parametrize("further", [{"BASIC_AUTH": "keys"}], ids=["keys in Basic"])


def key_of(site, user):
    user.grant(INTROSPECT)
    return api_key(site, user, [INTROSPECT])["Authorization"].removeprefix("Bearer ")


@with_keys
def test_a_key_by_basic_goes_on(site, browser, wiki, grace):
    form = {"token": wiki.log_in(browser, scope="openid")["access_token"]}
    answer = TestApp(site).post(URL, form, headers=basic("Grace", key_of(site, grace)))
    assert answer.json["username"] == USERNAME
    assert TestApp(site).post(URL, form, headers=basic(wiki.id, wiki.secret)).json["active"]


@with_keys
def test_a_user_with_the_name_of_a_client_is_no_caller(site, wiki, grace):
    key = key_of(site, grace)
    update_user(grace, username=wiki.id)
    answer = TestApp(site).post(URL, {"token": "x"}, headers=basic(wiki.id, key), status=401)
    assert answer.json["error"] == "invalid_client"


@with_keys
@row_by_row("credentials", ["Basic !", "Basic", "basic eDp5", "Digest x"])
def test_credentials_of_no_client_are_refused_as_before(site, credentials):
    headers = {"Authorization": credentials}
    answer = TestApp(site).post(URL, {"token": "x"}, headers=headers, status=401)
    assert answer.headers.getall("WWW-Authenticate")[0] == BASIC
    assert "code" in answer.json
