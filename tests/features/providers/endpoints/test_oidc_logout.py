"""POST /auth/oidc/{provider}/logout: OpenID Connect Back-Channel Logout 1.0."""

import pytest
from webtest import TestApp

from tests.support.federated import connected, logged_in_at_provider, with_providers
from tests.support.hostile_provider import DISCOVERY, Provider
from tests.support.provider_keys import DROP, HmacKey, NoKey, signed, signing_key
from tests.support.sites import SAME_ORIGIN, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.testing import logged_in, make_user

URL = "/auth/oidc/google/logout"


@pytest.fixture
def heard():
    return []


@pytest.fixture
def site(settings, provider, heard):
    made = AuthMiddleware(
        echo, with_providers(settings, provider.entry("google")), on_event=heard.append
    )
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def identity(site, ada, provider):
    return connected(site, ada, provider="google", issuer=provider.issuer, subject="ada")


@pytest.fixture
def browser(site, ada, identity):
    """Return a browser whose session is `session-1` at the provider."""
    return logged_in_at_provider(site, ada, identity, sid="session-1")


def send(site, token, status=200, url=URL):
    return TestApp(site).post(url, {"logout_token": token}, status=status)


def is_logged_in(browser):
    return browser.get("/auth/me", expect_errors=True).status_int == 200


def reasons(heard):
    return [each.reason for each in heard if each.name == "provider_failed"]


@pytest.mark.every_database
@pytest.mark.promise(74)
@pytest.mark.parametrize(
    ("claims", "ended"),
    [
        ({"sid": DROP}, {"first", "second"}),
        ({"sub": DROP, "sid": "session-2"}, {"second"}),
        ({"sub": "grace"}, set()),
    ],
    ids=["sub", "sid", "another account"],
)
def test_exactly_the_sessions_that_the_token_names_end(
    site, ada, identity, provider, heard, claims, ended
):
    browsers = {
        "first": logged_in_at_provider(site, ada, identity, sid="session-1"),
        "second": logged_in_at_provider(site, ada, identity, sid="session-2"),
        "by password": logged_in(site, ada),
    }
    answer = send(site, provider.logout_token(**claims))
    assert answer.headers["Cache-Control"] == "no-store"
    assert {name for name, each in browsers.items() if not is_logged_in(each)} == ended
    events = [(each.name, each.reason) for each in heard if each.name == "logout"]
    assert events == ([("logout", "provider")] if ended else [])
    assert reasons(heard) == []


@pytest.mark.promise(74)
def test_a_token_that_never_expires_ends_sessions_once(site, browser, provider, heard):
    token = provider.logout_token(exp=DROP)
    send(site, token)
    assert not is_logged_in(browser)
    send(site, token, status=400)
    assert reasons(heard) == ["google: logout: used"]


@pytest.mark.promise(74)
def test_the_session_of_another_provider_goes_on(settings, provider):
    with Provider() as other:
        entries = (provider.entry("google"), other.entry("work"))
        both = AuthMiddleware(echo, with_providers(settings, *entries))
        user = make_user(both)
        there = connected(both, user, provider="work", issuer=other.issuer, subject="ada")
        browser = logged_in_at_provider(both, user, there, sid="session-1")
        send(both, provider.logout_token())
        send(both, provider.logout_token(iss=other.issuer), status=400)
        send(both, other.logout_token(), status=400)
        assert is_logged_in(browser)
        send(both, other.logout_token(), url="/auth/oidc/work/logout")
        assert not is_logged_in(browser)
        storage.discard_connection(both.database)


@pytest.mark.every_database
@pytest.mark.promise(74)
def test_a_token_counts_once(site, ada, identity, provider, heard):
    token = provider.logout_token(sid=DROP)
    send(site, token)
    browser = logged_in_at_provider(site, ada, identity)
    send(site, token, status=400)
    assert is_logged_in(browser)
    assert reasons(heard) == ["google: logout: used"]
    (row,) = OneTimeSecret.select()
    assert abs(row.expires_at - (provider.now() + 30 * 60)) < 30


@pytest.mark.promise(74)
def test_a_wrong_token_ends_nothing_and_is_reported(site, browser, provider, heard):
    for claims in ({"aud": "other"}, {"iat": 1, "exp": 2}, {"jti": DROP}, {"events": DROP}):
        answer = send(site, provider.logout_token(**claims), status=400)
        assert answer.json["error"] == "invalid_request"
        assert answer.headers["Cache-Control"] == "no-store"
    assert reasons(heard) == [
        f"google: logout: {reason}" for reason in ("aud", "clock", "jti", "events")
    ]
    assert is_logged_in(browser)
    assert OneTimeSecret.select().count() == 0


def unsigned(provider):
    token = provider.logout_token()
    return f"{token.rpartition('.')[0]}."


def other_key(provider):
    provider.key = signing_key("RS256", "1b")
    provider.header = {"kid": "1"}
    return provider.logout_token()


def unknown_key(provider):
    provider.key = signing_key("RS256", "9")
    return provider.logout_token()


def without_algorithm(provider):
    provider.key = NoKey()
    return provider.logout_token()


def hmac_of_the_secret(provider):
    provider.key = HmacKey(provider.client_secret.encode())
    return provider.logout_token()


def key_in_the_header(provider):
    key = signing_key("RS256", "1b")
    provider.key, provider.header = key, {"kid": "1b", "jwk": key.jwk}
    return provider.logout_token()


def of_another_type(provider):
    provider.header = {"typ": "at+jwt"}
    return provider.logout_token()


FORGED = [
    unsigned,
    other_key,
    unknown_key,
    without_algorithm,
    hmac_of_the_secret,
    key_in_the_header,
    of_another_type,
    lambda provider: provider.id_token(),
    lambda provider: signed([], provider.key),
]


@pytest.mark.promise(74)
@pytest.mark.promise(70)
def test_a_forged_token_ends_nothing_and_costs_no_query(site, browser, provider, heard, queries):
    for make in FORGED:
        provider.key, provider.header = signing_key(), {}
        token = make(provider)
        sent = queries(lambda token=token: send(site, token, status=400))
        assert (make, sent) == (make, [])
    assert is_logged_in(browser)
    assert len(reasons(heard)) == len(FORGED)


@pytest.mark.promise(71)
def test_for_what_is_no_token_the_provider_is_not_asked(site, provider, heard, queries):
    others = ["", "x", "a.b", "x" * 15_000, "a.b.c=", "a.b." + "c" * 16_384]
    assert queries(lambda: [send(site, each, status=400) for each in others]) == []
    assert not provider.requests
    assert reasons(heard) == ["google: logout: form"] * len(others)


@pytest.mark.promise(71)
@pytest.mark.promise(74)
def test_a_flood_of_unknown_keys_asks_the_provider_twice(site, browser, provider):
    token = unknown_key(provider)
    for _ in range(20):
        send(site, token, status=400)
    assert len(provider.requests[DISCOVERY]) == 1
    assert len(provider.requests["/keys"]) <= 2


def test_a_provider_that_is_down_is_asked_to_send_the_token_again(site, browser, provider, heard):
    token = provider.logout_token()
    with provider.down():
        assert send(site, token, status=503).headers["Retry-After"]
    assert is_logged_in(browser)
    assert reasons(heard) == ["google: logout: discovery: connection"]


def test_an_unknown_provider_does_not_exist(site, provider):
    send(site, provider.logout_token(), status=404, url="/auth/oidc/elsewhere/logout")


def test_what_is_no_form_with_a_token_is_refused(site, heard):
    client = TestApp(site)
    for request in (
        {"params": "{}", "content_type": "application/json"},
        {"params": "x", "content_type": "text/plain"},
        {"params": {}},
        {"params": "logout_token=a&logout_token=b"},
        {"params": "logout_token=%ff"},
        {"params": "logout_token=" + "x" * 20_000},
    ):
        heard.clear()
        answer = client.post(URL, status=400, **request)
        assert answer.json["error"] == "invalid_request"
        assert len(reasons(heard)) == 1


def test_no_cookie_and_no_origin_is_needed(site, browser, provider):
    headers = {"Origin": "https://elsewhere.example", "Sec-Fetch-Site": "cross-site"}
    fields = {"logout_token": provider.logout_token()}
    TestApp(site).post(URL, fields, headers=headers, status=200)
    assert not is_logged_in(browser)
    browser.get(URL, headers=SAME_ORIGIN, status=405)
