"""The rules of an authorization request: which one is read, and how another one is refused."""

from dataclasses import replace
from functools import partial
from hashlib import shake_128
from urllib.parse import urlencode

import pytest

from tests.support.oauth_apps import CALLBACK, STATE, App
from tests.support.service_keys import MAPS, REPORTS
from tests.support.settings import LONG_KEY
from tests.support.tables import row_by_row
from wsgiauth.exceptions import RequestError
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.authorization import (
    ASKED,
    MAX_IN_URL,
    MAX_NONCE,
    MAX_REQUEST,
    MAX_STATE,
    MEANT,
    AuthorizationError,
    OwnParameters,
    is_too_long,
    read_request,
    registered_uri,
    size_of,
    with_parameters,
)
from wsgiauth.signed_values import encoded
from wsgiauth.web.urls import next_in_cookie, next_of_cookie

NOW = 2_000_000_000


@pytest.fixture
def own(settings):
    """Return the object that signs our own parameters."""
    return OwnParameters(settings)


@pytest.fixture
def read(own):
    """Return a function that reads a query."""

    def read_query(query, now=NOW):
        return read_request(
            query,
            own,
            now=now,
            services=frozenset((REPORTS, MAPS)),
            find=partial(clients.find, now=now),
        )

    return read_query


@pytest.fixture
def request_of(read, wiki):
    """Return a function that reads a request of the app with other parameters."""
    return lambda **changes: read(urlencode(wiki.parameters(**changes)))


def test_a_request_has_what_the_app_sent(request_of, wiki):
    request = request_of(prompt="login consent", max_age="60", resource=MAPS)
    assert request.client.id == wiki.id
    assert request.target == (CALLBACK, STATE, "query", "")
    assert request.scopes == ("openid", "profile", "email")
    assert (request.nonce, request.challenge) == (
        wiki.parameters()["nonce"],
        wiki.parameters()["code_challenge"],
    )
    assert request.prompts == {"login", "consent"}
    assert (request.max_age, request.resource) == (60, MAPS)


def test_what_is_not_sent_is_empty(request_of):
    request = request_of(scope=None, state=None, nonce="")
    assert (request.scopes, request.target.state, request.nonce) == ((), "", "")
    assert (request.prompts, request.max_age, request.resource) == (frozenset(), None, "")


def test_unknown_parameters_are_ignored(request_of, wiki):
    request = request_of(ui_locales="de", id_token_hint="x" * MAX_REQUEST)
    assert request.query == urlencode(wiki.parameters())


def test_a_backslash_is_data(request_of):
    request = request_of(login_hint="CORP\\ada", state="a\\b")
    assert request.target.state == "a\\b"
    assert "login_hint=CORP%5Cada" in request.query


def padded(wiki, size, **changes):
    """Return the query of a request with so many bytes of names and values."""
    fields = wiki.parameters(**changes)
    missing = size - size_of(fields.items()) - len("x")
    return urlencode({**fields, "x": "y" * missing})


def test_a_request_can_have_8_kib(wiki):
    assert not is_too_long(padded(wiki, MAX_REQUEST))
    assert is_too_long(padded(wiki, MAX_REQUEST + 1))


@row_by_row("letter", ["x", "\u00e9", "\u65e5", "%"])
def test_a_request_is_measured_decoded_in_bytes(wiki, letter):
    most = MAX_STATE // len(letter.encode())
    assert not is_too_long(urlencode(wiki.parameters(state=letter * most)))
    assert is_too_long(urlencode(wiki.parameters(state=letter * (most + 1))))


def test_an_id_token_has_no_length_here(wiki):
    assert not is_too_long(padded(wiki, MAX_REQUEST, id_token_hint="x" * 9000))


def test_names_without_a_value_have_a_length(wiki):
    assert is_too_long(f"{urlencode(wiki.parameters())}&{'x' * MAX_REQUEST}=")


def test_a_request_that_stays_in_the_url_fits_into_the_cookie_of_a_second_step(wiki):
    """Whatever letters it has: only random ones cannot be compressed."""
    random = shake_128(b"").digest(2000).decode("latin-1")
    for letters in ("x" * 1000, "\u65e5\u672c" * 400, random):
        state = "".join(each for each in letters if each.isprintable())
        while size_of(wiki.parameters(state=state).items()) > MAX_IN_URL:
            state = state[:-1]
        path = f"/auth/authorize?{urlencode(wiki.parameters(state=state))}"
        assert next_of_cookie(next_in_cookie(f"{path}&{ASKED}={'x' * 70}".encode().decode()))


# A wrong client or URI: there is nowhere to send the browser.


@pytest.mark.promise(89)
@row_by_row(
    ("changes", "code"),
    [
        pytest.param({"client_id": None}, "invalid_client", id="no client"),
        pytest.param({"client_id": "0123456789abcdef0123"}, "invalid_client", id="unknown client"),
        pytest.param({"client_id": "x\0" * 99}, "invalid_client", id="no id at all"),
        pytest.param({"redirect_uri": None}, "invalid_redirect_uri", id="no URI"),
        pytest.param({"redirect_uri": ""}, "invalid_redirect_uri", id="an empty URI"),
        pytest.param({"redirect_uri": f"{CALLBACK}/"}, "invalid_redirect_uri", id="a longer URI"),
        pytest.param(
            {"redirect_uri": "https://evil.example.org/callback"},
            "invalid_redirect_uri",
            id="another host",
        ),
        pytest.param(
            {"redirect_uri": CALLBACK, "client_id": None, "state": "x"},
            "invalid_client",
            id="a URI without its client",
        ),
    ],
)
def test_a_wrong_client_or_uri_is_no_answer_to_the_client(request_of, changes, code):
    with pytest.raises(RequestError) as caught:
        request_of(**changes)
    assert (caught.value.status, caught.value.code) == (400, code)


@pytest.mark.promise(89)
@row_by_row(
    "added",
    ["client_id=other", "redirect_uri=https%3A%2F%2Fevil.example.org"],
    ids=["client_id", "redirect_uri"],
)
@row_by_row("place", ["before", "after"])
def test_a_client_or_uri_that_is_given_twice_is_no_answer_to_the_client(read, wiki, added, place):
    query = urlencode(wiki.parameters())
    with pytest.raises(RequestError):
        read(f"{added}&{query}" if place == "before" else f"{query}&{added}")


@row_by_row(
    "query",
    [
        pytest.param("", id="empty"),
        pytest.param("%ff=%ff", id="not UTF-8"),
        pytest.param("&".join(f"a{each}=1" for each in range(31)), id="too many parameters"),
    ],
)
def test_a_malformed_query_names_no_client(read, wiki, query):
    with pytest.raises(RequestError) as caught:
        read(f"{query}&{urlencode(wiki.parameters())}" if query else "")
    assert caught.value.code == "invalid_client"


# Other mistakes are answers to the client.

NO_PKCE = {"code_challenge": None, "code_challenge_method": None}


@pytest.fixture
def gitea(site, read):
    """Return a function that reads a request of an app that cannot send PKCE."""
    app = App(site, "Gitea", is_without_pkce=True)
    return lambda **changes: read(urlencode(app.parameters(**{**NO_PKCE, **changes})))


@pytest.mark.promise(99)
def test_a_request_without_pkce_has_a_nonce_and_a_state(gitea, wiki):
    request = gitea()
    assert (request.challenge, request.nonce) == ("", wiki.nonce)
    assert request.target.state == STATE


@pytest.mark.promise(99)
@row_by_row(
    "changes",
    [
        pytest.param({"nonce": None}, id="no nonce"),
        pytest.param({"nonce": ""}, id="an empty nonce"),
        pytest.param({"nonce": " "}, id="a space as nonce"),
        pytest.param({"state": None}, id="no state"),
        pytest.param({"state": ""}, id="an empty state"),
        pytest.param({"scope": None}, id="no scope"),
        pytest.param({"scope": "profile email"}, id="no openid"),
    ],
)
def test_without_pkce_nothing_can_be_left_out(gitea, changes):
    with pytest.raises(AuthorizationError) as caught:
        gitea(**changes)
    assert (caught.value.error, caught.value.target.uri) == ("invalid_request", CALLBACK)


@pytest.mark.promise(99)
@row_by_row(
    "changes",
    [
        pytest.param({"code_challenge": "x" * 42, "code_challenge_method": "S256"}, id="short"),
        pytest.param({"code_challenge": "x" * 43}, id="no method"),
        pytest.param({"code_challenge": "x" * 43, "code_challenge_method": "plain"}, id="plain"),
        pytest.param({"code_challenge_method": "S256"}, id="a method alone"),
    ],
)
def test_a_wrong_challenge_is_never_read_as_none(gitea, changes):
    with pytest.raises(AuthorizationError) as caught:
        gitea(**changes)
    assert caught.value.error == "invalid_request"


@row_by_row(
    ("changes", "error"),
    [
        pytest.param({"request": "e30."}, "request_not_supported", id="request"),
        pytest.param(
            {"request_uri": "https://wiki.example.org/r"},
            "request_uri_not_supported",
            id="request_uri",
        ),
        pytest.param({"response_type": None}, "unsupported_response_type", id="no response_type"),
        pytest.param({"response_type": "token"}, "unsupported_response_type", id="implicit"),
        pytest.param({"response_type": "code id_token"}, "unsupported_response_type", id="hybrid"),
        pytest.param({"response_mode": "fragment"}, "invalid_request", id="response_mode"),
        pytest.param({"code_challenge": None}, "invalid_request", id="no code_challenge"),
        pytest.param({"code_challenge": "x" * 42}, "invalid_request", id="short code_challenge"),
        pytest.param({"code_challenge": "x" * 44}, "invalid_request", id="long code_challenge"),
        pytest.param(
            {"code_challenge": "+" * 43}, "invalid_request", id="code_challenge in base64"
        ),
        pytest.param({"code_challenge_method": None}, "invalid_request", id="no method of PKCE"),
        pytest.param({"code_challenge_method": "plain"}, "invalid_request", id="plain PKCE"),
        pytest.param({"prompt": "other"}, "invalid_request", id="unknown prompt"),
        pytest.param({"prompt": "none login"}, "invalid_request", id="none and another prompt"),
        pytest.param({"prompt": "none create"}, "invalid_request", id="none and create"),
        pytest.param({"max_age": "-1"}, "invalid_request", id="negative max_age"),
        pytest.param({"max_age": "1.5"}, "invalid_request", id="broken max_age"),
        pytest.param({"max_age": "1" * 10}, "invalid_request", id="huge max_age"),
        pytest.param({"max_age": "\u0661"}, "invalid_request", id="max_age in other digits"),
        pytest.param({"client_secret": "x"}, "invalid_request", id="a secret in the URL"),
        pytest.param({"code": "x"}, "invalid_request", id="a code in the URL"),
        pytest.param({"resource": "https://other.example"}, "invalid_target", id="resource"),
        pytest.param({"nonce": "a\nb"}, "invalid_request", id="a control character"),
        pytest.param({"nonce": "x" * (MAX_NONCE + 1)}, "invalid_request", id="a long nonce"),
    ],
)
def test_a_mistake_is_an_answer_to_the_client(request_of, changes, error):
    with pytest.raises(AuthorizationError) as caught:
        request_of(**changes)
    assert (caught.value.error, caught.value.target) == (error, (CALLBACK, STATE, "query", ""))


@row_by_row(
    ("changes", "description"),
    [
        pytest.param(
            NO_PKCE,
            "PKCE is missing: send code_challenge, and S256 as code_challenge_method",
            id="no PKCE",
        ),
        pytest.param(
            {"code_challenge_method": None},
            "code_challenge_method must be S256 (PKCE)",
            id="no method",
        ),
        pytest.param(
            {"code_challenge": None},
            "code_challenge must be a SHA-256 digest in base64url (PKCE)",
            id="a method alone",
        ),
    ],
)
def test_the_answer_says_what_is_missing_of_pkce(request_of, changes, description):
    with pytest.raises(AuthorizationError) as caught:
        request_of(**changes)
    assert caught.value.description == description


@row_by_row(
    ("added", "error", "state"),
    [
        pytest.param("scope=email", "invalid_request", STATE, id="scope"),
        pytest.param("x=1&x=1", "invalid_request", STATE, id="an unknown one"),
        pytest.param("wsgiauth_asked=1&wsgiauth_asked=1", "invalid_request", STATE, id="our own"),
        pytest.param("state=other", "invalid_request", "", id="state"),
        pytest.param(f"resource={REPORTS}&resource=maps", "invalid_target", STATE, id="resource"),
    ],
)
def test_a_parameter_that_is_given_twice_is_refused(read, wiki, added, error, state):
    with pytest.raises(AuthorizationError) as caught:
        read(f"{urlencode(wiki.parameters())}&{added}")
    assert (caught.value.error, caught.value.target.state) == (error, state)


def test_a_mistake_is_answered_in_the_mode_of_the_request(request_of):
    with pytest.raises(AuthorizationError) as caught:
        request_of(response_mode="form_post", prompt="other")
    assert caught.value.target.mode == "form_post"


# When a proof is accepted


@row_by_row(
    ("changes", "age", "is_accepted"),
    [
        pytest.param({}, 10**6, True, id="any"),
        pytest.param({"max_age": "60"}, 60, True, id="max_age"),
        pytest.param({"max_age": "60"}, 61, False, id="older than max_age"),
        pytest.param({"max_age": "0"}, 0, False, id="max_age=0"),
        pytest.param({"prompt": "login"}, 0, False, id="prompt=login"),
        pytest.param({"prompt": "consent"}, 10**6, True, id="prompt=consent"),
    ],
)
def test_the_app_says_which_proof_it_accepts(request_of, changes, age, is_accepted):
    assert request_of(**changes).accepts(NOW - age, NOW) is is_accepted


@row_by_row("changes", [{"prompt": "login"}, {"max_age": "0"}], ids=["prompt", "age"])
def test_a_proof_since_the_site_asked_is_accepted(read, request_of, own, changes):
    request = read(own.added_to(request_of(**changes).query, {ASKED: NOW}), NOW + 600)
    assert request.accepts(NOW + 300, NOW + 600)
    assert request.accepts(NOW - 3, NOW + 600)  # by the clock of another host
    assert not request.accepts(NOW - 4, NOW + 600)


def test_the_time_of_the_question_is_kept_for_ten_minutes(read, request_of, own):
    query = own.added_to(request_of(prompt="login").query, {ASKED: NOW})
    assert read(query, NOW + 600).asked_at == NOW
    assert read(query, NOW + 601).asked_at == 0


def test_no_client_can_say_that_the_site_asked(read, request_of, own, settings):
    query = request_of(prompt="login").query
    signed = own.added_to(query, {ASKED: NOW})
    name, _equals, value = signed.rpartition("=")
    moved = own.added_to(request_of(prompt="login", state="other").query, {ASKED: NOW})
    for forged in (
        f"{name}={NOW}",
        f"{name}={encoded(str(NOW).encode())}.{'x' * 43}",
        f"{name}={encoded(str(NOW + 1).encode())}.{value.partition('.')[2]}",
        f"{name}={value}x",
        f"{name}=\u0661.{'x' * 43}",
        f"{name}={moved.rpartition('=')[2]}",
    ):
        assert read(forged).asked_at == 0


def test_a_fallback_of_the_key_verifies_the_time(request_of, settings, wiki):
    query = request_of(prompt="login").query
    signed = OwnParameters(settings).added_to(query, {ASKED: NOW})
    later = replace(settings, SECRET_KEY=LONG_KEY, SECRET_KEY_FALLBACKS=(settings.SECRET_KEY,))
    find = partial(clients.find, now=NOW)
    request = read_request(signed, OwnParameters(later), now=NOW, services=frozenset(), find=find)
    assert request.asked_at == NOW


def test_a_number_counts_only_under_its_name(read, request_of, own):
    query = own.added_to(request_of().query, {ASKED: NOW})
    assert read(query.replace(ASKED, MEANT)).meant == 0
    assert read(own.added_to(request_of().query, {ASKED: NOW, MEANT: 7})).meant == 7


def test_a_request_without_our_numbers_is_the_same(read, request_of, own):
    request = request_of(prompt="login")
    assert read(own.added_to(request.query, {ASKED: NOW, MEANT: 7})).query == request.query
    assert own.added_to(request.query, {ASKED: 0}) == request.query


# URIs


def test_the_registered_uri_of_a_request_is_known_in_spite_of_other_mistakes(wiki, site):
    assert registered_uri(urlencode(wiki.parameters(response_type="token")), NOW) == CALLBACK
    wrong = wiki.parameters(redirect_uri="https://evil.example")
    assert registered_uri(urlencode(wrong), NOW) == ""


@row_by_row(
    ("uri", "expected"),
    [
        ("https://wiki.example.org/", "https://wiki.example.org/?code=a%26b"),
        ("https://wiki.example.org/?a=1", "https://wiki.example.org/?a=1&code=a%26b"),
    ],
    ids=["without a query", "with a query"],
)
def test_parameters_follow_those_of_the_uri(uri, expected):
    assert with_parameters(uri, {"code": "a&b"}) == expected
