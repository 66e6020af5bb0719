"""Claims that features add to access tokens, and to ID tokens and /auth/userinfo."""

from types import SimpleNamespace

import jwt
import pytest
from webtest import TestApp

from tests.support.oauth_apps import USERINFO
from tests.support.sites import PASSWORD, echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, log_in
from wsgiauth.authentication.claims import MAX_DEPTH
from wsgiauth.authentication.id_claims import MAX_ID_CLAIMS, OAuthClient
from wsgiauth.authentication.tokens import MAX_LENGTH
from wsgiauth.events import actors
from wsgiauth.exceptions import ClaimsError
from wsgiauth.feature import Feature
from wsgiauth.storage import context
from wsgiauth.testing import app_client, logged_in, make_settings, make_user

pytestmark = pytest.mark.promise(105)

LOGIN = {"username": "ada", "password": PASSWORD}


class Toys:
    """Two features and an application, with what their functions return, and were called with."""

    def __init__(self):
        self.values = {"toys": ["ball"], "balls": 1, "application": {"own": True}}
        self.calls = []

    def returns(self, name):
        """Return a function that returns a value, or raises it."""

        def function(*arguments):
            self.calls.append((name, arguments))
            value = self.values[name]
            if isinstance(value, Exception):
                raise value
            return value

        return function

    def site(self, kind):
        """Return a site with claims of this kind."""
        features = (
            Feature(name="toys", **{kind: {"toys": self.returns("toys")}}),
            Feature(name="balls", **{kind: {"balls": self.returns("balls")}}),
        )
        settings = make_settings(FEATURES=features, OAUTH_SERVER=True)
        return AuthMiddleware(echo, settings, **{kind: self.returns("application")})


@pytest.fixture
def toys():
    return Toys()


def content_of(token):
    return jwt.decode(token, options={"verify_signature": False})


# Access tokens


@pytest.fixture
def client(toys):
    made = TestApp(toys.site("claims"))
    made.user = make_user(made.app, password=PASSWORD)
    return made


def token_of(client):
    return content_of(client.post_json("/auth/login", LOGIN).json["access_token"])


def test_access_tokens_have_the_claims_of_features_and_application(client, toys):
    found = token_of(client)
    assert {each: found[each] for each in ("toys", "balls", "own")} == {
        "toys": ["ball"],
        "balls": 1,
        "own": True,
    }
    assert [(name, given[0].id) for name, given in toys.calls] == [
        (each, client.user.id) for each in ("toys", "balls", "application")
    ]


def test_none_leaves_a_claim_out(client, toys):
    toys.values["toys"] = None
    assert token_of(client).keys() & {"toys", "balls"} == {"balls"}


def test_a_claim_is_of_the_time_of_the_token(client, toys):
    token_of(client)
    toys.values["toys"].append("doll")
    assert token_of(client)["toys"] == ["ball", "doll"]


def nested(depth):
    return [nested(depth - 1)] if depth else []


@row_by_row(
    "value",
    [RuntimeError("secret"), {"a": {1}}, float("nan"), nested(MAX_DEPTH)],
    ids=["an exception", "no JSON", "no number", "nested too deep"],
)
def test_a_function_that_fails_is_a_500_with_its_name_in_the_log(client, toys, caplog, value):
    toys.values["balls"] = value
    refused = client.post_json("/auth/login", LOGIN, status=500)
    assert refused.json["code"] == "application_error"
    assert "secret" not in refused.text
    with context.using(client.app.database):
        assert client.user.sessions.count() == 0
    assert caplog.messages[-1] == "the claim balls of balls failed"
    assert caplog.records[-1].exc_info


def test_a_token_that_becomes_too_long_is_refused(client, toys):
    toys.values["toys"] = "x" * MAX_LENGTH
    client.post_json("/auth/login", LOGIN, status=500)


def test_the_application_returns_no_claim_of_a_feature(client, toys, caplog):
    toys.values["application"] = {"toys": []}
    client.post_json("/auth/login", LOGIN, status=500)
    assert caplog.messages[-1].endswith("the name 'toys' is of the feature toys")


def test_views_that_log_in_learn_of_the_error(toys):
    toys.values["toys"] = RuntimeError()
    site = toys.site("claims")
    user = make_user(site)

    def view(environ, start_response):
        with pytest.raises(ClaimsError, match="the claim toys of toys failed"):
            log_in(environ, user)
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [b""]

    TestApp(site.around(view)).get("/")


def test_the_actor_of_a_function_is_code_and_there_is_no_transaction():
    seen = SimpleNamespace()

    def toys(user):
        seen.actor = actors.current(user.database, user.id)
        seen.is_open = user.database.in_transaction()

    feature = Feature(name="toys", claims={"toys": toys})
    site = AuthMiddleware(echo, make_settings(FEATURES=(feature,)))
    make_user(site, password=PASSWORD)
    assert "toys" not in token_of(TestApp(site))
    assert (seen.actor, seen.is_open) == (actors.CODE, False)


# ID tokens


@pytest.fixture
def site(toys):
    return toys.site("id_claims")


@pytest.fixture
def app(site):
    return app_client(site, is_trusted=True)


@pytest.fixture
def browser(site):
    return logged_in(site, make_user(site))


def userinfo(site, tokens, status=200):
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    return TestApp(site).get(USERINFO, headers=headers, status=status).json


def test_id_tokens_and_userinfo_have_the_claims_of_features_and_application(
    site, app, browser, toys
):
    tokens = app.log_in(browser, scope="openid")
    for claims in (content_of(tokens["id_token"]), userinfo(site, tokens)):
        assert (claims["toys"], claims["balls"], claims["own"]) == (["ball"], 1, True)
    assert "toys" not in content_of(tokens["access_token"])
    name, (_user, client, scopes) = toys.calls[0]
    assert (name, client.id, scopes) == ("toys", app.client_id, frozenset({"openid"}))
    assert isinstance(client, OAuthClient)


def test_none_leaves_a_claim_for_apps_out(app, browser, toys):
    toys.values |= {"balls": None, "application": None}
    claims = content_of(app.log_in(browser, scope="openid")["id_token"])
    assert claims.keys() & {"toys", "balls", "own"} == {"toys"}


def test_what_an_application_returns_for_a_claim_of_a_feature_is_left_out(
    app, browser, toys, caplog
):
    toys.values["application"] = {"toys": "forged", "own": 1}
    claims = content_of(app.log_in(browser, scope="openid")["id_token"])
    assert (claims["toys"], claims["own"]) == (["ball"], 1)
    assert "id_claims: only this site sets toys" in caplog.messages


@row_by_row(
    "value",
    [RuntimeError("secret"), "\ud800", "x" * MAX_ID_CLAIMS],
    ids=["an exception", "an unpaired surrogate", "too long"],
)
def test_a_function_for_apps_that_fails_issues_no_token(site, app, browser, toys, value):
    tokens = app.log_in(browser, scope="openid")
    toys.values["toys"] = value
    answer = userinfo(site, tokens, status=500)
    assert answer["error"] == "server_error"
    assert "secret" not in str(answer)
    code = app.authorize(browser, scope="openid")["code"]
    assert app.exchange(code, status=500)["error"] == "server_error"
    toys.values["toys"] = None
    assert app.exchange(code)["id_token"]
