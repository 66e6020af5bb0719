"""POST /auth/oauth/par: requests that clients send in advance (RFC 9126)."""

from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from webtest import TestApp

from tests.features.oauth_server.test_authorize import log_in_here, open_page, path_of
from tests.support.oauth_apps import (
    AUTHORIZE,
    CONSENT,
    PAR,
    STATE,
    App,
    RegisteredApp,
    answer_in,
    code_in,
    join_long_groups,
    service_client,
    walk,
)
from tests.support.service_keys import MAPS
from tests.support.sites import BROWSER
from tests.support.tables import row_by_row
from wsgiauth.features.oauth_server.authorization import MAX_STATE
from wsgiauth.features.oauth_server.stored_requests import PREFIX
from wsgiauth.features.oauth_server.tables import StoredRequest
from wsgiauth.testing import bearer, logged_in


def url_of(app, pushed):
    """Return the URL to which the app sends the browser."""
    asked = {"client_id": app.id, "request_uri": pushed["request_uri"]}
    return f"{AUTHORIZE}?{urlencode(asked)}"


@pytest.mark.every_database
def test_an_app_logs_a_user_in_with_a_request_that_it_has_pushed(site, ada, wiki):
    answer = wiki.program.post(PAR, wiki.parameters(), status=201)
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json.keys() == {"request_uri", "expires_in"}
    assert answer.json["expires_in"] == 3600
    assert answer.json["request_uri"].startswith(PREFIX)
    browser = TestApp(site, {"HTTP_HOST": "localhost:80"})
    begun = open_page(browser, url_of(wiki, answer.json), 303)
    assert STATE not in begun.location
    location = walk(browser, log_in_here(browser, open_page(browser, begun.location)).location)
    assert answer_in(location)["state"] == STATE
    assert wiki.exchange(code_in(location))["scope"] == "openid profile email"


def test_it_can_be_opened_again_until_it_expires(browser, wiki, clock):
    url = url_of(wiki, wiki.push())
    assert {path_of(open_page(browser, url, 303))[0] for _ in range(3)} == {CONSENT}
    assert "code" in answer_in(walk(browser, url))
    assert "code" in answer_in(open_page(browser, url, 303).location)
    clock.move(3600)
    page = open_page(browser, url, 400)
    assert page.html.h1.text == "This login has expired"


@pytest.mark.promise(89)
def test_it_is_for_the_app_alone_that_pushed_it(browser, site, wiki):
    pushed, other = wiki.push(), App(site, "Other")
    assert "Location" not in open_page(browser, url_of(other, pushed), 400).headers


def test_the_secret_is_stored_and_logged_nowhere(site, wiki, caplog):
    caplog.set_level("DEBUG")
    fields = wiki.parameters(client_id=wiki.id, client_secret=wiki.secret)
    TestApp(site).post(PAR, fields, status=201)
    TestApp(site).post(PAR, {**fields, "response_type": "token"}, status=400)
    (row,) = StoredRequest.select()
    assert (row.client_id, row.is_pushed) == (wiki.id, True)
    assert wiki.secret not in row.query + caplog.text
    assert "client_secret" not in row.query


def test_a_long_request_can_be_pushed(browser, wiki):
    state = "\u65e5" * (MAX_STATE // 3)
    url = url_of(wiki, wiki.push(state=state))
    assert answer_in(walk(browser, url))["state"] == state


def test_the_user_of_the_id_token_is_meant(site, browser, grace, wiki):
    token = wiki.log_in(browser)["id_token"]
    url = url_of(wiki, wiki.push(id_token_hint=token, prompt="none"))
    (row,) = StoredRequest.select()
    assert token not in row.query
    assert "code" in answer_in(open_page(browser, url, 303).location)
    for further in ("", "&wsgiauth_meant=x"):  # by which the browser cannot change the request
        refused = answer_in(open_page(logged_in(site, grace), url + further, 303).location)
        assert refused["error"] == "login_required"


def test_the_user_of_the_id_token_is_meant_after_a_login_too(site, browser, grace, wiki):
    token = wiki.log_in(browser)["id_token"]
    pushed = wiki.push(id_token_hint=token, prompt="login")
    url = url_of(wiki, pushed)
    anonymous = TestApp(site, {"HTTP_HOST": "localhost:80"})
    begun = open_page(anonymous, url, 303)
    answer = log_in_here(anonymous, open_page(anonymous, begun.location))
    assert "code" in answer_in(open_page(anonymous, answer.location, 303).location)
    hers = open_page(logged_in(site, grace), url, 303)
    assert answer_in(hers.location)["error"] == "login_required"


def test_a_long_id_token_can_be_pushed(site, browser, ada):
    join_long_groups(ada)
    app = App(site, scopes=["openid", "groups"])
    token = app.log_in(browser, scope="openid groups")["id_token"]
    assert len(token) > 16_384
    pushed = app.push(scope="openid groups", id_token_hint=token, prompt="none")
    assert "code" in answer_in(open_page(browser, url_of(app, pushed), 303).location)


# What is refused


@row_by_row(
    ("changes", "error"),
    [
        pytest.param({"redirect_uri": "https://evil.example"}, "invalid_request", id="other URI"),
        pytest.param({"redirect_uri": None}, "invalid_request", id="no URI"),
        pytest.param({"response_type": "token"}, "unsupported_response_type", id="implicit"),
        pytest.param({"code_challenge": None}, "invalid_request", id="no PKCE"),
        pytest.param({"code_challenge_method": "plain"}, "invalid_request", id="plain PKCE"),
        pytest.param({"prompt": "none login"}, "invalid_request", id="prompt"),
        pytest.param({"scope": "unknown"}, "invalid_scope", id="scope"),
        pytest.param({"resource": "https://other.example"}, "invalid_target", id="resource"),
        pytest.param({"request": "e30."}, "request_not_supported", id="request"),
        pytest.param({"request_uri": f"{PREFIX}x"}, "invalid_request", id="request_uri"),
        pytest.param({"id_token_hint": "x"}, "login_required", id="hint"),
        pytest.param({"code": "x"}, "invalid_request", id="a code"),
        pytest.param({"nonce": "a\nb"}, "invalid_request", id="a control character"),
    ],
)
def test_a_mistake_is_answered_at_once(wiki, changes, error):
    answer = wiki.push(400, **changes)
    assert answer.keys() == {"error", "error_description"}
    assert answer["error"] == error
    assert not StoredRequest.select().exists()


@row_by_row("changes", [{"state": "x" * 4097}, {"ui_locales": "x" * 8192}])
def test_a_request_that_is_too_long_is_refused(wiki, changes):
    assert wiki.push(413, **changes)["error"] == "invalid_request"


def test_what_is_no_form_is_refused(wiki):
    answer = wiki.program.post_json(PAR, wiki.parameters(), status=400)
    assert answer.json["error"] == "invalid_request"
    wiki.program.post(PAR, {"state": "x" * 50_000}, status=413)
    wiki.program.get(PAR, status=405)


def without_a_secret(site, app):
    return TestApp(site), {"client_id": app.id}


def with_a_wrong_secret(site, app):
    return TestApp(site), {"client_id": app.id, "client_secret": "x"}


def as_a_public_client(site, app):
    phone = App(site, "Phone", "com.example.phone:/callback", is_public=True)
    return phone.program, phone.parameters()


def as_an_app_that_registered_itself(site, app):
    editor = RegisteredApp(site)
    return editor.program, editor.parameters()


def as_an_unknown_client(site, app):
    return TestApp(site), {"client_id": "x", "client_secret": app.secret}


@pytest.mark.parametrize("further", [{"OAUTH_REGISTRATION": True}], ids=[""])
@row_by_row(
    "caller",
    [
        *(without_a_secret, with_a_wrong_secret, as_a_public_client),
        *(as_an_app_that_registered_itself, as_an_unknown_client),
    ],
)
def test_only_a_client_that_proves_its_secret_can_push(site, wiki, caller):
    program, fields = caller(site, wiki)
    answer = program.post(PAR, {**wiki.parameters(), **fields}, status=401)
    assert answer.json["error"] == "invalid_client"
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")
    assert not StoredRequest.select().exists()


def test_a_program_that_logs_in_as_itself_pushes_nothing(site, ada):
    program = service_client(site, "reports.read")
    answer = program.program.post(PAR, {"response_type": "code"}, status=400)
    assert answer.json["error"] == "unauthorized_client"


def test_no_session_counts(site, ada, wiki):
    login = bearer(site, ada)
    TestApp(site).post(PAR, wiki.parameters(), headers=login, status=401)


def test_the_client_of_the_form_is_that_of_the_header(site, wiki):
    other = App(site, "Other")
    answer = wiki.program.post(PAR, wiki.parameters(client_id=other.id), status=400)
    assert answer.json["error"] == "invalid_request"


def test_a_request_uri_of_another_site_is_refused(browser, wiki):
    url = wiki.url(request_uri="https://wiki.example.org/request")
    found = answer_in(open_page(browser, url, 303).location)
    assert found["error"] == "request_uri_not_supported"


def test_the_service_of_the_request_is_kept(browser, wiki):
    url = url_of(wiki, wiki.push(resource=MAPS))
    consent = open_page(browser, url, 303)
    page = open_page(browser, consent.location, 200)
    assert MAPS in page.text
    named = parse_qs(urlsplit(consent.location).query)
    assert named.keys() == {"client_id", "request_uri"}


def test_the_metadata_name_it(client, wiki):
    found = client.get("/.well-known/oauth-authorization-server").json
    assert found["pushed_authorization_request_endpoint"] == f"http://localhost{PAR}"


@pytest.mark.parametrize("further", [{"OAUTH_SERVER": False}], ids=[""])
def test_a_site_that_is_no_provider_has_no_such_url(client):
    client.post(PAR, {"a": "b"}, headers=BROWSER, status=404)
