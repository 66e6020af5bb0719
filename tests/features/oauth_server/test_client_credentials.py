"""Programs that log in as themselves: the grant of client credentials (RFC 6749 section 4.4)."""

import jwt
import pytest
from webtest import TestApp

from tests.support.oauth_apps import (
    AUTHORIZE,
    CALLBACK,
    CONSENT,
    DEVICE_GRANT,
    ISSUER,
    App,
    service_client,
)
from tests.support.service_keys import MAPS, MAPS_TOO, REPORTS
from tests.support.sites import BROWSER
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.testing import api_key
from wsgiauth.throttling.counts import AttemptCount

CLIENT_CREDENTIALS = "client_credentials"
REVOKE = "/auth/oauth/revoke"


@pytest.fixture
def program(site):
    """Return a program that logs in as itself."""
    return service_client(site, "a.read", "a.write")


def claims_of(program, token, audience):
    """Return the claims of a token, as a service verifies them."""
    keys = jwt.PyJWKSet.from_dict(program.program.get("/auth/jwks.json").json)
    header = jwt.get_unverified_header(token)
    assert header["typ"] == "at+jwt"
    return jwt.decode(token, keys[header["kid"]], [header["alg"]], audience=audience, issuer=ISSUER)


# What it gets


def test_a_program_can_spell_the_service_differently(program):
    token = program.log_in_as_itself(resource=MAPS_TOO)["access_token"]
    assert claims_of(program, token, MAPS)["aud"] == MAPS


@pytest.mark.every_database
@pytest.mark.promise(91)
def test_a_program_gets_an_access_token_of_its_own_and_nothing_else(program, clock):
    answer = program.log_in_as_itself(resource=MAPS)
    claims = claims_of(program, answer.pop("access_token"), MAPS)
    assert answer == {"token_type": "Bearer", "expires_in": 300, "scope": "a.read a.write"}
    assert claims.pop("jti")
    assert claims == {
        "iss": ISSUER,
        "sub": f"client:{program.id}",
        "aud": MAPS,
        "iat": clock(),
        "exp": clock() + 300,
        "client_id": program.id,
        "scope": "a.read a.write",
        "grant_type": CLIENT_CREDENTIALS,
    }


@pytest.mark.parametrize(
    ("asked", "scope"),
    [("a.write", "a.write"), ("a.read a.read", "a.read"), (" ", "a.read a.write")],
    ids=["one", "one twice", "none"],
)
def test_a_program_can_ask_for_less(program, asked, scope):
    answer = program.log_in_as_itself(resource=MAPS, scope=asked)
    assert answer["scope"] == scope
    assert claims_of(program, answer["access_token"], MAPS)["scope"] == scope


@pytest.mark.parametrize("further", [{"SERVICES": (REPORTS,)}], ids=["one service"])
def test_the_only_service_needs_no_name(program):
    answer = program.log_in_as_itself()
    assert claims_of(program, answer["access_token"], REPORTS)["aud"] == REPORTS


@pytest.mark.parametrize("further", [{"SERVICE_TOKEN_MINUTES": 2}], ids=["two minutes"])
def test_a_site_can_let_the_token_expire_earlier(program):
    answer = program.log_in_as_itself(resource=MAPS)
    claims = claims_of(program, answer["access_token"], MAPS)
    assert answer["expires_in"] == claims["exp"] - claims["iat"] == 120


def test_a_token_costs_one_select_and_no_row(program, queries):
    program.log_in_as_itself(resource=MAPS)  # which records the first use of the day
    (statement,) = queries(lambda: program.log_in_as_itself(resource=MAPS))
    assert statement.startswith("SELECT")


# What is refused


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"scope": "a.read openid"}, "invalid_scope"),
        ({"scope": "a.read a.delete"}, "invalid_scope"),
        ({"resource": None}, "invalid_target"),
        ({"resource": f"{MAPS}/"}, "invalid_target"),
        ({"resource": f"{ISSUER}/auth/userinfo"}, "invalid_target"),
    ],
    ids=["an OpenID scope", "another permission", "no service", "another service", "userinfo"],
)
@pytest.mark.promise(90)
def test_a_program_gets_nothing_that_it_was_not_given(program, fields, error):
    assert program.log_in_as_itself(400, **{"resource": MAPS, **fields})["error"] == error


@pytest.mark.parametrize("further", [{"SERVICES": ()}], ids=["no service"])
def test_without_a_service_there_is_no_token(program):
    assert program.log_in_as_itself(400) == {
        "error": "invalid_target",
        "error_description": "this site has no services: SERVICES is empty",
    }


@pytest.mark.promise(93)
@pytest.mark.parametrize("secret", ["", "x", None], ids=["none", "a guess", "of another client"])
def test_only_its_secret_authenticates_a_program(program, wiki, secret):
    secret = wiki.secret if secret is None else secret
    program.program.authorization = ("Basic", (program.id, secret))
    assert program.log_in_as_itself(401, resource=MAPS)["error"] == "invalid_client"


def test_the_former_secret_of_a_change_is_valid_until_it_is_ended(program, clock):
    client = clients.find(program.id, clock())
    clients.renew_secret(client)
    program.log_in_as_itself(resource=MAPS)
    clients.end_former(client)
    program.log_in_as_itself(401, resource=MAPS)


def test_guesses_keep_no_program_waiting(program):
    """So no stranger can: a secret is too long to be guessed."""
    program.program.authorization = ("Basic", (program.id, "a guess"))
    for _ in range(20):
        program.log_in_as_itself(401, resource=MAPS)
    assert not AttemptCount.select().exists()
    program.program.authorization = ("Basic", (program.id, program.secret))
    program.log_in_as_itself(resource=MAPS)


@pytest.mark.parametrize("options", [{}, {"is_trusted": True}, {"is_public": True}], ids=str)
def test_a_client_of_users_cannot_log_in_as_itself(site, options):
    app = App(site, scopes=["a.read"], **options)
    answer = app.log_in_as_itself(400, resource=MAPS)
    description = "this client cannot use the grant_type client_credentials"
    assert answer == {"error": "unauthorized_client", "error_description": description}


@pytest.mark.parametrize("kind", ["authorization_code", "refresh_token", DEVICE_GRANT])
def test_a_program_has_no_other_grant(program, kind):
    description = "this client can only use the grant_type client_credentials"
    answer = program.ask(400, {"grant_type": kind})
    assert answer == {"error": "unauthorized_client", "error_description": description}


@pytest.mark.promise(90)
@pytest.mark.parametrize("path", [AUTHORIZE, CONSENT])
def test_no_user_can_log_in_to_a_program(program, browser, path):
    """Not even if it had the redirect URI of a login."""
    Client.update(redirect_uris=CALLBACK).where(Client.id == program.id).execute()
    url = program.url(path, redirect_uri=CALLBACK, prompt="none")
    page = browser.get(url, headers=BROWSER, status=400)
    assert "is not known to this site" in page.html.main.text


@pytest.mark.promise(90)
def test_no_user_can_allow_a_program_as_a_device(program):
    answer = program.program.post("/auth/oauth/device", {"scope": "a.read"}, status=400)
    assert answer.json["error"] == "unauthorized_client"


# Introspection (RFC 7662)


@pytest.fixture
def ask(site, grace):
    """Return a function that returns what a service learns about a token."""
    grace.grant("wsgiauth.introspect")
    headers = api_key(site, grace, ["wsgiauth.introspect"])
    client = TestApp(site)
    return lambda token: client.post("/auth/introspect", {"token": token}, headers=headers).json


def test_a_token_of_a_program_is_described_without_a_user(program, ask, clock):
    token = program.log_in_as_itself(resource=MAPS)["access_token"]
    assert ask(token) == {
        "active": True,
        "sub": f"client:{program.id}",
        "client_id": program.id,
        "scope": "a.read a.write",
        "token_type": "bearer",
        "iss": ISSUER,
        "aud": MAPS,
        "iat": clock(),
        "exp": clock() + 300,
    }


@pytest.mark.promise(92)
def test_a_token_of_a_program_loses_the_scope_that_the_program_loses(program, ask):
    token = program.log_in_as_itself(resource=MAPS)["access_token"]
    Client.update(scopes="a.write a.other").execute()
    assert ask(token)["scope"] == "a.write"


def remove(program, clock):
    clients.remove(clients.find(program.id, clock()))


def lose_the_scopes(program, clock):
    Client.update(scopes="a.other").execute()


def become_a_client_of_users(program, clock):
    Client.update(is_service=False).execute()


def expire(program, clock):
    clock.move(300)


@pytest.mark.every_database
@pytest.mark.promise(92)
@pytest.mark.parametrize("act", [remove, lose_the_scopes, become_a_client_of_users, expire])
def test_a_token_of_a_program_ends_at_once(program, ask, clock, queries, act):
    token = program.log_in_as_itself(resource=MAPS)["access_token"]
    ask(token)  # the first use of the key is written
    act(program, clock)
    answers = []
    costs = [len(queries(lambda: answers.append(ask(each)))) for each in (token, "x")]  # noqa: B023
    assert answers == [{"active": False}] * 2
    assert len({*costs}) == 1


# Revocation (RFC 7009)


def test_a_token_of_a_program_cannot_be_revoked_and_the_answer_says_so(program, ask):
    token = program.log_in_as_itself(resource=MAPS)["access_token"]
    answer = program.program.post(REVOKE, {"token": token}, status=400)
    assert answer.json["error"] == "unsupported_token_type"
    assert ask(token)["active"]


def test_the_answer_to_others_says_nothing_about_a_token_of_a_program(program, wiki, clock):
    token = program.log_in_as_itself(resource=MAPS)["access_token"]
    wiki.program.post(REVOKE, {"token": token}, status=200)
    clock.move(300)
    program.program.post(REVOKE, {"token": token}, status=200)
