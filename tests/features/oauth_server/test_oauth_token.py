"""POST /auth/oauth/token: how clients are authenticated, and what is refused (RFC 6749)."""

from base64 import b64encode

import jwt
import pytest
from webtest import TestApp

from tests.support.oauth_apps import (
    CALLBACK,
    TOKEN,
    VERIFIER,
    App,
    challenge_of,
    code_in,
    consent_form,
    follow,
    walk,
)
from tests.support.service_keys import MAPS, MAPS_TOO, REPORTS
from tests.support.sites import SAME_ORIGIN
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.clients import ClientFields
from wsgiauth.features.oauth_server.tables import Client, Grant

CHALLENGE = 'Basic realm="wsgiauth", charset="UTF-8"'


def basic(client_id, secret):
    return "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()


@pytest.fixture
def code(browser, wiki):
    """Return a code that Ada's browser has brought to the app."""
    return code_in(walk(browser, wiki.url()))


@pytest.fixture
def phone(site):
    """Return an app without a secret."""
    return App(site, "Phone", "com.example.phone:/callback", is_public=True)


def form(a_code, **changes):
    usual = {
        "grant_type": "authorization_code",
        "code": a_code,
        "redirect_uri": CALLBACK,
        "code_verifier": VERIFIER,
    }
    return {name: each for name, each in {**usual, **changes}.items() if each is not None}


def send(site, fields, status="*", **headers):
    """Send a form without the usual authentication."""
    sent = {name.replace("_", "-"): each for name, each in headers.items()}
    return TestApp(site).post(TOKEN, fields, headers=sent, status=status)


# What the answer is


@pytest.mark.every_database
def test_a_code_is_exchanged_for_tokens(wiki, code):
    answer = wiki.exchange(code)
    assert answer.keys() == {
        *("access_token", "token_type", "expires_in", "refresh_token", "scope", "id_token"),
    }
    assert (answer["token_type"], answer["expires_in"]) == ("Bearer", 300)
    assert answer["scope"] == "openid profile email"


def test_no_cache_stores_tokens(site, wiki, code):
    answer = send(site, form(code), 200, Authorization=basic(wiki.id, wiki.secret))
    assert answer.headers["Cache-Control"] == "no-store"


def test_without_openid_there_is_no_id_token(browser, wiki):
    assert "id_token" not in wiki.log_in(browser, scope="profile")


def test_a_request_without_a_scope_gets_tokens_for_nothing(browser, wiki):
    answer = wiki.log_in(browser, scope=None)
    assert (answer["scope"], "id_token" in answer) == ("", False)


# How a client is authenticated


def by_basic(app):
    return {"Authorization": basic(app.id, app.secret)}, {}


def percent_encoded(text):
    return "".join(f"%{byte:02x}" for byte in text.encode())


def by_basic_in_percent_encoding(app):
    return {"Authorization": basic(*map(percent_encoded, (app.id, app.secret)))}, {}


def by_basic_with_the_same_client_id(app):
    return {"Authorization": basic(app.id, app.secret)}, {"client_id": app.id}


def by_basic_in_lower_case(app):
    return {"Authorization": basic(app.id, app.secret).replace("Basic", "basic")}, {}


def by_post(app):
    return {}, {"client_id": app.id, "client_secret": app.secret}


@pytest.mark.parametrize(
    "way",
    [
        by_basic,
        by_basic_in_percent_encoding,
        by_basic_with_the_same_client_id,
        by_basic_in_lower_case,
        by_post,
    ],
)
@pytest.mark.promise(93)
def test_a_client_is_authenticated_by_its_secret(site, wiki, code, way):
    headers, fields = way(wiki)
    send(site, form(code, **fields), 200, **headers)


def test_both_secrets_of_a_change_are_valid(site, wiki, code, browser):
    renewed = clients.renew_secret(Client.get_by_id(wiki.id))
    send(site, form(code), 200, Authorization=basic(wiki.id, renewed))
    other = code_in(walk(browser, wiki.url()))
    send(site, form(other), 200, Authorization=basic(wiki.id, wiki.secret))


def test_a_public_client_names_itself(browser, phone):
    assert "refresh_token" in phone.log_in(browser)


def test_a_public_client_can_name_itself_in_the_header(site, browser, phone):
    code = code_in(walk(browser, phone.url()))
    send(site, form(code, redirect_uri=phone.uri), 200, Authorization=basic(phone.id, ""))


def nothing(wiki, phone):
    return {}, {}


def no_secret(wiki, phone):
    return {}, {"client_id": wiki.id}


def an_empty_secret(wiki, phone):
    return {"Authorization": basic(wiki.id, "")}, {}


def a_wrong_secret(wiki, phone):
    return {"Authorization": basic(wiki.id, wiki.secret[:-1])}, {}


def a_wrong_secret_in_the_form(wiki, phone):
    return {}, {"client_id": wiki.id, "client_secret": "x" * 2000}


def an_unknown_client(wiki, phone):
    return {"Authorization": basic("0" * 20, wiki.secret)}, {}


def no_client_id(wiki, phone):
    return {"Authorization": basic("\x00%00/", wiki.secret)}, {}


def a_secret_of_a_public_client(wiki, phone):
    return {"Authorization": basic(phone.id, wiki.secret)}, {}


def another_scheme(wiki, phone):
    return {"Authorization": f"Bearer {wiki.secret}"}, {}


def no_base64(wiki, phone):
    return {"Authorization": f"Basic {wiki.id}:{wiki.secret}"}, {}


def no_utf_8(wiki, phone):
    return {"Authorization": "Basic " + b64encode(b"\xff:\xff").decode()}, {}


def no_credentials(wiki, phone):
    return {"Authorization": "Basic"}, {}


NOT_AUTHENTICATED = (
    nothing,
    no_secret,
    an_empty_secret,
    a_wrong_secret,
    a_wrong_secret_in_the_form,
    an_unknown_client,
    no_client_id,
    a_secret_of_a_public_client,
    another_scheme,
    no_base64,
    no_utf_8,
    no_credentials,
)


def test_a_client_that_is_not_authenticated_is_refused_and_uses_no_code(site, wiki, phone, code):
    for way in NOT_AUTHENTICATED:
        headers, fields = way(wiki, phone)
        answer = send(site, form(code, **fields), 401, **headers)
        assert answer.json["error"] == "invalid_client", way
        assert answer.headers["WWW-Authenticate"] == CHALLENGE, way
    assert wiki.exchange(code)["token_type"] == "Bearer"


def in_two_ways(wiki):
    return {"Authorization": basic(wiki.id, wiki.secret)}, {"client_secret": wiki.secret}


def as_two_clients(wiki):
    return {"Authorization": basic(wiki.id, wiki.secret)}, {"client_id": "0" * 20}


@pytest.mark.parametrize("way", [in_two_ways, as_two_clients])
def test_contradictory_authentication_is_refused(site, wiki, code, way):
    headers, fields = way(wiki)
    answer = send(site, form(code, **fields), 400, **headers)
    assert answer.json["error"] == "invalid_request"


def test_a_secret_that_was_ended_is_refused(site, wiki, code):
    client = Client.get_by_id(wiki.id)
    clients.renew_secret(client)
    clients.end_former(client)
    send(site, form(code), 401, Authorization=basic(wiki.id, wiki.secret))


def test_a_cookie_authenticates_no_client(browser, wiki, code):
    browser.post(TOKEN, form(code), status=401)


# What is refused


WRONG = {
    "no type": ({"grant_type": None}, "invalid_request"),
    "a password": ({"grant_type": "password"}, "unsupported_grant_type"),
    "no code": ({"code": None}, "invalid_request"),
    "an empty code": ({"code": ""}, "invalid_request"),
    "a wrong code": ({"code": "wrong"}, "invalid_grant"),
    "a code that is not ASCII": ({"code": "é\x00"}, "invalid_grant"),
    "a long code": ({"code": "A" * 9000}, "invalid_grant"),
    "no redirect URI": ({"redirect_uri": None}, "invalid_grant"),
    "another redirect URI": ({"redirect_uri": f"{CALLBACK}/"}, "invalid_grant"),
    "a redirect URI that is not ASCII": (
        {"redirect_uri": "https://wiki.example.org/é"},
        "invalid_grant",
    ),
    "no verifier": ({"code_verifier": None}, "invalid_grant"),
    "a wrong verifier": ({"code_verifier": VERIFIER.upper()}, "invalid_grant"),
    "a short verifier": ({"code_verifier": VERIFIER[:42]}, "invalid_grant"),
    "a verifier that is not ASCII": ({"code_verifier": "é" * 43}, "invalid_grant"),
    "another resource": ({"resource": REPORTS}, "invalid_target"),
}


@pytest.mark.promise(88)
def test_a_wrong_parameter_is_refused_and_uses_no_code(wiki, code):
    for name, (changes, error) in WRONG.items():
        assert wiki.ask(400, form(code, **changes))["error"] == error, name
    assert wiki.exchange(code)["token_type"] == "Bearer"


OLD = "the code is wrong, of another client, or older than 60 seconds"


@pytest.mark.parametrize(
    ("changes", "description"),
    [
        ({"code": "wrong"}, OLD),
        ({"redirect_uri": None}, "redirect_uri is not the one of the authorization request"),
        ({"code_verifier": None}, "code_verifier does not match the code_challenge (PKCE)"),
    ],
    ids=["a wrong code", "no redirect URI", "no verifier"],
)
def test_the_answer_says_what_is_wrong(wiki, code, changes, description):
    assert wiki.ask(400, form(code, **changes))["error_description"] == description


def test_the_answer_says_that_a_code_is_too_old_or_was_used(wiki, code, clock):
    wiki.exchange(code)
    answer = wiki.ask(400, form(code))
    assert answer["error_description"] == "the code was used, or what it granted has ended"
    clock.now += 61
    assert wiki.ask(400, form(code))["error_description"] == OLD


def test_the_answer_says_that_a_public_client_has_no_secret(site, wiki, phone, code):
    headers, fields = a_secret_of_a_public_client(wiki, phone)
    answer = send(site, form(code, **fields), 401, **headers).json
    assert answer["error_description"] == "the client is public: it must send no secret"
    headers, fields = a_wrong_secret(wiki, phone)
    answer = send(site, form(code, **fields), 401, **headers).json
    expected = "the client is unknown, or its secret is missing, wrong or ended"
    assert answer["error_description"] == expected


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Type": "application/json"}, b'{"grant_type": "authorization_code"}', 400),
        ({"Content-Type": "text/plain"}, b"grant_type=authorization_code", 415),
        ({}, b"grant_type=authorization_code&grant_type=refresh_token", 400),
        ({}, b"grant_type=%ff", 400),
        ({}, b"x=" + b"x" * 2_000_000, 413),
    ],
    ids=["JSON", "plain text", "a repeated parameter", "no UTF-8", "too long"],
)
def test_a_form_that_cannot_be_read_is_refused(wiki, headers, body, status):
    answer = wiki.program.post(TOKEN, body, headers=headers, status=status)
    assert answer.json["error"] == "invalid_request"


def test_a_get_is_refused(wiki):
    wiki.program.get(TOKEN, status=405)


def test_a_description_of_an_error_repeats_nothing_of_the_request(wiki, code):
    answer = wiki.ask(400, form(code, grant_type='<script>"'))
    assert "script" not in answer["error_description"]


# Resources (RFC 8707)


RESOURCES = {
    "not named": (MAPS, {}),
    "named again": (MAPS, {"resource": MAPS}),
    "spelt differently": (MAPS_TOO, {"resource": MAPS}),
    "spelt differently again": (MAPS, {"resource": MAPS_TOO}),
}


@pytest.mark.parametrize(("asked", "sent"), RESOURCES.values(), ids=RESOURCES)
def test_a_token_is_for_the_resource_of_the_authorization(browser, wiki, asked, sent):
    code = code_in(walk(browser, wiki.url(resource=asked)))
    token = wiki.exchange(code, **sent)["access_token"]
    assert jwt.decode(token, options={"verify_signature": False})["aud"] == MAPS
    assert Grant.get().resource == MAPS


@pytest.mark.promise(88)
def test_a_code_for_one_resource_is_none_for_another(browser, wiki):
    code = code_in(walk(browser, wiki.url(resource=MAPS)))
    assert wiki.exchange(code, 400, resource=REPORTS)["error"] == "invalid_target"


# Whose code it is


@pytest.mark.promise(88)
def test_a_code_of_another_client_is_refused_and_not_used(site, wiki, code):
    other = App(site, "Other", uri=CALLBACK, is_trusted=True)
    assert other.exchange(code, 400)["error"] == "invalid_grant"
    assert wiki.exchange(code)["token_type"] == "Bearer"


@pytest.mark.promise(88)
def test_a_public_client_needs_the_verifier(browser, phone):
    code = code_in(walk(browser, phone.url()))
    assert phone.exchange(code, 400, code_verifier="x" * 43)["error"] == "invalid_grant"


@pytest.mark.parametrize("verifier", ["x" * 42, "x" * 129, "x" * 43 + "+"])
def test_a_verifier_that_is_none_of_rfc_7636_is_refused_though_it_fits(browser, wiki, verifier):
    code = code_in(walk(browser, wiki.url(code_challenge=challenge_of(verifier))))
    assert wiki.exchange(code, 400, code_verifier=verifier)["error"] == "invalid_grant"


# Without PKCE

WITHOUT_PKCE = {"code_challenge": None, "code_challenge_method": None}


@pytest.fixture
def gitea(site):
    """Return an app that cannot send PKCE."""
    return App(site, "Gitea", is_without_pkce=True)


@pytest.mark.promise(99)
def test_a_code_without_pkce_is_bound_to_the_nonce(browser, gitea):
    code = code_in(walk(browser, gitea.url(**WITHOUT_PKCE, nonce="n-0S6")))
    token = gitea.exchange(code, code_verifier=None)["id_token"]
    assert jwt.decode(token, options={"verify_signature": False})["nonce"] == "n-0S6"


@pytest.mark.promise(99)
def test_a_verifier_without_a_challenge_is_refused(browser, gitea):
    """Someone has removed the challenge from the request (RFC 9700 section 2.1.1)."""
    code = code_in(walk(browser, gitea.url(**WITHOUT_PKCE)))
    assert gitea.exchange(code, 400)["error"] == "invalid_grant"
    gitea.exchange(code, code_verifier=None)  # the code was not used


@pytest.mark.promise(99)
def test_a_challenge_needs_its_verifier_though_the_app_could_do_without(browser, gitea):
    code = code_in(walk(browser, gitea.url()))
    for verifier in (None, "", "x" * 43):
        assert gitea.exchange(code, 400, code_verifier=verifier)["error"] == "invalid_grant"
    gitea.exchange(code)


@pytest.mark.promise(99)
def test_a_code_without_pkce_ends_when_the_app_has_to_send_it(browser, gitea):
    code = code_in(walk(browser, gitea.url(**WITHOUT_PKCE)))
    row = Client.get_by_id(gitea.id)
    clients.change(row, ClientFields.of(row)._replace(is_without_pkce=False))
    assert gitea.exchange(code, 400, code_verifier=None)["error"] == "invalid_grant"


@pytest.mark.promise(99)
def test_a_code_without_pkce_gets_nothing_if_the_user_left_out_the_id_token(browser, gitea):
    page = follow(browser, gitea.url(**WITHOUT_PKCE))
    form = consent_form(page)
    form["scope"].force_value("profile email")
    location = form.submit("decision", value="allow", headers=SAME_ORIGIN, status=303).location
    answer = gitea.exchange(code_in(location), 400, code_verifier=None)
    assert answer["error"] == "invalid_grant"
