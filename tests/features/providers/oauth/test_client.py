"""A login at a provider without OpenID Connect: what comes back, and what is refused on the way."""

from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.hostile_provider import CLIENT_SECRET
from tests.support.oauth_providers import ADA, GitHub
from tests.support.oidc_clients import CALLBACK, Client
from tests.support.provider_answers import Answer, Endless, HangUp, Json, Redirect
from tests.support.provider_keys import DROP
from wsgiauth.features.providers.oidc.errands import CONFIRM, CONNECT, Errand
from wsgiauth.features.providers.oidc.failures import ProviderError

TOKEN, USER, EMAILS = "/login/oauth/access_token", "/api/v3/user", "/api/v3/user/emails"


@pytest.fixture
def client(github):
    return Client(github)


FAILURES = [
    (HangUp(), 503, "connection"),
    (Answer(500), 503, "status"),
    (Answer(429), 503, "rate limit"),
    (Answer(404), 502, "status"),
    (Redirect("/elsewhere", 308), 502, "redirect"),
    (Endless(), 502, "too large"),
    (Answer(body=b'{"a": 1, "a": 2}'), 502, "JSON"),
    (Answer(body=b"access_token=x&token_type=bearer"), 502, "JSON"),
]


@pytest.mark.promise(71)
@pytest.mark.parametrize(("path", "what"), [(TOKEN, "token"), (USER, "user"), (EMAILS, "emails")])
def test_a_failure_of_each_request_is_a_failure_of_the_login(github, path, what):
    found = []
    for answer, _, _ in FAILURES:
        github.answers[path] = answer
        error = Client(github).refusal()
        found.append((answer, error.status, error.reason))
        assert CLIENT_SECRET not in f"{error!r} {vars(error)}"
    expected = [(answer, status, f"{what}: {reason}") for answer, status, reason in FAILURES]
    if what == "token":
        expected[-2:] = [(answer, 502, "token") for answer, _, _ in FAILURES[-2:]]
    assert found == expected


def test_a_refused_exchange_is_named_with_any_status(github, client, caplog):
    refusals = [
        (Json({"error": "incorrect_client_credentials"}), 502, "token: client refused"),
        (Json({"error": "invalid_client"}, 401), 502, "token: client refused"),
        (Json({"message": "?"}, 401), 502, "token: client refused"),
        (Json({"error": "bad_verification_code"}), 400, "token: code refused"),
        (Json({"error": "invalid_grant"}, 400), 400, "token: code refused"),
        (Json({"error": "redirect_uri_mismatch"}), 502, "token: redirect_uri_mismatch"),
        (Json({"error": "unverified_user_email"}), 502, "token: unverified_user_email"),
        (Json({"error": "application_suspended"}), 502, "token: application_suspended"),
        (Json({"error": "invalid_scope"}, 400), 502, "token: invalid_scope"),
        (Json({"error": "canary"}), 502, "token"),
        (Json({"error": "canary"}, 400), 502, "token: status"),
        (Json({"error": ["invalid_grant"]}, 400), 502, "token: status"),
        (Json({"error": {"invalid_grant": 1}}), 502, "token"),
        (Json({"error": "bad_verification_code"}, 500), 503, "token: status"),
        (Json({}), 502, "token"),
        (Json([]), 502, "token"),
    ]
    found = []
    for answer, _, _ in refusals:
        github.answers[TOKEN] = answer
        error = client.refusal()
        found.append((answer, error.status, error.reason))
    assert found == refusals
    assert caplog.text.count("canary") == 2  # what the provider said, for the operator alone


def test_a_response_without_an_access_token_is_refused(github, client):
    wrong = [
        *({"access_token": each} for each in (DROP, ["x"], "a\r\nX: y", "")),
        *({"token_type": each} for each in ("mac", None)),
    ]
    found = []
    for tokens in wrong:
        github.tokens = tokens
        error = client.refusal()
        found.append((tokens, error.status, error.reason))
    assert found == [(tokens, 502, "token") for tokens in wrong]
    assert not github.requests[USER]


def test_an_answer_with_a_token_needs_nothing_else(github, client):
    github.tokens.update(scope=DROP, error="", id_token="x.y.z")
    assert client.log_in().subject == str(ADA)


@pytest.mark.promise(69)
def test_a_callback_that_is_not_the_answer_is_refused(github, client):
    wrong = [
        ({"iss": "https://github.com"}, "iss"),
        ({"iss": ""}, "iss"),
        ({"error": "application_suspended"}, "application_suspended"),
        ({"error": "redirect_uri_mismatch"}, "redirect_uri_mismatch"),
        ({"error": "<canary>"}, "error"),
        ({"code": DROP}, "code"),
        ({"code": "a b"}, "code"),
    ]
    errors = [client.refusal(**changes) for changes, _ in wrong]
    assert [each.reason for each in errors] == [reason for _, reason in wrong]
    assert not github.requests[TOKEN]
    errors.append(client.refusal(code="another"))
    assert errors[-1].reason == "token: code refused"
    assert {each.status for each in errors} == {400}


def test_the_issuer_need_not_be_sent(client):
    assert client.log_in(iss=DROP).subject == str(ADA)


def test_a_user_can_decline(client):
    error = client.refusal(error="access_denied", code=DROP)
    assert (error.status, error.reason) == (403, "access_denied")
    assert error.detail.startswith("You did not allow the login with GitHub.")


@pytest.mark.promise(69)
def test_a_code_of_another_login_is_refused(github, client):
    """Code injection: PKCE binds the code to the browser that began."""
    github.register("mallory")
    client.begin()
    stolen = client.come_back("mallory")["code"]
    assert client.refusal(code=stolen).reason == "token: code refused"


@pytest.mark.promise(69)
def test_a_code_for_the_callback_of_another_provider_is_refused(github, client):
    """Each provider has its own callback, and the code is only for the one that was asked for."""
    client.begin()
    asked = urlsplit(client.begun.url)._replace(query="").geturl()
    begun = parse_qs(urlsplit(client.begun.url).query)
    github.callback = CALLBACK
    other = CALLBACK.replace("google", "evil")
    url = f"{asked}?client_id={begun['client_id'][0]}&redirect_uri={other}&state=x"
    assert parse_qs(github.authorize(url))["error"] == ["redirect_uri_mismatch"]


def test_a_suspended_app_is_named(github, client):
    github.is_suspended = True
    assert client.refusal().reason == "application_suspended"


@pytest.mark.promise(86)
def test_no_login_confirms_an_identity(github, client):
    error = client.refusal(errand=Errand(CONFIRM, user_id=7))
    assert (error.status, error.reason) == (403, "auth_time")
    assert not github.requests[TOKEN]
    assert client.log_in(errand=Errand(CONNECT, user_id=7)).authenticated_at is None
    assert not {"max_age", "nonce"} & client.begin(Errand(CONFIRM, user_id=7)).keys()


def test_there_is_no_logout_elsewhere(github, client):
    assert client.google.logout_url("https://example.org/auth/login") is None
    with pytest.raises(ProviderError) as caught:
        client.google.verify_logout_token(github.logout_token())
    assert (caught.value.status, caught.value.reason) == (400, "signature")
    assert not github.requests


def test_addresses_that_cannot_be_reached_alone_are_left_alone(github, client, caplog):
    client.known.add(str(ADA))
    github.answers[EMAILS] = HangUp()
    assert [client.log_in().is_partial for _ in range(3)] == [True] * 3
    assert len(github.requests[EMAILS]) == 1
    assert "emails: left alone" in caplog.text


def test_a_check_finds_nothing_wrong_with_a_client_that_the_provider_knows(github, discord):
    for each in (github, discord):
        assert Client(each).google.problem() is None
    assert "redirect_uri" not in github.requests[TOKEN][0].form


def test_a_check_says_what_is_wrong(github):
    refused = Json({"error": "incorrect_client_credentials"})
    suspended = Json({"error": "application_suspended"})
    for answer, problem in (
        (Answer(404), "(token: status). Check the id and the secret of the client"),
        (refused, "(token: client refused). Check the id and the secret"),
        (HangUp(), "(token: connection). Check that this host can reach"),
        (Answer(429), "(token: rate limit). It has received too many requests"),
        (suspended, "(token: application_suspended). Check the id"),
    ):
        github.answers[TOKEN] = answer
        found = Client(github).google.problem()
        assert found.startswith(f"The provider google cannot be used {problem}")


def test_a_check_names_a_wrong_client(github):
    client = Client(github)
    github.client_secret = "another"
    assert "token: client refused" in client.google.problem()
    github.client_id = "another"
    assert "token: status" in client.google.problem()


def test_two_providers_of_a_kind_are_two_issuers(github, client):
    with GitHub() as other:
        one, another = client.log_in(), Client(other).log_in()
    assert one.subject == another.subject
    assert one.issuer != another.issuer
