"""The provider of the tests: honest for a client that is not ours, and spoiled as a test says."""

import base64
import http.client
import socket
import time
from contextlib import suppress
from urllib.parse import parse_qsl, quote_plus, urlencode, urlsplit

import pytest
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from tests.support.hostile_provider import CLIENT_ID, CLIENT_SECRET, DISCOVERY, Provider
from tests.support.mail_servers import make_certificate
from tests.support.provider_answers import (
    HONEST,
    Answer,
    Drip,
    Endless,
    HangUp,
    Held,
    Json,
    Redirect,
    Slow,
)
from tests.support.provider_keys import DROP, HmacKey, NoKey, challenge, half_hash, signing_key
from tests.support.tables import row_by_row
from wsgiauth.settings.oidc import parse_entry

VERIFIER = "a verifier of at least 43 characters, as RFC 7636 demands"
CALLBACK = "http://localhost/auth/oidc/google/callback"
ALGORITHMS = ["RS256", "PS512", "ES256", "ES384", "ES512", "Ed25519"]


def location(provider, **changes):
    asked = {
        "client_id": CLIENT_ID,
        "redirect_uri": CALLBACK,
        "response_type": "code",
        "scope": "openid email",
        "state": "a state",
        "nonce": "a nonce",
        "code_challenge": challenge(VERIFIER),
        "code_challenge_method": "S256",
    }
    return f"{provider.url('/authorize')}?{urlencode(asked | changes)}"


def ask(provider, path, form=None, headers=None):
    """Return the status and the document, or what was read until the connection broke."""
    connection = http.client.HTTPConnection(urlsplit(provider.origin).netloc, timeout=1)
    body = None if form is None else urlencode(form)
    connection.request("GET" if form is None else "POST", path, body, headers or {})
    response = connection.getresponse()
    read = response.read()
    connection.close()
    return response.status, read


def basic(secret=CLIENT_SECRET):
    pair = f"{quote_plus(CLIENT_ID)}:{quote_plus(secret)}"
    return {"Authorization": f"Basic {base64.b64encode(pair.encode()).decode()}"}


def redeem(provider, used, headers=None, **changes):
    form = {
        "grant_type": "authorization_code",
        "code": used,
        "redirect_uri": CALLBACK,
        "code_verifier": VERIFIER,
    }
    path = urlsplit(provider.url("/token")).path
    status, body = ask(provider, path, form | changes, basic() if headers is None else headers)
    return status, Answer(body=body).json


def log_in(provider, subject="ada", **changes):
    query = dict(parse_qsl(provider.authorize(location(provider, **changes), subject)))
    assert (query["state"], query["iss"]) == ("a state", provider.issuer)
    status, answer = redeem(provider, query["code"])
    assert (status, answer["token_type"]) == (200, "Bearer")
    return answer


def verified(provider, token):
    keys = KeySet.import_key_set({"keys": provider.keys})
    return jwt.decode(token, keys, algorithms=[provider.keys[-1]["alg"]]).claims


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_id_token_of_a_login_is_verified_by_another_library(provider, algorithm):
    provider.key = signing_key(algorithm, "2")
    provider.keys.append(provider.key.jwk)
    answer = log_in(provider, "grace", max_age="0")
    claims = verified(provider, answer["id_token"])
    assert claims == {
        "iss": provider.issuer,
        "sub": "grace",
        "aud": CLIENT_ID,
        "iat": pytest.approx(time.time(), abs=60),
        "exp": claims["iat"] + 600,
        "auth_time": pytest.approx(claims["iat"], abs=60),
        "nonce": "a nonce",
        "sid": provider.sids["grace"],
        "at_hash": half_hash(answer["access_token"], algorithm),
        "email": "grace@example.org",
        "email_verified": True,
        "name": "Grace",
        "preferred_username": "grace",
    }


@row_by_row("path", ["", "/", "/realms/main"])
def test_discovery_names_the_issuer_and_the_endpoints(path):
    with Provider(path) as provider:
        document = provider.fetch(provider.url(DISCOVERY))[2]
        found = Answer(body=document).json
        assert found["issuer"] == provider.origin + path
        assert found["token_endpoint"] == f"{provider.origin}{path.rstrip('/')}/token"
        assert verified(provider, log_in(provider)["id_token"])["iss"] == provider.issuer
        assert [len(provider.requests[each]) for each in (DISCOVERY, "/token")] == [1, 1]
        assert provider.requests["/token"][0].form["code_verifier"] == VERIFIER


@row_by_row("path", ["", "/", "/realms/main"])
def test_the_entry_has_the_issuer_and_the_client(path):
    with Provider(path) as provider:
        entry = parse_entry(provider.entry("main", link="verified"))
        assert (entry.name, entry.issuer, entry.link) == ("main", provider.issuer, "verified")
        assert (entry.client_id, entry.client_secret) == (CLIENT_ID, CLIENT_SECRET)


def test_userinfo_knows_the_person_of_the_access_token(provider):
    provider.people["ada"] = {"email": "Ada@Example.net"}
    provider.claims["email"] = DROP
    answer = log_in(provider)
    assert "email" not in verified(provider, answer["id_token"])
    headers = {"Authorization": f"Bearer {answer['access_token']}"}
    status, body = ask(provider, "/userinfo", headers=headers)
    assert (status, Answer(body=body).json["email"]) == (200, "Ada@Example.net")
    assert ask(provider, "/userinfo")[0] == 401


@row_by_row(
    "changes",
    [
        {"code_verifier": "another"},
        {"redirect_uri": "http://localhost/elsewhere"},
        {"grant_type": "refresh_token"},
        {"code": "unknown"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_a_wrong_exchange_is_refused(provider, changes):
    code = dict(parse_qsl(provider.authorize(location(provider))))["code"]
    assert redeem(provider, code, **changes) == (400, {"error": "invalid_grant"})


@row_by_row(
    ("headers", "form"),
    [
        ({}, {}),
        (basic("wrong"), {}),
        ({}, {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}),
        (basic(), {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}),
    ],
    ids=["none", "wrong", "not offered", "twice"],
)
def test_a_wrong_client_is_refused(provider, headers, form):
    code = dict(parse_qsl(provider.authorize(location(provider))))["code"]
    assert redeem(provider, code, headers, **form) == (401, {"error": "invalid_client"})


def test_a_client_can_send_its_secret_in_the_form_where_discovery_says_so(provider):
    provider.discovery["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    code = dict(parse_qsl(provider.authorize(location(provider))))["code"]
    fields = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET}
    assert redeem(provider, code, {}, **fields)[0] == 200


def test_a_code_counts_once(provider):
    code = dict(parse_qsl(provider.authorize(location(provider))))["code"]
    assert [redeem(provider, code)[0] for _ in range(2)] == [200, 400]


def test_the_browser_is_sent_back_with_an_error_where_pkce_is_missing(provider):
    query = provider.authorize(location(provider, code_challenge_method="plain"))
    assert dict(parse_qsl(query))["error"] == "invalid_request"


def test_a_logout_token_names_the_last_session(provider):
    log_in(provider)
    claims = verified(provider, provider.logout_token(sub=DROP))
    assert (claims["sid"], "sub" in claims, "nonce" in claims) == (
        provider.sids["ada"],
        False,
        False,
    )


def test_what_the_provider_says_can_be_changed(provider):
    provider.claims |= {"email_verified": "true", "at_hash": DROP}
    provider.header["kid"] = DROP
    provider.discovery["issuer"] = "https://elsewhere.example"
    provider.redirect["iss"] = DROP
    provider.tokens["token_type"] = "mac"
    query = dict(parse_qsl(provider.authorize(location(provider))))
    assert "iss" not in query
    _, answer = redeem(provider, query["code"])
    token = jwt.decode(answer["id_token"], KeySet.import_key_set({"keys": provider.keys}))
    assert (answer["token_type"], token.claims["email_verified"]) == ("mac", "true")
    assert "at_hash" not in token.claims
    assert "kid" not in token.header
    assert Answer(body=ask(provider, DISCOVERY)[1]).json["issuer"] == "https://elsewhere.example"


@pytest.mark.parametrize(
    ("key", "end"),
    [(NoKey(), ""), (HmacKey(b"public"), None), (signing_key("RS256", "1", 2049), None)],
    ids=["none", "HMAC", "another key"],
)
def test_a_token_can_be_forged(provider, key, end):
    provider.key = key
    token = log_in(provider)["id_token"]
    assert end is None or token.endswith(f".{end}")
    with pytest.raises(JoseError):
        verified(provider, token)


def test_answers_can_be_anything(provider):
    provider.answers["/keys"] = [
        Answer(500, b"<html>"),
        Json([]),
        HONEST,
        Redirect("https://elsewhere.example"),
    ]
    assert [ask(provider, "/keys")[0] for _ in range(5)] == [500, 200, 200, 302, 200]


@pytest.mark.parametrize(
    "answer",
    [Slow(9), Drip(0.1), Drip(0.1, head=True), Held()],
    ids=["slow", "drip", "drip from the start", "held"],
)
def test_answers_can_take_long(provider, answer):
    provider.answers[DISCOVERY] = answer
    with socket.create_connection(("127.0.0.1", urlsplit(provider.origin).port), 0.2) as client:
        client.sendall(f"GET {DISCOVERY} HTTP/1.1\r\n\r\n".encode())
        received, end = b"", time.monotonic() + 0.3
        while time.monotonic() < end:
            with suppress(TimeoutError):
                received += client.recv(1000)
        assert b"issuer" not in received


@pytest.mark.parametrize("head", [False, True], ids=["body", "head"])
def test_answers_can_have_no_end(provider, head):
    provider.answers[DISCOVERY] = Endless(head=head)
    with socket.create_connection(("127.0.0.1", urlsplit(provider.origin).port), 9) as client:
        client.sendall(f"GET {DISCOVERY} HTTP/1.1\r\n\r\n".encode())
        received = 0
        while received < 1_000_000:
            received += len(client.recv(100_000))


def test_an_answer_is_held_until_it_is_released(provider):
    held = provider.answers["/keys"] = Held()
    connection = http.client.HTTPConnection(urlsplit(provider.origin).netloc, timeout=9)
    connection.request("GET", "/keys")
    assert held.reached.wait(9)
    assert provider.most_at_once == 1
    held.release()
    assert connection.getresponse().status == 200
    connection.close()


def test_a_provider_hangs_up_and_is_down_and_returns(provider):
    provider.answers["/keys"] = HangUp()
    with pytest.raises(http.client.RemoteDisconnected):
        ask(provider, "/keys")
    provider.answers.clear()
    with provider.down(), pytest.raises(ConnectionRefusedError):
        ask(provider, "/keys")
    assert ask(provider, "/keys")[0] == 200


def test_a_provider_serves_https(tmp_path):
    with Provider("/", make_certificate(tmp_path, "localhost")) as provider:
        assert provider.issuer.startswith("https://localhost:")
        assert provider.fetch(provider.url(DISCOVERY))[0] == 200
