"""Apps that log in with Authlib and with requests-oauthlib."""

import jwt
import pytest

from tests.conftest import require
from tests.support.oauth_apps import AUTHORIZE, TOKEN, USERINFO, service_client
from tests.support.service_keys import REPORTS
from tests.support.sites import EMAIL, USERNAME

CALLBACK = "http://127.0.0.1/callback"
SCOPE = "openid profile email"
DOCUMENT = "/.well-known/openid-configuration"


# Authlib


@pytest.fixture
def authlib(site):
    """Return the entry of the provider in an application of Flask, and the application."""
    require("authlib", "flask", "requests")
    from authlib.integrations.flask_client import OAuth
    from flask import Flask

    app = site.register("Wiki", CALLBACK)
    flask = Flask(__name__)
    flask.secret_key = "of a test"
    entry = OAuth(flask).register(
        "site",
        client_id=app.id,
        client_secret=app.secret,
        server_metadata_url=f"{site.address}{DOCUMENT}",
        client_kwargs={"scope": SCOPE, "code_challenge_method": "S256"},
    )
    flask.add_url_rule("/login", "login", lambda: entry.authorize_redirect(CALLBACK))
    flask.add_url_rule("/callback", "callback", entry.authorize_access_token)
    return entry, flask.test_client()


def log_in_with_authlib(client, person):
    """Return the token response, with the claims of the ID token."""
    url = client.get("/login").headers["Location"]
    answer = client.get(person.visit(url, until=CALLBACK).removeprefix("http://127.0.0.1"))
    assert answer.status_code == 200, answer.text
    return answer.json


def test_authlib_logs_a_person_in(site, authlib, person):
    entry, client = authlib
    token = log_in_with_authlib(client, person)
    assert token["userinfo"]["sub"] == str(site.ada.id)
    assert entry.userinfo(token=token)["email"] == EMAIL


@pytest.mark.promise(92)
def test_authlib_refreshes_until_the_person_logs_out(site, authlib, person):
    from authlib.integrations.httpx_client import OAuth2Client, OAuthError

    entry, client = authlib
    token = log_in_with_authlib(client, person)
    with OAuth2Client(entry.client_id, entry.client_secret, token=token) as session:
        first = session.refresh_token(f"{site.address}{TOKEN}")
        assert first["refresh_token"] != token["refresh_token"]
        assert session.get(f"{site.address}{USERINFO}").json()["preferred_username"] == USERNAME
        person.log_out()
        with pytest.raises(OAuthError, match="invalid_grant"):
            session.refresh_token(f"{site.address}{TOKEN}")


def test_authlib_revokes_a_token(site, authlib, person):
    from authlib.integrations.httpx_client import OAuth2Client

    entry, client = authlib
    token = log_in_with_authlib(client, person)
    with OAuth2Client(entry.client_id, entry.client_secret, token=token) as session:
        session.revoke_token(f"{site.address}/auth/oauth/revoke", token["access_token"])
        assert session.get(f"{site.address}{USERINFO}").status_code == 401


# requests-oauthlib


@pytest.fixture
def oauthlib(site, monkeypatch):
    """Return the session of a new client."""
    require("requests_oauthlib")
    from requests_oauthlib import OAuth2Session

    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    app = site.register("Wiki", CALLBACK)
    with OAuth2Session(app.id, redirect_uri=CALLBACK, scope=SCOPE.split(), pkce="S256") as session:
        session.secret = app.secret
        yield session


def log_in_with_oauthlib(site, session, person):
    url, _ = session.authorization_url(f"{site.address}{AUTHORIZE}")
    return session.fetch_token(
        f"{site.address}{TOKEN}",
        authorization_response=person.visit(url, until=CALLBACK),
        client_secret=session.secret,
    )


def test_requests_oauthlib_logs_a_person_in(site, oauthlib, person):
    token = log_in_with_oauthlib(site, oauthlib, person)
    key = jwt.PyJWKClient(f"{site.address}/auth/jwks.json").get_signing_key_from_jwt(
        token["id_token"]
    )
    claims = jwt.decode(
        token["id_token"], key, ["RS256"], audience=oauthlib.client_id, issuer=site.address
    )
    assert claims["sub"] == str(site.ada.id)
    assert oauthlib.get(f"{site.address}{USERINFO}").json()["email"] == EMAIL


@pytest.mark.promise(92)
def test_requests_oauthlib_refreshes_until_the_app_is_revoked(site, oauthlib, person):
    from oauthlib.oauth2 import InvalidGrantError

    token = log_in_with_oauthlib(site, oauthlib, person)
    of_client = oauthlib.client_id, oauthlib.secret
    refreshed = oauthlib.refresh_token(f"{site.address}{TOKEN}", auth=of_client)
    assert refreshed["refresh_token"] != token["refresh_token"]
    person.revoke(oauthlib.client_id)
    with pytest.raises(InvalidGrantError):
        oauthlib.refresh_token(f"{site.address}{TOKEN}", auth=of_client)


# Programs that log in as themselves, with both


@pytest.fixture
def program(site):
    """Return a program with a permission for a service."""
    return service_client(site.app, "reports.read")


def verified(site, token):
    """Return the claims of an access token, as a service verifies them with PyJWT."""
    key = jwt.PyJWKClient(f"{site.address}/auth/jwks.json").get_signing_key_from_jwt(token)
    return jwt.decode(token, key, ["RS256"], audience=REPORTS, issuer=site.address)


def token_by_authlib(site, program):
    require("authlib", "requests")
    from authlib.integrations.requests_client import OAuth2Session

    with OAuth2Session(program.id, program.secret) as session:
        return session.fetch_token(
            f"{site.address}{TOKEN}", grant_type="client_credentials", resource=REPORTS
        )


def token_by_oauthlib(site, program):
    require("requests_oauthlib")
    from oauthlib.oauth2 import BackendApplicationClient
    from requests_oauthlib import OAuth2Session

    with OAuth2Session(client=BackendApplicationClient(program.id)) as session:
        return session.fetch_token(
            f"{site.address}{TOKEN}", client_secret=program.secret, resource=REPORTS
        )


@pytest.mark.promise(91)
@pytest.mark.parametrize("fetch", [token_by_authlib, token_by_oauthlib])
def test_a_program_gets_a_token_that_a_service_verifies(site, program, fetch, monkeypatch):
    monkeypatch.setenv("OAUTHLIB_INSECURE_TRANSPORT", "1")
    answer = fetch(site, program)
    claims = verified(site, answer["access_token"])
    assert (claims["sub"], claims["scope"]) == (f"client:{program.id}", "reports.read")
    assert "refresh_token" not in answer
