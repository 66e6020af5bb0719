"""`app_client`: apps that log users in with the site under test."""

import jwt
import pytest
from webtest import AppError, TestApp

from tests.support.sites import SAME_ORIGIN
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.oauth_server.clients import find_listed
from wsgiauth.storage import context
from wsgiauth.testing import app_client, logged_in, make_group, make_settings, make_user

MAPS = "https://maps.example.org/api"


@pytest.fixture
def site(make_site):
    return make_site(OAUTH_SERVER=True, SERVICES=(MAPS,))


def test_a_user_logs_in_to_an_app_in_a_line(site):
    ada = make_user(site)
    app = app_client(site)
    tokens = app.log_in(ada)
    headers = {"Authorization": f"Bearer {tokens['access_token']}"}
    profile = TestApp(site).get("/auth/userinfo", headers=headers).json
    assert (profile["sub"], profile["preferred_username"]) == (str(ada.id), "ada")
    claims = jwt.decode(tokens["id_token"], options={"verify_signature": False})
    assert (claims["aud"], claims["nonce"]) == (app.client_id, app.nonce)
    renewed = app.refresh(tokens["refresh_token"])
    assert renewed["refresh_token"] != tokens["refresh_token"]


def test_without_a_user_ada_logs_in(site):
    assert app_client(site).log_in()["scope"] == "openid profile email"


def test_the_app_gets_a_code_with_its_state(site):
    app = app_client(site)
    answer = app.authorize()
    assert (answer["state"], answer["iss"]) == (app.state, "http://localhost")
    app.exchange(answer["code"])
    app.exchange(answer["code"], status=400)  # a code works once


def test_a_browser_that_logs_out_ends_the_tokens(site):
    app, browser = app_client(site), logged_in(site)
    tokens = app.log_in(browser)
    browser.post("/auth/logout", headers=SAME_ORIGIN)
    assert app.refresh(tokens["refresh_token"], status=400)["error"] == "invalid_grant"


def test_a_request_can_have_other_parameters(site):
    app = app_client(site, scopes=["openid", "offline_access"])
    tokens = app.log_in(scope="openid", nonce=None, resource=MAPS)
    claims = jwt.decode(tokens["access_token"], options={"verify_signature": False})
    assert (tokens["scope"], claims["aud"]) == ("openid", MAPS)
    assert app.authorize(prompt="none", scope="openid offline_access")["error"] == (
        "consent_required"
    )


def test_a_public_app_has_no_secret(site):
    uris = ["http://127.0.0.1:8000/callback", "http://localhost/callback"]
    app = app_client(site, redirect_uris=uris, is_public=True)
    assert app.client_secret == ""
    app.log_in()
    app.log_in(redirect_uri="http://localhost/callback")  # where WebTest's clients are


def test_a_service_gets_no_redirect_uri(site):
    app = app_client(site, "Nightly", redirect_uris=(), scopes=["reports.read"], is_service=True)
    assert (app.redirect_uri, app.client_secret != "") == ("", True)
    with context.using(site.database):
        assert find_listed(app.client_id)[1].kind == "service"


def test_no_code_fails_the_test(site):
    app = app_client(site, group=make_group(site, "Editors"))
    with pytest.raises(AssertionError, match="The site does not send the browser to the app: 403"):
        app.log_in()
    with pytest.raises(AssertionError, match=r"The app got no code: .*consent_required"):
        app_client(site).log_in(prompt="none")
    with pytest.raises(AssertionError, match="The site shows a page instead: Log in"):
        app_client(site).log_in(TestApp(site))
    with pytest.raises(AppError, match="400"):
        app_client(site).exchange("none")


def test_a_wrong_client_is_refused(site, make_site):
    with pytest.raises(ValidationError):
        app_client(site, redirect_uris=["http://example.org/"])
    with pytest.raises(ValueError, match=r"make_settings\(OAUTH_SERVER=True\)"):
        app_client(make_site())
    with pytest.raises(TypeError, match="AuthMiddleware"):
        app_client(None)


def test_a_loop_of_the_site_fails_the_test(site):
    browser = logged_in(site)
    browser.get = lambda url, **options: TestApp(site).get("/auth", status=303)
    with pytest.raises(AssertionError, match="in a loop"):
        app_client(site).log_in(browser)


def test_settings_of_a_provider_have_a_key_unless_they_name_one(tmp_path):
    one, other = make_settings(OAUTH_SERVER=True), make_settings(SERVICES=(MAPS,))
    assert one.SERVICE_KEYS == other.SERVICE_KEYS is not None
    assert make_settings().SERVICE_KEYS is None
    own = make_settings(OAUTH_SERVER=True, SERVICE_KEYS=tmp_path)
    assert str(tmp_path) == own.SERVICE_KEYS
