"""GET and POST /auth/userinfo: the claims about a user, by the scopes of an access token."""

import pytest
from webtest import TestApp

from tests.support.oauth_apps import USERINFO, App
from tests.support.service_keys import MAPS
from tests.support.sites import EMAIL
from tests.support.tables import row_by_row
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.testing import api_key, make_group

CHALLENGE = 'Bearer realm="wsgiauth"'
ALL = "openid profile email groups"


@pytest.fixture
def wiki(site):
    """Return an app that can ask for every claim."""
    return App(site, scopes=ALL.split())


def bearer(tokens):
    return {"Authorization": f"Bearer {tokens['access_token']}"}


@pytest.fixture
def claims(site, browser, wiki):
    """Return a function that returns the claims by the token of a scope."""
    return lambda scope: (
        TestApp(site).get(USERINFO, headers=bearer(wiki.log_in(browser, scope=scope))).json
    )


@row_by_row(
    ("scope", "names"),
    [
        ("openid", set()),
        ("openid profile", {"preferred_username", "name"}),
        ("openid email", {"email", "email_verified"}),
        ("openid groups", {"groups"}),
    ],
)
def test_each_scope_opens_its_claims(claims, scope, names):
    assert claims(scope).keys() == {"sub", *names}


def test_the_claims_are_of_the_user(site, ada, claims):
    for name in ("Writers", "Editors"):
        ada.join(make_group(site, name))
    ada.language = "de"
    ada.save()
    assert claims(ALL) == {
        "sub": str(ada.id),
        "preferred_username": ada.username,
        "name": ada.username,
        "locale": "de",
        "email": EMAIL,
        "email_verified": False,
        "groups": ["Editors", "Writers"],
    }


@pytest.mark.parametrize("further", [{"USERNAMES": False}])
def test_without_usernames_only_the_scope_for_it_opens_the_address(claims, ada):
    assert claims("openid profile") == {"sub": str(ada.id), "preferred_username": ada.username}
    assert claims("openid email")["email"] == EMAIL


def test_a_post_answers_the_same(site, browser, wiki, ada):
    tokens = wiki.log_in(browser)
    in_header = TestApp(site).post(USERINFO, headers=bearer(tokens)).json
    in_form = TestApp(site).post(USERINFO, {"access_token": tokens["access_token"]}).json
    assert in_header["sub"] == in_form["sub"] == str(ada.id)


def test_no_cache_stores_the_claims(site, browser, wiki):
    answer = TestApp(site).get(USERINFO, headers=bearer(wiki.log_in(browser)))
    assert answer.headers["Cache-Control"] == "no-store"


# What is refused


def refused(site, headers=None, **options):
    return TestApp(site).get(USERINFO, headers=headers or {}, status=401, **options)


def test_without_a_token_the_challenge_names_no_error(site):
    assert refused(site).headers["WWW-Authenticate"] == CHALLENGE


@pytest.mark.promise(91)
def test_a_cookie_is_no_access_token(browser):
    answer = browser.get(USERINFO, status=401)
    assert answer.headers["WWW-Authenticate"] == CHALLENGE


def test_a_token_in_the_query_is_not_read(site, browser, wiki):
    token = wiki.log_in(browser)["access_token"]
    TestApp(site).get(USERINFO, {"access_token": token}, status=401)


@row_by_row("header", ["Bearer garbage", "Bearer a.b.c", "Bearer é", "Bearer " + "x" * 9000])
def test_a_wrong_token_is_refused(site, header):
    answer = refused(site, {"Authorization": header.encode().decode("latin-1")})
    assert answer.headers["WWW-Authenticate"] == f'{CHALLENGE}, error="invalid_token"'
    assert answer.json["error"] == "invalid_token"


@row_by_row(
    ("body", "content_type"),
    [
        (b"access_token=garbage", "application/x-www-form-urlencoded"),
        (b"access_token=a&access_token=b", "application/x-www-form-urlencoded"),
        (b'{"access_token": "garbage"}', "application/json"),
        (b"access_token=garbage", "text/plain"),
    ],
    ids=["wrong", "repeated", "JSON", "plain text"],
)
def test_a_form_without_a_valid_token_is_refused(site, body, content_type):
    TestApp(site).post(USERINFO, body, headers={"Content-Type": content_type}, status=401)


def test_another_scheme_is_refused(site):
    refused(site, {"Authorization": "Basic YTpi"})


@pytest.mark.promise(91)
def test_a_token_for_a_service_is_refused(site, browser, wiki):
    tokens = wiki.log_in(browser, resource=MAPS)
    assert refused(site, bearer(tokens)).json["error"] == "invalid_token"


@pytest.mark.promise(91)
def test_an_api_key_is_refused(site, ada):
    assert refused(site, api_key(site, ada)).json["error"] == "invalid_token"


def test_a_token_without_openid_is_refused(site, browser, wiki):
    tokens = wiki.log_in(browser, scope="profile")
    answer = TestApp(site).get(USERINFO, headers=bearer(tokens), status=403)
    assert answer.headers["WWW-Authenticate"] == f'{CHALLENGE}, error="insufficient_scope"'


@pytest.mark.promise(90)
def test_a_scope_that_the_client_lost_opens_nothing_at_once(site, browser, wiki):
    tokens = wiki.log_in(browser, scope="openid email")
    Client.update(scopes="openid").execute()
    assert TestApp(site).get(USERINFO, headers=bearer(tokens)).json.keys() == {"sub"}
