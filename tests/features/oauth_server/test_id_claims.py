"""The application's own claims in ID tokens and at /auth/userinfo."""

from types import MappingProxyType

import jwt
import pytest
from webtest import TestApp

from tests.support.oauth_apps import USERINFO, VERIFIER
from tests.support.service_keys import MAPS
from tests.support.sites import USERNAME, echo
from tests.support.tables import row_by_row
from wsgiauth import AuthMiddleware, OAuthClient, User, storage
from wsgiauth.authentication.claims import MAX_DEPTH
from wsgiauth.authentication.id_claims import MAX_ID_CLAIMS, OF_THIS_SITE
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.oauth_server.issuing import claims_of
from wsgiauth.testing import logged_in

ROLE = {"role": "editor", "teams": ["a", "b"]}


class Application:
    """Returns claims, and keeps how it was called."""

    def __init__(self):
        self.claims, self.calls, self.transactions = ROLE, [], []

    def __call__(self, user, client, scopes):
        self.calls.append((user.id, client, scopes))
        self.transactions.append(storage.current().transaction_depth())
        if isinstance(self.claims, Exception):
            raise self.claims
        return self.claims


@pytest.fixture
def application():
    return Application()


@pytest.fixture
def site(settings, application):
    made = AuthMiddleware(echo, settings, id_claims=application)
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def browser(site, ada):
    return logged_in(site, ada)


@pytest.fixture
def code(wiki, browser):
    """Return a code of the app."""
    return wiki.authorize(browser)["code"]


def content_of(token):
    return jwt.decode(token, options={"verify_signature": False})


def userinfo(site, tokens, status=200):
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    return TestApp(site).get(USERINFO, headers=headers, status=status).json


def test_the_claims_join_id_tokens_and_userinfo(site, wiki, browser):
    tokens = wiki.log_in(browser)
    for each in (tokens, wiki.refresh(tokens["refresh_token"])):
        assert content_of(each["id_token"]).items() >= ROLE.items()
        assert userinfo(site, each).items() >= ROLE.items()


@pytest.mark.promise(90)
def test_no_access_token_has_them(wiki, browser):
    tokens = wiki.log_in(browser)
    for each in (tokens, wiki.refresh(tokens["refresh_token"])):
        assert not content_of(each["access_token"]).keys() & ROLE.keys()
    assert "role" not in content_of(wiki.log_in(browser, resource=MAPS)["access_token"])


def test_the_function_gets_the_user_the_client_and_the_scopes(
    site, wiki, browser, ada, application
):
    tokens = wiki.log_in(browser, scope="openid email reports.read")
    userinfo(site, tokens)
    wiki.refresh(tokens["refresh_token"], scope="openid")
    client, both = OAuthClient(wiki.id, "Wiki"), frozenset({"openid", "email"})
    assert application.calls == [
        (ada.id, client, both),
        (ada.id, client, both),
        (ada.id, client, frozenset({"openid"})),
    ]


@pytest.mark.every_database
def test_the_function_is_called_outside_transactions(site, wiki, browser, application):
    tokens = wiki.log_in(browser)
    wiki.refresh(tokens["refresh_token"])
    userinfo(site, tokens)
    assert application.transactions == [0, 0, 0]


@row_by_row("returned", [None, {}, MappingProxyType({})])
def test_the_function_can_add_nothing(site, wiki, browser, application, ada, returned):
    application.claims = returned
    tokens = wiki.log_in(browser)
    expected = claims_of(ada, ["openid", "profile", "email"], site.site.settings)
    assert userinfo(site, tokens) == expected


def test_the_name_can_be_another_one(site, wiki, browser, application):
    application.claims = {"name": "Ada Lovelace"}
    tokens = wiki.log_in(browser)
    for claims in (content_of(tokens["id_token"]), userinfo(site, tokens)):
        assert (claims["name"], claims["preferred_username"]) == ("Ada Lovelace", USERNAME)


@pytest.mark.promise(90)
def test_the_claims_never_replace_those_of_this_site(site, wiki, browser, application, caplog):
    """Not even with a scope that the app has not got, or in a token without the claim."""
    application.claims = None
    plain = wiki.log_in(browser, scope="openid")
    application.claims = dict.fromkeys([*OF_THIS_SITE, "wsgiauth_x", "role"], "forged")
    forged = wiki.log_in(browser, scope="openid")
    before, after = (content_of(each["id_token"]) for each in (plain, forged))
    assert after.keys() - before.keys() == {"role"}
    assert [name for name, each in after.items() if each == "forged"] == ["role"]
    assert userinfo(site, forged) == {"sub": before["sub"], "role": "forged"}
    lines = [each for each in caplog.messages if each.startswith("id_claims")]
    assert len(lines) == 2
    assert (
        lines[0] == f"id_claims: only this site sets {', '.join(sorted(OF_THIS_SITE))}, wsgiauth_x"
    )


def test_every_claim_of_a_token_is_reserved(wiki, browser, application):
    application.claims = None
    claims = content_of(wiki.log_in(browser)["id_token"])
    assert claims.keys() - {"name"} <= OF_THIS_SITE
    assert "email_verified" in claims


def test_without_openid_the_function_is_not_called(site, wiki, browser, application):
    tokens = wiki.log_in(browser, scope="profile")
    assert "id_token" not in tokens
    userinfo(site, tokens, status=403)
    assert application.calls == []


# What is refused


def nested(depth):
    return {"a": nested(depth - 1)} if depth else {}


REFUSED = {
    "an exception": ValueError("secret detail"),
    "no mapping": ["role"],
    "a string": "role",
    "a set": {"a": {"b"}},
    "bytes": {"a": b"b"},
    "no number": {"a": float("nan")},
    "a name that is no string": {7: "a"},
    "an unpaired surrogate": {"a": "\ud800"},
    "nested too deep": nested(MAX_DEPTH),
    "too large": {"a": "b" * MAX_ID_CLAIMS},
}


@row_by_row("returned", REFUSED.values(), ids=REFUSED)
def test_a_failure_of_the_function_issues_no_token_and_is_logged(
    site, wiki, browser, application, caplog, returned
):
    tokens = wiki.log_in(browser)
    code = wiki.authorize(browser)["code"]
    fields = {"grant_type": "authorization_code", "code": code, "redirect_uri": wiki.uri}
    refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    caplog.clear()
    application.claims = returned
    answers = [
        wiki.ask(500, {**fields, "code_verifier": VERIFIER}),
        wiki.ask(500, refresh),
        userinfo(site, tokens, status=500),
    ]
    assert {each["error"] for each in answers} == {"server_error"}
    assert all(each.keys() == {"error", "error_description"} for each in answers)
    assert "secret detail" not in str(answers)
    assert caplog.messages.count("id_claims failed") == 3
    application.claims = ROLE
    wiki.exchange(code)  # nothing has changed, so both can be used
    wiki.refresh(tokens["refresh_token"])


def test_claims_up_to_the_bound_are_accepted(site, wiki, browser, application):
    application.claims = {"a": "b" * (MAX_ID_CLAIMS - len('{"a":""}'))}
    assert userinfo(site, wiki.log_in(browser))["a"] == application.claims["a"]
    application.claims = nested(MAX_DEPTH - 1)
    wiki.log_in(browser)


def test_the_function_is_not_called_for_a_code_that_has_ended(wiki, code, ada, application):
    for change in ({"security_stamp": User.security_stamp + 1}, {"is_active": False}):
        User.update(change).where(User.id == ada.id).execute()
        wiki.exchange(code, status=400)
    assert application.calls == []


def test_what_is_no_function_is_refused_at_the_start(settings):
    with pytest.raises(ConfigurationError, match="id_claims must be a function"):
        AuthMiddleware(echo, settings, id_claims={"role": "editor"})
