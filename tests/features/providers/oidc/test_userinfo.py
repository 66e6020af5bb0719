"""What the userinfo endpoint says: plain or signed, and needed only for users who are not known."""

from dataclasses import replace

import pytest

from tests.support.oidc_clients import Client
from tests.support.provider_answers import Answer, HangUp, Json
from tests.support.provider_keys import DROP, HmacKey, NoKey, changed, signed, signing_key
from wsgiauth.features.providers.oidc.errands import CONFIRM, Errand
from wsgiauth.features.providers.oidc.remedies import remedy_of

EMAIL = "b@example.org"
OUR = "wsgiauth"


@pytest.fixture
def client(provider):
    provider.claims["email"] = DROP
    return Client(provider)


def signed_answer(provider, key=None, header=None, **claims):
    """Answer with a signed JWT (OpenID Connect Core 1.0, section 5.3.2)."""
    said = {"iss": provider.issuer, "aud": OUR, "sub": "ada", "email": EMAIL}
    token = signed(changed(said, claims), key or provider.key, header or {})
    return Answer(body=token.encode(), headers={"Content-Type": "application/jwt"})


def test_a_signed_answer_is_read(provider, client):
    for claims in (
        {},
        {"aud": [OUR, "other"]},
        {"iss": DROP, "aud": DROP},
        {"iss": None, "aud": None, "exp": None, "nbf": None},
        {"iss": "", "aud": "", "exp": "", "nbf": ""},
        {"exp": 2**40, "nbf": 1},
        {"iat": 1},
        {"iat": DROP},
    ):
        provider.answers["/userinfo"] = signed_answer(provider, **claims)
        assert (claims, client.log_in().email) == (claims, EMAIL)


def test_an_answer_is_signed_by_an_algorithm_that_is_offered_for_it(provider, client):
    key = signing_key("ES256", "2")
    provider.keys.append(key.jwk)
    provider.discovery["id_token_signing_alg_values_supported"] = ["RS256"]
    provider.answers["/userinfo"] = signed_answer(provider, key)
    assert client.refusal().reason == "userinfo: alg"
    provider.discovery["userinfo_signing_alg_values_supported"] = ["none", "HS256", "ES256"]
    client = Client(provider)
    assert client.log_in().email == EMAIL
    provider.answers["/userinfo"] = signed_answer(provider, NoKey())
    assert client.refusal().reason == "userinfo: JSON"
    provider.answers["/userinfo"] = signed_answer(provider, HmacKey(b"a secret"))
    assert client.refusal().reason == "userinfo: alg"


@pytest.mark.promise(70)
def test_a_signed_answer_that_is_wrong_is_refused(provider, client):
    other = signing_key("RS256", "2")
    wrong = [
        ({"key": other}, "unknown key"),
        ({"key": replace(other, kid="1")}, "signature"),
        ({"header": {"typ": "logout+jwt"}}, "typ"),
        ({"header": {"crit": ["exp"]}}, "crit"),
        *(({"iss": each}, "iss") for each in ("https://elsewhere.example", ["x"])),
        *(({"aud": each}, "aud") for each in ("other", ["other"], {OUR: 1})),
        ({"exp": 1}, "clock"),
        ({"nbf": 2**40}, "clock"),
        ({"exp": "soon"}, "times"),
        *(({"sub": each}, "sub") for each in ("grace", DROP)),
    ]
    found = []
    for changes, _ in wrong:
        provider.answers["/userinfo"] = signed_answer(provider, **changes)
        error = client.refusal()
        found.append((changes, error.status, error.reason))
    assert found == [(changes, 502, f"userinfo: {reason}") for changes, reason in wrong]


def test_an_answer_that_is_neither_is_refused(provider, client):
    bodies = {
        b"": "JSON",
        b"x": "JSON",
        b"a.b.c.d.e": "JSON",
        b"\xff.e.e": "JSON",
        b"a.b.c": "form",
    }
    found = {}
    for body in bodies:
        provider.answers["/userinfo"] = Answer(body=body)
        found[body] = client.refusal().reason.removeprefix("userinfo: ")
    assert found == bodies


FAILURES = {
    "status": [Answer(each) for each in (401, 404, 500)],
    "rate limit": [Answer(429)],
    "connection": [HangUp()],
    "JSON": [Json([]), Answer(body=b"a.b.c.d.e")],
    "form": [Answer(body=b"a.b.c")],
    "too large": [Answer(body=b" " * 70_000)],
    "redirect": [Answer(302, headers={"Location": "/elsewhere"})],
}


@pytest.mark.parametrize("reason", FAILURES)
def test_a_known_user_needs_no_userinfo(provider, caplog, reason):
    for answer in FAILURES[reason]:
        client = Client(provider)
        client.known.add("ada")
        provider.claims["email"] = DROP
        provider.answers["/userinfo"] = answer
        caplog.clear()
        account = client.log_in()
        assert (account.subject, account.email, account.is_partial) == ("ada", "", True)
        assert caplog.messages == [
            f"the provider google did not say who the user is (userinfo: {reason}); the account is"
            f" known, so the login goes on without it. {remedy_of(f'userinfo: {reason}')}"
        ]
        assert client.refusal(subject="grace").reason.startswith("userinfo: ")


def test_a_known_user_confirms_without_userinfo(provider, client):
    client.known.add("ada")
    provider.answers["/userinfo"] = Answer(403)
    assert client.log_in(errand=Errand(CONFIRM, user_id=7)).is_partial is True


def test_userinfo_of_another_user_is_refused_for_a_known_one_too(provider, client):
    client.known.add("ada")
    for subject in ("grace", DROP):
        provider.userinfo["sub"] = subject
        assert client.refusal().reason == "userinfo: sub"


def test_userinfo_is_needed_for_groups_that_the_token_does_not_have(provider):
    provider.claims["email"] = DROP
    client = Client(provider, groups="groups")
    client.known.add("ada")
    provider.answers["/userinfo"] = Answer(403)
    assert client.refusal().reason == "userinfo: status"
    provider.claims["groups"] = ["staff"]
    assert client.log_in().groups == ("staff",)


@pytest.fixture
def from_userinfo(provider):
    """Return a client whose groups are at the userinfo endpoint; the ID token has an address."""
    provider.claims["realm_access"] = {"roles": ["of the token"]}
    provider.userinfo["realm_access"] = {"roles": ["staff"]}
    return Client(provider, groups="realm_access.roles", groups_from="userinfo")


def test_groups_can_be_those_of_userinfo_alone(provider, from_userinfo):
    account = from_userinfo.log_in()
    assert (account.groups, account.email) == (("staff",), "ada@example.org")
    provider.userinfo["realm_access"] = DROP
    assert from_userinfo.log_in().groups == ()
    assert len(provider.requests["/userinfo"]) == 2


def test_groups_of_userinfo_are_needed_for_users_who_are_known_too(provider, from_userinfo):
    from_userinfo.known.add("ada")
    provider.answers["/userinfo"] = Answer(403)
    assert from_userinfo.refusal().reason == "userinfo: status"


def test_groups_of_userinfo_are_of_the_same_user(provider, from_userinfo):
    provider.userinfo["sub"] = "grace"
    assert from_userinfo.refusal().reason == "userinfo: sub"


def test_groups_of_userinfo_that_are_left_out_are_unknown(provider, from_userinfo, caplog):
    provider.userinfo.update(realm_access=DROP, _claim_names={"realm_access": "src1"})
    assert from_userinfo.log_in().groups is None
    assert "omitted the groups" in caplog.text


def test_groups_of_userinfo_need_the_endpoint(provider, from_userinfo):
    provider.discovery["userinfo_endpoint"] = DROP
    assert from_userinfo.refusal().reason == "discovery: userinfo_endpoint"
    assert "discovery: userinfo_endpoint" in from_userinfo.google.problem()


@pytest.mark.promise(71)
def test_a_userinfo_endpoint_that_cannot_be_reached_alone_is_left_alone(provider, client, caplog):
    client.known.add("ada")
    provider.answers["/userinfo"] = HangUp()
    assert [client.log_in().subject for _ in range(3)] == ["ada"] * 3
    assert len(provider.requests["/userinfo"]) == 1
    assert len(provider.requests["/token"]) == 3
    assert "userinfo: left alone" in caplog.text
