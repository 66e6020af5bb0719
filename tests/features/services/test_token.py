"""POST /auth/token: who gets a token for another service, and with which scope."""

import time
from dataclasses import replace

import jwt
import pytest

from tests.support.factors import FACTOR_KEY
from tests.support.logins import make_stale
from tests.support.service_keys import MAPS, MAPS_TOO, REPORTS, with_services, write_key
from tests.support.sites import BROWSER, SAME_ORIGIN
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Key, Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.session_list import handle_of
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.keys import api_keys
from wsgiauth.features.services.service_tokens import MAX_SCOPE
from wsgiauth.testing import api_key

TOKEN = "/auth/token"


@pytest.fixture
def settings(settings, tmp_path):
    """Return settings with a key for services."""
    return with_services(settings, write_key(tmp_path / "key"), AUDIT_DAYS=0)


def ask(client, headers, scope=None, audience=REPORTS, status=200):
    fields = {"audience": audience} | ({} if scope is None else {"scope": scope})
    return client.post_json(TOKEN, fields, headers=headers, status=status).json


def claims_of(answer):
    return jwt.decode(answer["access_token"], options={"verify_signature": False})


def test_a_session_gets_a_token_that_names_its_user_and_itself(client, ada, tokens):
    ada.grant("reports.read")
    session = sessions.start(ada, tokens, methods="pwd otp")
    headers = {"Authorization": f"Bearer {session.token}"}
    before = int(time.time())
    answered = client.post_json(TOKEN, {"audience": MAPS, "scope": "reports.read"}, headers=headers)
    answer = answered.json
    claims = claims_of(answer)
    assert {name: answer[name] for name in ("token_type", "expires_in", "scope")} == {
        "token_type": "bearer",
        "expires_in": 300,
        "scope": "reports.read",
    }
    assert answered.headers["Cache-Control"] == "no-store"
    assert (claims["sub"], claims["aud"], claims["scope"]) == (str(ada.id), MAPS, "reports.read")
    assert (claims["sid"], claims["amr"]) == (handle_of(session.session_id), ["pwd", "otp"])
    assert before <= claims["iat"] == claims["exp"] - 300 <= time.time()
    assert claims["iat"] - 5 <= claims["auth_time"] <= claims["iat"]


def test_the_time_of_the_proof_is_that_of_the_session(client, ada, bearer):
    headers = bearer(ada)
    make_stale()
    claims = claims_of(ask(client, headers))
    assert 3590 <= claims["iat"] - claims["auth_time"] <= 3610


def test_an_api_key_gets_a_token_without_a_proof(client, ada):
    ada.grant("reports.read")
    claims = claims_of(ask(client, api_key(client.app, ada, ["reports.read"]), "reports.read"))
    assert (claims["sub"], claims["sid"]) == (str(ada.id), Key.get().id)
    assert {"auth_time", "amr"}.isdisjoint(claims)


@pytest.mark.promise(17)
def test_the_cookie_counts_from_the_same_origin_alone(client, ada, tokens):
    client.set_cookie("wsgiauth", sessions.start(ada, tokens).token)
    for headers, status in (
        (SAME_ORIGIN, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 401),
        ({"Sec-Fetch-Site": "same-site"}, 401),
    ):
        ask(client, {**headers, "Accept": "application/json"}, status=status)


@pytest.mark.promise(65)
def test_the_scope_is_what_was_asked_for_and_the_user_has(client, ada, bearer):
    ada.grant("reports.read", "reports.list")
    group = Group.objects.create(name="Surveyors")
    group.grant("maps.draw")
    ada.join(group)
    headers = bearer(ada)
    granted = {
        None: "",
        "": "",
        "reports.read": "reports.read",
        "reports.write": "",
        "maps.draw": "maps.draw",  # of the group
        "maps.draw maps.x reports.read": "maps.draw reports.read",
        "reports.read reports.read": "reports.read",
        " ".join(["a.b"] * 375): "",  # the longest one
    }
    answers = {asked: ask(client, headers, asked) for asked in granted}
    assert {asked: each["scope"] for asked, each in answers.items()} == granted
    assert {asked: claims_of(each)["scope"] for asked, each in answers.items()} == granted


@pytest.mark.promise(65)
def test_a_superuser_has_the_scope_that_was_asked_for(client, ada, bearer):
    User.update(is_superuser=True).execute()
    assert ask(client, bearer(ada), "maps.draw reports.read")["scope"] == "maps.draw reports.read"
    assert ask(client, bearer(ada))["scope"] == ""


@pytest.mark.promise(65)
def test_the_scope_of_an_api_key_is_within_its_permissions_and_its_owners(client, ada):
    ada.grant("reports.read", "maps.draw")
    headers = api_key(client.app, ada, ["reports.read"])
    for is_superuser in (False, True):
        User.update(is_superuser=is_superuser).execute()
        assert ask(client, headers, "maps.draw reports.read")["scope"] == "reports.read"
    User.update(is_superuser=False).execute()
    ada.revoke("reports.read")
    assert ask(client, headers, "reports.read")["scope"] == ""


REFUSED_SCOPES = {
    "no permission": "openid",
    "two spaces": "reports.read  maps.draw",
    "a space at the beginning": " reports.read",
    "a tab": "reports.read\tmaps.draw",
    "quotes": 'reports."read"',
    "no ASCII": "réports.read",
    "too long": " ".join(["a.b"] * 376),
}


def test_another_scope_is_refused(client, ada, bearer):
    assert len(REFUSED_SCOPES["too long"]) == MAX_SCOPE + 3  # one permission less is accepted
    headers = bearer(ada)
    answers = {
        name: ask(client, headers, scope, status="*") for name, scope in REFUSED_SCOPES.items()
    }
    found = {name: each.get("code") for name, each in answers.items()}
    assert found == dict.fromkeys(REFUSED_SCOPES, "invalid_scope")
    shown = [name for name, scope in REFUSED_SCOPES.items() if scope in answers[name]["detail"]]
    assert shown == []


def test_the_audience_is_spelt_as_in_the_settings(client, ada, bearer):
    assert claims_of(ask(client, bearer(ada), audience=MAPS_TOO))["aud"] == MAPS


def test_a_service_that_the_site_does_not_know_is_refused(client, ada, bearer):
    headers = bearer(ada)
    audiences = ["", "other", "Reports", "reports maps", f"{MAPS}/"]
    found = {each: ask(client, headers, audience=each, status=400)["code"] for each in audiences}
    assert found == dict.fromkeys(audiences, "invalid_target")


def test_a_malformed_body_a_form_or_another_method_is_refused(client, ada, bearer):
    token = bearer(ada)
    headers = {**token, "Content-Type": "application/json"}
    for body in (b"", b"[]", b'{"audience": ["reports"]}', b'{"audience": "reports", "scope": []}'):
        assert client.post(TOKEN, body, headers=headers, status=400).json["code"] == "malformed"
    client.post(TOKEN, {"audience": REPORTS}, headers=token, status=415)
    client.get(TOKEN, params={"audience": REPORTS}, headers=token, status=405)


def test_an_anonymous_client_is_challenged_and_a_browser_sent_to_the_login_page(client):
    challenge = 'Bearer realm="wsgiauth"'
    refused = client.post_json(TOKEN, {"audience": REPORTS}, status=401)
    assert refused.headers["WWW-Authenticate"] == challenge
    assert refused.json["code"] == "unauthenticated"
    headers = {"Authorization": "Bearer rejected"}
    refused = client.post_json(TOKEN, {"audience": REPORTS}, headers=headers, status=401)
    assert refused.headers["WWW-Authenticate"] == f'{challenge}, error="invalid_token"'
    sent = client.post_json(TOKEN, {"audience": REPORTS}, headers=BROWSER, status=302)
    assert sent.headers["Location"].startswith("/auth/login")


def test_a_session_that_ends_meanwhile_gets_none(client, ada, bearer, monkeypatch):
    headers = bearer(ada)

    def ended(session_id):
        Session.delete().execute()
        return handle_of(session_id)

    monkeypatch.setattr("wsgiauth.features.services.token.handle_of", ended)
    assert ask(client, headers, status=401)["code"] == "invalid_token"


def test_a_deactivated_user_gets_none(client, ada, bearer):
    headers = bearer(ada)
    User.update(is_active=False).execute()
    ask(client, headers, status=401)


def test_it_writes_nothing(client, ada, bearer, queries):
    headers = bearer(ada)
    events = RecordedEvent.select().count()
    sent = queries(lambda: ask(client, headers, "reports.read"))
    assert {each.split()[0] for each in sent} == {"SELECT"}
    assert len(sent) <= 4
    assert RecordedEvent.select().count() == events


class TestDemandingASecondFactor:
    """A site that demands a second factor of all."""

    @pytest.fixture
    def settings(self, settings):
        return replace(settings, FACTOR_KEY=FACTOR_KEY, SECOND_FACTOR="all")

    def test_a_session_without_one_gets_no_token(self, client, ada, bearer):
        assert ask(client, bearer(ada), status=401)["code"] == "second_factor_setup_required"

    def test_a_session_with_one_gets_a_token(self, client, ada, tokens):
        token = sessions.start(ada, tokens, methods="pwd otp").token
        assert ask(client, {"Authorization": f"Bearer {token}"})["token_type"] == "bearer"


class TestWithBasic:
    """A site that accepts API keys in Basic authentication."""

    @pytest.fixture
    def settings(self, settings):
        return replace(settings, BASIC_AUTH="keys")

    def test_a_key_gets_a_token(self, client, ada):
        made = api_keys.create(ada, "git", (), now=time.time())
        client.authorization = ("Basic", ("ada", made.text))
        assert claims_of(ask(client, {}))["sid"] == made.row.id

    def test_the_challenge_is_for_both(self, client):
        refused = client.post_json(TOKEN, {"audience": REPORTS}, status=401)
        schemes = [each.split()[0] for each in refused.headers.getall("WWW-Authenticate")]
        assert schemes == ["Basic", "Bearer"]
