"""A login at a provider: what goes there, what comes back, and what is refused on the way."""

import sys
import time
from dataclasses import replace

import pytest

from tests.support.hostile_provider import CLIENT_ID, CLIENT_SECRET, DISCOVERY, Provider
from tests.support.mail_servers import make_certificate
from tests.support.oidc_clients import CALLBACK, Client
from tests.support.provider_answers import Answer, HangUp, Held, Json, Redirect
from tests.support.provider_keys import DROP, half_hash, signing_key
from tests.support.sites import SECRET_KEY
from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.features.providers.oidc import Providers
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.oidc.errands import CONFIRM, CONNECT, LOG_IN, Errand
from wsgiauth.features.providers.oidc.failures import ProviderError
from wsgiauth.features.registry import FEATURES
from wsgiauth.site import Site
from wsgiauth.web.cookies import TAG_LENGTH


@pytest.fixture
def client(provider):
    return Client(provider)


def test_a_login_says_who_the_user_is(provider, client):
    account = client.log_in()
    assert account == ProviderAccount(
        provider="google",
        issuer=provider.issuer,
        subject="ada",
        name="ada@example.org",
        email="ada@example.org",
        email_verified=True,
        username="ada",
        sid=provider.sids["ada"],
        asked_at=account.asked_at,
    )
    assert abs(account.asked_at - time.time()) < 60
    assert len(provider.requests[DISCOVERY]) == len(provider.requests["/keys"]) == 1
    assert not provider.requests["/userinfo"]


def test_the_url_of_the_provider_asks_for_a_code_with_pkce(provider):
    client = Client(provider, prompt="select_account", scope="email")
    provider.discovery["authorization_endpoint"] = provider.url("/authorize?tenant=1")
    asked = client.begin()
    assert client.begun.url.startswith(provider.url("/authorize?tenant=1&"))
    secrets = {asked.pop(name) for name in ("state", "nonce", "code_challenge")}
    assert asked == {
        "tenant": "1",
        "response_type": "code",
        "client_id": CLIENT_ID,
        "redirect_uri": CALLBACK,
        "scope": "openid email",
        "prompt": "select_account",
        "code_challenge_method": "S256",
    }
    assert sorted(map(len, secrets)) == [43, 43, TAG_LENGTH + 43]
    assert CLIENT_SECRET not in client.begun.url


def test_an_issuer_has_any_path():
    for path in ("", "/", "/realms/main"):
        with Provider(path) as provider:
            assert Client(provider).log_in().issuer == provider.issuer


def test_a_secret_is_sent_in_the_form_only_if_the_provider_wants_that(provider, client):
    provider.discovery["token_endpoint_auth_methods_supported"] = ["client_secret_post"]
    assert client.log_in().subject == "ada"
    (request,) = provider.requests["/token"]
    assert request.form["client_secret"] == CLIENT_SECRET


@pytest.mark.promise(69)
def test_a_callback_that_is_not_the_answer_is_refused(provider, client):
    wrong = [
        ({"iss": DROP}, "iss"),
        ({"iss": "https://elsewhere.example"}, "iss"),
        ({"iss": f"{provider.issuer}/"}, "iss"),
        ({"iss": ""}, "iss"),
        ({"iss": "https://elsewhere.example", "error": "access_denied"}, "iss"),
        ({"error": "login_required"}, "login_required"),
        ({"error": "<canary>"}, "error"),
        ({"error": ""}, "error"),
        ({"code": DROP}, "code"),
        ({"code": "a b"}, "code"),
        ({"code": "\r\n"}, "code"),
    ]
    errors = [client.refusal(**changes) for changes, _ in wrong]
    assert [each.reason for each in errors] == [reason for _, reason in wrong]
    assert not provider.requests["/token"]
    errors.append(client.refusal(code="another"))
    assert errors[-1].reason == "token: code refused"
    assert {(each.status, each.code) for each in errors} == {(400, "provider_failed")}


def test_a_provider_that_announces_no_issuer_need_not_send_it(provider, client):
    provider.discovery["authorization_response_iss_parameter_supported"] = DROP
    assert client.log_in(iss=DROP).subject == "ada"
    assert client.refusal(iss="https://elsewhere.example").reason == "iss"


def test_a_user_can_decline(client):
    error = client.refusal(error="access_denied", code=DROP)
    assert (error.status, error.reason) == (403, "access_denied")
    assert error.detail.startswith("You did not allow the login with Google.")


def test_the_log_has_one_short_line_of_an_error(client, caplog):
    for described, logged in (
        ("User is not assigned", '"access_denied: User is not assigned"'),
        ("", '"access_denied"'),
        ('a\r\ntime=x event=login "b"', '"access_denied: a  time=x event=login \\"b\\""'),
        ("\u202e\x1b[31mé", '"access_denied:   [31m\\u00e9"'),
        ("x" * 999, f'"access_denied: {"x" * 285}"'),
    ):
        caplog.clear()
        client.refusal(error="access_denied", error_description=described, code=DROP)
        assert caplog.messages == [f"the provider google answered with the error {logged}"]


@pytest.mark.promise(69)
def test_a_code_of_another_login_is_refused(provider, client):
    """Code injection: PKCE binds the code to the browser that began."""
    client.begin()
    stolen = client.come_back("grace")["code"]
    assert client.refusal(code=stolen).reason == "token: code refused"


@pytest.mark.promise(69)
def test_a_callback_in_another_browser_is_refused(provider, client):
    """Login CSRF."""
    client.begin()
    query = client.come_back("mallory")
    client.begin()
    assert client.ours.errands.find(client.begun.cookie.value, "google", query["state"]) is None


@pytest.mark.promise(69)
def test_providers_are_not_mixed_up(provider):
    """RFC 9700 section 4.4: the code of the honest one is not sent to the other."""
    with Provider() as other:
        client = Client(provider)
        client.begin()
        query = client.come_back(iss=other.issuer)
        with pytest.raises(ProviderError) as caught:
            client.finish(query)
    assert caught.value.reason == "iss"
    assert not provider.requests["/token"]


FAILURES = [
    (HangUp(), 503, "connection"),
    (Answer(500), 503, "status"),
    (Answer(429), 503, "rate limit"),
    (Answer(404), 502, "status"),
    (Redirect("https://elsewhere.example/"), 502, "redirect"),
    (Redirect("https://elsewhere.example/", 308), 502, "redirect"),
    (Answer(body=b"x" * 70_000), 502, "too large"),
    (Json([]), 502, "JSON"),
    (Answer(body=b'{"a": 1, "a": 2}'), 502, "JSON"),
]


@pytest.mark.promise(71)
@pytest.mark.parametrize(
    ("path", "what"),
    [(DISCOVERY, "discovery"), ("/token", "token"), ("/keys", "keys"), ("/userinfo", "userinfo")],
)
def test_a_failure_of_each_request_is_a_failure_of_the_login(provider, path, what):
    provider.claims["email"] = DROP
    found = []
    for answer, _, _ in FAILURES:
        provider.answers[path] = answer
        error = Client(provider).refusal()
        found.append((answer, error.status, error.reason))
        assert ("Retry-After", "10") in error.headers or error.status == 502
    expected = [(answer, status, f"{what}: {reason}") for answer, status, reason in FAILURES]
    if what == "token":
        expected[-2:] = [(answer, 502, "token") for answer, _, _ in FAILURES[-2:]]
    assert found == expected


@pytest.mark.promise(71)
def test_a_request_that_takes_too_long_is_a_failure_of_the_login(provider):
    provider.answers[DISCOVERY] = Held()
    error = Client(provider, timeout=0.1).refusal()
    assert (error.status, error.reason) == (503, "discovery: timeout")


def test_a_response_without_tokens_is_refused(provider, client):
    wrong = [
        *({"id_token": each} for each in (DROP, None)),
        *({"access_token": each} for each in (DROP, "a\nb", ["x"], None, 1, "")),
        *({"token_type": each} for each in (["Bearer"], "mac", DROP)),
    ]
    found = []
    for tokens in wrong:
        provider.tokens = tokens
        error = client.refusal()
        found.append((tokens, error.status, error.reason))
    assert found == [(tokens, 502, "token") for tokens in wrong]


def test_the_log_says_why_the_provider_refuses_a_code_without_what_was_sent(
    provider, client, caplog
):
    for said, logged in (
        ({"error": "invalid_grant"}, '"invalid_grant"'),
        ({"error": "x", "error_description": "PKCE\nfailed"}, '"x: PKCE failed"'),
        ({"error": "x", "error_description": ["y"]}, '"x"'),
        ({"error": "x", "error_description": f"not {CLIENT_SECRET}"}, '"x: not \\u2026"'),
        ({"error": ["x"]}, None),
    ):
        caplog.clear()
        provider.tokens = {"access_token": DROP, **said}
        client.refusal()
        line = f"the provider google answered with the error {logged}"
        assert caplog.messages == ([line] if logged else []), said


def test_other_members_of_the_answer_do_not_matter(provider, client):
    members = ("expires_in", "scope", "refresh_token", "not-before-policy")
    for value in (DROP, None, "", "3600", -1, 1e300, [], {"a": True}):
        provider.tokens = dict.fromkeys(members, value)
        assert (value, client.log_in().subject) == (value, "ada")


@pytest.mark.promise(71)
def test_a_discovery_document_can_have_moved_within_its_origin(provider):
    document = provider.fetch(provider.url(DISCOVERY))[2]
    provider.answers["/moved"] = Answer(body=document)
    redirects = [Redirect("../moved?a=b")]
    redirects += [Redirect(provider.url("/moved?a=b"), each) for each in (301, 302, 303, 307, 308)]
    for redirect in redirects:
        provider.answers[DISCOVERY] = redirect
        assert Client(provider).log_in().subject == "ada"
    assert [each.query for each in provider.requests["/moved"]] == [{"a": "b"}] * len(redirects)
    provider.answers["/moved"] = Json({**Answer(body=document).json, "issuer": "https://x.example"})
    assert "discovery: issuer" in Client(provider).google.problem()


@pytest.mark.promise(71)
def test_a_discovery_document_that_has_moved_elsewhere_is_refused(provider):
    here, port = provider.origin, provider.origin.rpartition(":")[2]
    elsewhere = [
        *("https://elsewhere.example/", "//elsewhere.example/", f"https://127.0.0.1:{port}/x"),
        *(f"http://localhost:{port}/moved", "http://127.0.0.1/moved", f"{here}1/x"),
        *(f"http://ada@127.0.0.1:{port}/moved", f"{here}/moved#a", "file:///x"),
        *(f"{here}/a b", "http://127.0.0.1:x/", "http://[::1", "", "/" + "x" * 2048),
    ]
    found = []
    for location in elsewhere:
        provider.answers[DISCOVERY] = Redirect(location)
        found.append((location, Client(provider).refusal().reason))
    assert found == [(location, "discovery: redirect") for location in elsewhere]
    assert list(provider.requests) == [DISCOVERY]


@pytest.mark.promise(71)
def test_a_discovery_document_moves_once(provider, client):
    provider.answers[DISCOVERY] = Redirect("/moved")
    provider.answers["/moved"] = Redirect(DISCOVERY)
    assert client.refusal().reason == "discovery: redirect"
    assert [len(each) for each in provider.requests.values()] == [1, 1]


@pytest.mark.promise(71)
def test_nothing_else_follows_a_redirect(provider):
    provider.claims["email"] = DROP
    for path in ("/token", "/keys", "/userinfo"):
        provider.answers = {path: Redirect(provider.url("/moved"), 307)}
        assert Client(provider).refusal().reason == f"{path[1:]}: redirect"
    assert not provider.requests["/moved"]


def test_an_access_token_is_as_long_as_its_provider_likes(provider, client):
    access_token = "x" * 8200
    provider.tokens["access_token"] = access_token
    provider.claims["at_hash"] = half_hash(access_token, "RS256")
    assert client.log_in().email == "ada@example.org"
    assert not provider.requests["/userinfo"]
    provider.claims["email"] = DROP
    provider.answers["/userinfo"] = Json({"sub": "ada", "email": "ada@example.org"})
    assert client.log_in().email == "ada@example.org"
    (asked,) = provider.requests["/userinfo"]
    assert asked.headers["authorization"] == f"Bearer {access_token}"


def test_a_provider_that_refuses_our_secret_is_named(provider, client):
    provider.client_secret = "another"
    error = client.refusal()
    assert (error.status, error.reason) == (502, "token: client refused")


@pytest.mark.promise(71)
def test_a_document_of_another_issuer_is_refused(provider, client):
    provider.discovery["issuer"] = provider.issuer + "/"
    assert client.refusal().reason == "discovery: issuer"
    assert not provider.requests["/token"]


def test_a_provider_that_is_down_is_left_alone_and_found_again(provider):
    now = [time.time()]
    client = Client(provider, clock=lambda: now[0])
    with provider.down():
        error = client.refusal()
        assert (error.status, error.code) == (503, "provider_unavailable")
        assert error.detail == "Google does not answer at the moment. Try again in a few seconds."
    assert client.refusal().reason == "discovery: connection"
    now[0] += 10
    assert client.log_in().subject == "ada"


def test_only_a_confirmation_demands_a_new_login(provider, client):
    for errand in (Errand(CONNECT, user_id=7), Errand(LOG_IN)):
        assert not {"max_age", "prompt"} & client.begin(errand).keys()
    for prompt, expected in (({}, "login"), ({"prompt": "consent"}, "consent")):
        client = Client(provider, **prompt)
        account = client.log_in(errand=Errand(CONFIRM, user_id=7))
        assert abs(account.authenticated_at - time.time()) < 60
        asked = client.begin(Errand(CONFIRM, user_id=7))
        assert (asked["max_age"], asked["prompt"]) == ("0", expected)


def test_an_old_login_confirms_nothing(provider, client):
    for auth_time in (1, DROP, None, ""):
        provider.claims["auth_time"] = auth_time
        error = client.refusal(errand=Errand(CONFIRM, user_id=7))
        assert (error.status, error.reason) == (403, "auth_time")


def test_a_token_dated_back_confirms_if_the_login_is_new(provider, client):
    """Microsoft Entra sets `iat` five minutes back."""
    for age in (300, 590):
        provider.claims["iat"] = time.time() - age
        account = client.log_in(errand=Errand(CONFIRM, user_id=7))
        assert abs(account.authenticated_at - time.time()) < 60


def test_a_clock_that_is_behind_confirms_nothing(provider, client):
    provider.claims.update(iat=time.time() - 180, auth_time=time.time() - 180)
    assert client.log_in().subject == "ada"
    error = client.refusal(errand=Errand(CONFIRM, user_id=7))
    assert (error.status, error.reason) == (403, "auth_time")


def test_a_login_in_the_future_proves_nothing(provider, client):
    for errand in (Errand(CONFIRM, user_id=7), Errand(LOG_IN)):
        provider.claims["auth_time"] = time.time() + 40
        assert client.log_in(errand=errand).subject == "ada"
        provider.claims["auth_time"] = time.time() + 120
        error = client.refusal(errand=errand)
        assert (error.status, error.reason) == (502, "clock")


def test_the_userinfo_endpoint_is_asked_for_an_address_that_is_missing(provider):
    client = Client(provider, groups="roles")
    provider.userinfo.update(email="b@example.org", email_verified=False, roles=["staff"], sid="x")
    for absent in (DROP, None, ""):
        provider.claims.update(email=absent, email_verified=True, preferred_username=absent)
        account = client.log_in()
        assert (account.email, account.email_verified) == ("b@example.org", False)
        assert (account.username, account.groups) == ("ada", ("staff",))
        assert account.sid == provider.sids["ada"]
    assert len(provider.requests["/userinfo"]) == 3


def test_a_provider_without_userinfo_need_not_say_an_address(provider, client):
    provider.claims["email"] = DROP
    provider.discovery["userinfo_endpoint"] = DROP
    account = client.log_in()
    assert (account.email, account.email_verified, account.name) == ("", False, "ada")


def test_userinfo_of_another_user_is_refused(provider, client):
    provider.claims["email"] = DROP
    for subject in ("grace", DROP, None, ["ada"]):
        provider.userinfo["sub"] = subject
        assert client.refusal().reason == "userinfo: sub"


def test_a_logout_at_the_provider_is_a_url(provider, client):
    back = "https://example.org/auth/login"
    url = client.google.logout_url(back)
    assert url == (
        f"{provider.url('/logout')}?client_id={CLIENT_ID}"
        "&post_logout_redirect_uri=https%3A%2F%2Fexample.org%2Fauth%2Flogin"
    )
    provider.discovery["end_session_endpoint"] = DROP
    assert Client(provider).google.logout_url(back) is None
    with provider.down():
        assert Client(provider).google.logout_url(back) is None


def test_a_check_says_what_is_wrong(provider, client):
    assert client.google.problem() is None
    found = "The provider google cannot be used"
    for path, answer, problem in (
        (DISCOVERY, Answer(404), "(discovery: status). Check that this host can reach"),
        (
            DISCOVERY,
            Json({"issuer": "https://x.example"}),
            "(discovery: issuer). Its discovery document names",
        ),
        ("/keys", HangUp(), "(keys: connection). Check that"),
        ("/keys", Json({"keys": []}), "(keys). What it publishes"),
        ("/keys", Json({"keys": "x"}), "(keys). What it publishes"),
    ):
        provider.answers = {path: answer}
        assert Client(provider).google.problem().startswith(f"{found} {problem}")


def test_a_check_names_a_certificate(tmp_path, monkeypatch):
    with Provider(certificate=make_certificate(tmp_path, "localhost")) as provider:
        assert "SSL_CERT_FILE can name the certificates" in Client(provider).google.problem()
    certificate = make_certificate(tmp_path, "other.example.org")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Provider(certificate=certificate) as provider:
        assert "is not valid for this host" in Client(provider).google.problem()


def test_keys_that_are_no_list_are_refused(provider, client):
    provider.answers["/keys"] = Json({"keys": {}})
    assert client.refusal().reason == "keys"


def test_providers_are_in_the_order_of_the_setting(provider):
    settings = Settings(
        SECRET_KEY=SECRET_KEY,
        PUBLIC_URL="https://example.org",
        OIDC_PROVIDERS=tuple(f"{each}:https://{each}:b@example.org" for each in "ba"),
    )
    providers = Providers(settings, time.time)
    assert [each.entry.name for each in providers] == ["b", "a"]
    assert providers.find("c") is None
    assert not provider.requests


def test_a_site_has_providers_if_they_are_set():
    settings = Settings(SECRET_KEY=SECRET_KEY, PUBLIC_URL="https://example.org")
    assert Site.from_settings(settings, "/auth", FEATURES).part(Providers) is None
    settings = replace(settings, OIDC_PROVIDERS=("a:https://a:b@example.org",))
    assert (
        Site.from_settings(settings, "/auth", FEATURES).part(Providers).find("a").entry.title == "A"
    )


def test_a_site_without_the_package_is_refused(monkeypatch, provider):
    package_of_oidc = "wsgiauth.features.providers.oidc."
    for name in [each for each in sys.modules if each.startswith(package_of_oidc)]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "jwt.algorithms", None)
    with pytest.raises(ConfigurationError, match="OIDC_PROVIDERS needs the package cryptography,"):
        Client(provider)


@pytest.mark.promise(71)
def test_no_error_has_anything_that_was_sent(provider, client):
    provider.claims["nonce"] = "canary"
    provider.redirect["error_description"] = "canary"
    client.begin()
    query = client.come_back()
    with pytest.raises(ProviderError) as caught:
        client.finish(query)
    secrets = ("canary", query["code"], query["state"], CLIENT_SECRET)
    error: BaseException | None = caught.value
    while error is not None:
        shown = f"{error!r} {vars(error)}"
        assert [each for each in secrets if each in shown] == []
        error = error.__context__


@pytest.mark.promise(71)
@pytest.mark.parametrize(
    ("key", "header", "reason"),
    [
        pytest.param(signing_key("RS256", "2"), {}, "unknown key", id="another key"),
        pytest.param(
            replace(signing_key("RS256", "2"), kid="1"), {}, "signature", id="the same name"
        ),
        pytest.param(signing_key("RS256", "2"), {"kid": DROP}, "signature", id="no name"),
        pytest.param(signing_key("ES256", "2"), {}, "alg", id="another algorithm"),
    ],
)
def test_keys_that_have_changed_are_fetched_again_after_a_minute(provider, key, header, reason):
    later = [0]
    client = Client(provider, clock=lambda: time.time() + later[0])
    client.log_in()
    provider.key, provider.header = key, header
    provider.keys[:] = [key.jwk]
    provider.discovery["id_token_signing_alg_values_supported"] = [key.algorithm]
    assert client.refusal().reason == reason
    later[0] = 61
    assert client.log_in().subject == "ada"
    assert len(provider.requests["/keys"]) == 2
