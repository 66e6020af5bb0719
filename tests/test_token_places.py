"""Each kind of token in each place that takes one: it counts where it belongs, and nowhere else.

Forged tokens count nowhere: the public keys are known to all, and so is how our tokens look.
"""

import base64
import hmac
import json
import time
from contextlib import suppress
from operator import attrgetter
from types import SimpleNamespace

import jwt
import pytest
from joserfc import jwk, jws
from joserfc import jwt as joserfc_jwt
from joserfc.errors import JoseError
from webtest import TestApp

from tests.support.oauth_apps import (
    DEVICE_GRANT,
    USERINFO,
    App,
    as_provider,
    code_in,
    service_client,
    walk,
)
from tests.support.service_keys import (
    ISSUER,
    REPORTS,
    new_key,
    pem_of,
    write_key,
)
from tests.support.sites import PASSWORD, SAME_ORIGIN, USERNAME, echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, storage
from wsgiauth.features.oauth_server import logout_sending
from wsgiauth.features.oauth_server.grants import ENDED
from wsgiauth.features.oauth_server.logouts import Logouts
from wsgiauth.features.oauth_server.tables import Grant
from wsgiauth.features.services.service_tokens import ServiceTokens
from wsgiauth.storage import context
from wsgiauth.testing import api_key, logged_in, make_settings, make_user
from wsgiauth.throttling.counts import AttemptCount

ALGORITHMS = ["ES256", "EdDSA", "RS256"]
PROVIDER = "https://accounts.example.com"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a key of each kind; that of ES256 signs."""
    folder = tmp_path_factory.mktemp("keys")
    for number, algorithm in enumerate(reversed(ALGORITHMS)):
        write_key(folder / f"{number}", pem_of(new_key(algorithm)))
    return folder


@pytest.fixture(scope="module")
def held(folder):
    """Return what a user and an attacker have, of a site that accepts every kind of credential."""
    settings = make_settings(BASIC_AUTH="keys", JWT_ISSUER=ISSUER, JWT_AUDIENCE=REPORTS)
    site = AuthMiddleware(echo, as_provider(settings, folder, PUBLIC_URL=ISSUER))
    ada = make_user(site, USERNAME, password=PASSWORD, permissions=["wsgiauth.introspect"])
    client = TestApp(site)
    credentials = {"username": USERNAME, "password": PASSWORD, "refresh": True}
    pair = client.post_json("/auth/login", credentials).json
    bearer = {"Authorization": f"Bearer {pair['access_token']}"}
    service = client.post_json("/auth/token", {"audience": REPORTS}, headers=bearer)
    jwks = client.get("/auth/jwks.json").json
    wiki, browser = App(site), logged_in(site, ada)
    yield SimpleNamespace(
        site=site,
        wiki=wiki,
        browser=browser,
        introspecting=api_key(site, ada, ["wsgiauth.introspect"]),
        pair=pair,
        key=api_key(site, ada)["Authorization"].removeprefix("Bearer "),
        service=service.json["access_token"],
        claims=jwt.decode(service.json["access_token"], options={"verify_signature": False}),
        jwks=jwks,
        kids={each["alg"]: each["kid"] for each in jwks["keys"]},
        public_pem=jwk.ECKey.import_key(jwks["keys"][-1]).as_pem(),
    )
    storage.discard_connection(site.database)


# Where a token can be sent: whether it is accepted there.


def by_bearer(held, token):
    headers = {"Authorization": f"Bearer {token}"}
    return TestApp(held.site).get("/", headers=headers).json["user"] is not None


def by_cookie(held, token):
    headers = {"Cookie": f"wsgiauth={token}", **SAME_ORIGIN}
    return TestApp(held.site).get("/", headers=headers).json["user"] is not None


def by_refresh(held, token):
    body = {"refresh_token": token}
    return TestApp(held.site).post_json("/auth/refresh", body, status="*").status_int == 200


def by_basic(held, token):
    client = TestApp(held.site)
    client.authorization = ("Basic", ("ada", token))
    return client.get("/").json["user"] is not None


def by_verify(held, token):
    """As /auth/introspect does."""
    return held.site.site.part(ServiceTokens).verify(token, time.time()) is not None


def by_pyjwt(held, token):
    """By a service in Python, which takes every algorithm of the keys."""
    with suppress(jwt.PyJWTError, KeyError):
        key = jwt.PyJWKSet.from_dict(held.jwks)[jwt.get_unverified_header(token)["kid"]]
        jwt.decode(token, key, ALGORITHMS, audience=REPORTS, issuer=ISSUER)
        return True
    return False


def by_joserfc(held, token):
    """By a service with another library, which checks the signature alone."""
    with suppress(JoseError, ValueError):
        joserfc_jwt.decode(token, jwk.KeySet.import_key_set(held.jwks), algorithms=ALGORITHMS)
        return True
    return False


def by_userinfo(held, token):
    headers = {"Authorization": f"Bearer {token}"}
    return TestApp(held.site).get(USERINFO, headers=headers, status="*").status_int == 200


def as_code(held, token):
    return "access_token" in held.wiki.exchange(token, "*")


def as_refresh_token(held, token):
    return "access_token" in held.wiki.refresh(token, "*")


def as_device_code(held, token):
    sent = {"grant_type": DEVICE_GRANT, "device_code": token}
    return "access_token" in held.wiki.ask("*", sent)


def as_user_code(held, token):
    return (
        held.browser.post_json("/auth/device", {"user_code": token}, status="*").status_int == 200
    )


def by_introspection(held, token):
    sent, headers = {"token": token}, held.introspecting
    return TestApp(held.site).post("/auth/introspect", sent, headers=headers).json["active"]


def by_revocation(held, token):
    """Whether it ends a grant."""
    valid = Grant.select().where(Grant.stamp != ENDED)
    before = valid.count()
    held.wiki.program.post("/auth/oauth/revoke", {"token": token})
    return valid.count() < before


PLACES = {
    "bearer": by_bearer,
    "cookie": by_cookie,
    "refresh": by_refresh,
    "Basic": by_basic,
    "introspection": by_introspection,
    "userinfo": by_userinfo,
    "code": as_code,
    "app's refresh": as_refresh_token,
    "user code": as_user_code,
    "device code": as_device_code,
    "verify": by_verify,
    "PyJWT": by_pyjwt,
    "joserfc": by_joserfc,
    "revocation": by_revocation,  # the last, because it ends what it accepts
}
SERVICES = {"verify", "PyJWT", "joserfc", "introspection"}


# What is sent.


def signed(claims, key, algorithm, **header):
    """Return a token by a library that refuses no key and no header."""
    registry = jws.JWSRegistry(algorithms=[algorithm], strict_check_header=False)
    protected = {"typ": "at+jwt", "alg": algorithm, **header}
    return jws.serialize_compact(protected, json.dumps(claims).encode(), key, registry=registry)


def access_token(held):
    return held.pair["access_token"]


def refresh_token(held):
    return held.pair["refresh_token"]


def foreign_id_token(held):
    """Return a token as OpenID Connect providers sign them."""
    claims = {**held.claims, "iss": PROVIDER, "nonce": "n", "at_hash": "h"}
    return signed(claims, jwk.RSAKey.import_key(pem_of(new_key("RS256"))), "RS256", typ="JWT")


def another_issuers(held):
    """Return a token of our claims with our key's id, by another issuer's key."""
    other = jwk.ECKey.import_key(pem_of(new_key()))
    return signed(held.claims, other, "ES256", kid=held.kids["ES256"])


def by_header(**urls):
    """Return what makes a token whose header brings the attacker's key, or a URL of it."""

    def make(held):
        key = jwk.ECKey.import_key(pem_of(new_key()))
        brought = urls or {"jwk": key.as_dict(private=False)}
        return signed(held.claims, key, "ES256", kid=held.kids["ES256"], **brought)

    return make


def hmac_with(secret_of):
    """Return what makes a token whose HMAC has a published key as its key."""

    def make(held):
        header = {"typ": "at+jwt", "alg": "HS256", "kid": held.kids["ES256"]}
        unsigned = f"{segment(header)}.{segment(held.claims)}"
        return f"{unsigned}.{encoded(hmac.digest(secret_of(held), unsigned.encode(), 'sha256'))}"

    return make


def encoded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def segment(document):
    return encoded(json.dumps(document).encode())


def unsigned(held):
    header = {"typ": "at+jwt", "alg": "none", "kid": held.kids["ES256"]}
    return f"{segment(header)}.{segment(held.claims)}."


def with_header(alg="ES256", kid_of="ES256", **changed):
    """Return what makes a service token with another header, and the same signature."""

    def make(held):
        _, payload, signature = held.service.split(".")
        header = {"typ": "at+jwt", "alg": alg, "kid": held.kids[kid_of], **changed}
        return f"{segment(header)}.{payload}.{signature}"

    return make


def jwk_bytes(held):
    return json.dumps(held.jwks["keys"][-1]).encode()


def new_tokens(held, **changes):
    """Return tokens of the app, because a place before can have ended the former ones."""
    return held.wiki.log_in(held.browser, **changes)


def app_access_token(held):
    return new_tokens(held)["access_token"]


def app_access_token_for_reports(held):
    return new_tokens(held, resource=REPORTS)["access_token"]


def app_id_token(held):
    return new_tokens(held)["id_token"]


def token_of_program(held):
    program = service_client(held.site, "reports.read")
    return program.log_in_as_itself(resource=REPORTS)["access_token"]


def app_refresh_token(held):
    return new_tokens(held)["refresh_token"]


def device_code(held):
    codes = device_codes(held)
    sent = {"user_code": codes["user_code"], "decision": "allow", "scope": "openid"}
    held.browser.post_json("/auth/device", sent)
    return codes["device_code"]


def logout_token(held):
    app = App(held.site, "Blog", logout_uri="https://blog.example.org/logout")
    browser, sent = TestApp(held.site), []
    logouts = held.site.site.require(Logouts)
    form = {"username": USERNAME, "password": PASSWORD}
    with pytest.MonkeyPatch.context() as patch, context.using(held.site.database):
        patch.setattr("wsgiauth.mail.worker.Worker._start", lambda *_: None)
        patch.setattr(logout_sending, "send", lambda _url, token: sent.append(token) or 200)
        logouts.stop()
        browser.post("/auth/login", form, headers=SAME_ORIGIN)
        app.log_in(browser)
        browser.post("/auth/logout", headers=SAME_ORIGIN)
        logouts.deliver()
    return sent[0]


def user_code(held):
    return device_codes(held)["user_code"]


def device_codes(held):
    AttemptCount.delete().execute()  # of wrong codes in other places
    return held.wiki.program.post("/auth/oauth/device", {"scope": "openid"}).json


def app_code(held):
    return code_in(walk(held.browser, held.wiki.url()))


@pytest.mark.promise(64)
@pytest.mark.promise(91)
@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")  # joserfc: RFC 9864 names it Ed25519
@row_by_row(
    ("make", "places"),
    [
        pytest.param(access_token, {"bearer", "cookie", "introspection"}, id="access token"),
        pytest.param(refresh_token, {"refresh"}, id="refresh token"),
        pytest.param(attrgetter("key"), {"bearer", "Basic", "introspection"}, id="API key"),
        pytest.param(attrgetter("service"), SERVICES, id="service token"),
        pytest.param(
            app_access_token,
            {"userinfo", "introspection", "joserfc", "revocation"},
            id="app's access token",
        ),
        pytest.param(
            app_access_token_for_reports,
            {"PyJWT", "joserfc", "introspection", "revocation"},
            id="app's access token for a service",
        ),
        pytest.param(
            token_of_program,
            {"PyJWT", "joserfc", "introspection"},
            id="access token of a program that logs in as itself",
        ),
        pytest.param(app_id_token, {"joserfc"}, id="app's ID token"),
        pytest.param(logout_token, {"joserfc"}, id="logout token"),
        pytest.param(
            app_refresh_token,
            {"app's refresh", "introspection", "revocation"},
            id="app's refresh token",
        ),
        pytest.param(app_code, {"code"}, id="app's code"),
        pytest.param(device_code, {"device code"}, id="device code"),
        pytest.param(user_code, {"user code"}, id="user code"),
        pytest.param(foreign_id_token, set(), id="another provider's ID token"),
        pytest.param(another_issuers, set(), id="another issuer's token"),
        pytest.param(by_header(), set(), id="jwk in the header"),
        pytest.param(by_header(jku="https://evil.example/jwks.json"), set(), id="jku"),
        pytest.param(by_header(x5u="https://evil.example/cert.pem"), set(), id="x5u"),
        pytest.param(hmac_with(lambda held: held.public_pem), set(), id="HMAC with the PEM file"),
        pytest.param(hmac_with(jwk_bytes), set(), id="HMAC with the JWK"),
        pytest.param(unsigned, set(), id="alg none"),
        pytest.param(with_header(alg="none"), set(), id="alg none, signed"),
        pytest.param(with_header(kid_of="RS256"), set(), id="kid of another key"),
        pytest.param(
            with_header(kid_of="EdDSA", alg="EdDSA"), set(), id="kid and alg of another key"
        ),
        pytest.param(with_header(kid="../../dev/null"), set(), id="kid as a path"),
    ],
)
def test_a_token_counts_only_where_it_belongs(held, make, places):
    token = make(held)
    assert {place for place, accepts in PLACES.items() if accepts(held, token)} == places
