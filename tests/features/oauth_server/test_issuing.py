"""The tokens that apps get: their claims, and what signs them."""

import hashlib
from base64 import urlsafe_b64encode
from dataclasses import replace

import jwt
import pytest
from webtest import TestApp

from tests.support.oauth_apps import ISSUER, NONCE, App, code_in, walk
from tests.support.service_keys import MAPS, new_key, pem_of, write_key
from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication.methods import MULTI_FACTOR
from wsgiauth.features.oauth_server.issuing import SINGLE_FACTOR, acr_of
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.testing import logged_in

DIGESTS = {"RS256": "sha256", "ES256": "sha256", "EdDSA": "sha512"}


@pytest.fixture
def settings(settings, tmp_path):
    """Return settings of a provider with a key of each kind; that of RSA signs."""
    folder = tmp_path / "keys"
    folder.mkdir()
    (tmp_path / "key").rename(folder / "1")
    write_key(folder / "2", pem_of(new_key("EdDSA")))
    write_key(folder / "3", pem_of(new_key("RS256")))
    return replace(settings, SERVICE_KEYS=str(folder))


def verified(app, token, audience):
    """Return the header and the claims of a token, as an app verifies them."""
    jwks = jwt.PyJWKSet.from_dict(app.program.get("/auth/jwks.json").json)
    header = jwt.get_unverified_header(token)
    options = {"verify_exp": False, "verify_iat": False, "verify_nbf": False}
    key = jwks[header["kid"]]
    return header, jwt.decode(
        token, key, [header["alg"]], audience=audience, issuer=ISSUER, options=options
    )


def at(site, app):
    """Let the program of an app ask another site."""
    app.program = TestApp(site)
    app.program.authorization = ("Basic", (app.id, app.secret))
    return app


def id_claims(app, tokens):
    return verified(app, tokens["id_token"], app.id)[1]


def access_claims(app, tokens, audience=f"{ISSUER}/auth/userinfo"):
    return verified(app, tokens["access_token"], audience)[1]


# ID tokens


def test_an_id_token_has_the_claims_of_its_scopes(browser, wiki, ada, clock):
    tokens = wiki.log_in(browser)
    claims = id_claims(wiki, tokens)
    assert claims.pop("sid")
    assert claims.pop("at_hash")
    assert claims == {
        "iss": ISSUER,
        "sub": str(ada.id),
        "aud": wiki.id,
        "iat": clock(),
        "exp": clock() + 300,
        "auth_time": clock(),
        "amr": ["pwd"],
        "acr": SINGLE_FACTOR,
        "nonce": NONCE,
        "preferred_username": ada.username,
        "name": ada.username,
        "email": EMAIL,
        "email_verified": False,
    }


def test_an_id_token_of_openid_alone_says_little(browser, wiki):
    claims = id_claims(wiki, wiki.log_in(browser, scope="openid", nonce=None))
    assert claims.keys() == {
        *("iss", "sub", "aud", "iat", "exp", "auth_time", "amr", "acr", "sid", "at_hash"),
    }


@pytest.mark.parametrize("algorithm", DIGESTS)
def test_a_client_can_choose_the_algorithm(site, browser, algorithm):
    app = App(site, algorithm=algorithm)
    tokens = app.log_in(browser)
    header, claims = verified(app, tokens["id_token"], app.id)
    assert (header["alg"], header["typ"]) == (algorithm, "JWT")
    digest = hashlib.new(DIGESTS[algorithm], tokens["access_token"].encode()).digest()
    half = urlsafe_b64encode(digest[: len(digest) // 2]).decode().rstrip("=")
    assert claims["at_hash"] == half


def test_the_last_key_signs_for_all_other_clients(browser, wiki):
    header, _ = verified(wiki, wiki.log_in(browser)["id_token"], wiki.id)
    assert header["alg"] == "RS256"


def test_the_last_key_signs_if_the_key_of_an_algorithm_is_gone(browser, wiki):
    Client.update(algorithm="ES512").execute()
    tokens = wiki.log_in(browser)
    header, claims = verified(wiki, tokens["id_token"], wiki.id)
    digest = hashlib.sha256(tokens["access_token"].encode()).digest()
    assert header["alg"] == "RS256"
    assert claims["at_hash"] == urlsafe_b64encode(digest[:16]).decode().rstrip("=")


def test_a_refresh_keeps_the_time_of_the_login_and_drops_the_nonce(browser, wiki, clock):
    tokens = wiki.log_in(browser)
    first = id_claims(wiki, tokens)
    clock.move(100)
    second = id_claims(wiki, wiki.refresh(tokens["refresh_token"]))
    assert second["iat"] == first["iat"] + 100
    assert "nonce" not in second
    for name in ("iss", "sub", "aud", "auth_time", "amr", "acr", "sid"):
        assert second[name] == first[name]


# Access tokens


@pytest.mark.promise(91)
def test_an_access_token_is_one_of_rfc_9068(browser, wiki, ada, clock):
    tokens = wiki.log_in(browser)
    header, claims = verified(wiki, tokens["access_token"], f"{ISSUER}/auth/userinfo")
    assert (header["typ"], header["alg"]) == ("at+jwt", "RS256")
    assert claims.pop("jti")
    assert claims.pop("grant")
    assert claims == {
        "iss": ISSUER,
        "sub": str(ada.id),
        "aud": f"{ISSUER}/auth/userinfo",
        "iat": clock(),
        "exp": clock() + 300,
        "client_id": wiki.id,
        "scope": "openid profile email",
        "auth_time": clock(),
        "amr": ["pwd"],
        "acr": SINGLE_FACTOR,
    }


@pytest.mark.promise(91)
def test_an_access_token_for_a_service_has_its_audience_alone(browser, wiki):
    tokens = wiki.log_in(browser, resource=MAPS)
    assert access_claims(wiki, tokens, MAPS)["aud"] == MAPS
    further = wiki.refresh(tokens["refresh_token"])
    assert access_claims(wiki, further, MAPS)["aud"] == MAPS


@pytest.mark.parametrize(("minutes", "seconds"), [(2, 120), (60, 300)])
@pytest.mark.promise(92)
def test_an_access_token_lasts_five_minutes_at_most(
    browser, wiki, settings, clock, minutes, seconds
):
    code = code_in(walk(browser, wiki.url()))
    site = AuthMiddleware(echo, replace(settings, SERVICE_TOKEN_MINUTES=minutes))
    site.site.tokens.now = clock
    answer = at(site, wiki).exchange(code)
    claims = access_claims(wiki, answer)
    storage.discard_connection(site.database)
    assert answer["expires_in"] == claims["exp"] - claims["iat"] == seconds


def test_each_access_token_has_another_id(browser, wiki):
    tokens = wiki.log_in(browser)
    further = wiki.refresh(tokens["refresh_token"])
    ids = {access_claims(wiki, each)["jti"] for each in (tokens, further)}
    assert len(ids) == 2


# Sessions


def test_the_apps_of_one_session_get_one_sid(site, browser, wiki):
    other = App(site, "Other")
    sids = {id_claims(app, app.log_in(browser))["sid"] for app in (wiki, other, wiki)}
    assert len(sids) == 1


def test_each_session_has_another_sid(site, browser, wiki, ada):
    sids = {id_claims(wiki, wiki.log_in(each))["sid"] for each in (browser, logged_in(site, ada))}
    assert len(sids) == 2


def test_a_new_proof_keeps_the_sid_and_the_grants(browser, wiki, clock):
    tokens = wiki.log_in(browser)
    clock.move(60)
    browser.post("/auth/confirm", {"password": PASSWORD}, headers=SAME_ORIGIN)
    former = id_claims(wiki, wiki.refresh(tokens["refresh_token"]))
    after = id_claims(wiki, wiki.log_in(browser))
    assert former["sid"] == after["sid"]
    assert after["auth_time"] == former["auth_time"] + 60


def test_the_sid_is_not_the_id_of_the_session(browser, wiki):
    assert id_claims(wiki, wiki.log_in(browser))["sid"] != Session.get().id


# How the user has logged in


@row_by_row(
    ("methods", "acr"),
    [
        ("", SINGLE_FACTOR),
        ("pwd", SINGLE_FACTOR),
        ("email", SINGLE_FACTOR),
        ("pwd otp", MULTI_FACTOR),
        ("hwk user", MULTI_FACTOR),
        ("swk user", MULTI_FACTOR),
        ("swk", SINGLE_FACTOR),
    ],
)
def test_the_class_of_a_login_says_whether_there_were_two_factors(methods, acr):
    assert acr_of(methods) == acr
