"""POST /auth/token: who gets a token for another service, and with which scope."""

import time
from dataclasses import replace

import jwt
import pytest

from tests.support.factors import FACTOR_KEY
from tests.support.logins import make_stale
from tests.support.service_keys import MAPS, REPORTS, with_services, write_key
from tests.support.sites import BROWSER, SAME_ORIGIN
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Key, Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.session_list import handle_of
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.keys import api_keys as keys
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
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        pytest.param(SAME_ORIGIN, 200, id="same origin"),
        pytest.param({"Sec-Fetch-Site": "cross-site"}, 401, id="cross-site"),
        pytest.param({"Sec-Fetch-Site": "same-site"}, 401, id="another host of the site"),
    ],
)
def test_the_cookie_counts_from_the_same_origin_alone(client, ada, tokens, headers, status):
    client.set_cookie("wsgiauth", sessions.start(ada, tokens).token)
    ask(client, {**headers, "Accept": "application/json"}, status=status)


@pytest.mark.promise(65)
@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        pytest.param(None, "", id="nothing"),
        pytest.param("", "", id="an empty one"),
        pytest.param("reports.read", "reports.read", id="one that the user has"),
        pytest.param("reports.write", "", id="one that the user lacks"),
        pytest.param("maps.draw", "maps.draw", id="one of a group"),
        pytest.param(
            "maps.draw maps.x reports.read", "maps.draw reports.read", id="in their order"
        ),
        pytest.param("reports.read reports.read", "reports.read", id="twice"),
    ],
)
def test_the_scope_is_what_was_asked_for_and_the_user_has(client, ada, bearer, asked, granted):
    ada.grant("reports.read", "reports.list")
    group = Group.objects.create(name="Surveyors")
    group.grant("maps.draw")
    ada.join(group)
    answer = ask(client, bearer(ada), asked)
    assert (answer["scope"], claims_of(answer)["scope"]) == (granted, granted)


@pytest.mark.promise(65)
def test_a_superuser_has_the_scope_that_was_asked_for(client, ada, bearer):
    User.update(is_superuser=True).execute()
    assert ask(client, bearer(ada), "maps.draw reports.read")["scope"] == "maps.draw reports.read"
    assert ask(client, bearer(ada))["scope"] == ""


@pytest.mark.promise(65)
@pytest.mark.parametrize("is_superuser", [False, True], ids=["user", "superuser"])
def test_the_scope_of_an_api_key_is_within_its_permissions(client, ada, is_superuser):
    ada.grant("reports.read", "maps.draw")
    headers = api_key(client.app, ada, ["reports.read"])
    User.update(is_superuser=is_superuser).execute()
    assert ask(client, headers, "maps.draw reports.read")["scope"] == "reports.read"


@pytest.mark.promise(65)
def test_the_scope_of_an_api_key_is_within_its_owners_permissions(client, ada):
    ada.grant("reports.read")
    headers = api_key(client.app, ada, ["reports.read"])
    ada.revoke("reports.read")
    assert ask(client, headers, "reports.read")["scope"] == ""


def test_the_longest_scope_is_accepted(client, ada, bearer):
    asked = " ".join(["a.b"] * 375)
    assert len(asked) == MAX_SCOPE - 1
    assert ask(client, bearer(ada), asked)["scope"] == ""


@pytest.mark.parametrize(
    "scope",
    [
        pytest.param("openid", id="no permission"),
        pytest.param("reports.read  maps.draw", id="two spaces"),
        pytest.param(" reports.read", id="a space at the beginning"),
        pytest.param("reports.read\tmaps.draw", id="a tab"),
        pytest.param('reports."read"', id="quotes"),
        pytest.param("réports.read", id="no ASCII"),
        pytest.param(" ".join(["a.b"] * 376), id="too long"),
    ],
)
def test_another_scope_is_refused(client, ada, bearer, scope):
    answer = ask(client, bearer(ada), scope, status=400)
    assert answer["code"] == "invalid_scope"
    assert scope not in answer["detail"]


@pytest.mark.parametrize("audience", ["", "other", "Reports", "reports maps", f"{MAPS}/"])
def test_a_service_that_the_site_does_not_know_is_refused(client, ada, bearer, audience):
    assert ask(client, bearer(ada), audience=audience, status=400)["code"] == "invalid_target"


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"audience": ["reports"]}', b'{"audience": "reports", "scope": []}']
)
def test_a_malformed_body_is_refused(client, ada, bearer, body):
    headers = {**bearer(ada), "Content-Type": "application/json"}
    assert client.post(TOKEN, body, headers=headers, status=400).json["code"] == "malformed"


def test_a_form_is_refused(client, ada, bearer):
    client.post(TOKEN, {"audience": REPORTS}, headers=bearer(ada), status=415)


def test_no_get_issues_a_token(client, ada, bearer):
    client.get(TOKEN, params={"audience": REPORTS}, headers=bearer(ada), status=405)


def test_an_anonymous_client_is_challenged(client):
    refused = client.post_json(TOKEN, {"audience": REPORTS}, status=401)
    assert refused.headers["WWW-Authenticate"] == 'Bearer realm="wsgiauth"'
    assert refused.json["code"] == "unauthenticated"


def test_rejected_credentials_are_challenged(client):
    headers = {"Authorization": "Bearer rejected"}
    refused = client.post_json(TOKEN, {"audience": REPORTS}, headers=headers, status=401)
    assert refused.headers["WWW-Authenticate"] == 'Bearer realm="wsgiauth", error="invalid_token"'


def test_an_anonymous_browser_is_sent_to_the_login_page(client):
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
        made = keys.create(ada, "git", (), now=time.time())
        client.authorization = ("Basic", ("ada", made.text))
        assert claims_of(ask(client, {}))["sid"] == made.row.id

    def test_the_challenge_is_for_both(self, client):
        refused = client.post_json(TOKEN, {"audience": REPORTS}, status=401)
        schemes = [each.split()[0] for each in refused.headers.getall("WWW-Authenticate")]
        assert schemes == ["Basic", "Bearer"]
