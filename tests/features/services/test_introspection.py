"""Introspection: which tokens are active, what they permit, and what a question costs."""

from dataclasses import replace
from pathlib import Path

import jwt
import pytest
from jwt.algorithms import HMACAlgorithm

from tests.support.factors import FACTOR_KEY
from tests.support.logins import sessions_of
from tests.support.service_keys import ISSUER, REPORTS, service_tokens, with_services, write_key
from tests.support.settings import LONG_KEY
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import Group, User, hash_password
from wsgiauth.accounts import create_user
from wsgiauth.accounts.tables import Key, Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.lifetimes import Lifetime
from wsgiauth.authentication.methods import ONE_TIME_CODE
from wsgiauth.authentication.methods import PASSWORD as BY_PASSWORD
from wsgiauth.authentication.refresh import RefreshTokens
from wsgiauth.authentication.session_list import handle_of
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.features.keys import api_keys
from wsgiauth.features.keys.introspection import DescribedKeys
from wsgiauth.features.services.introspection import Introspector
from wsgiauth.features.services.service_tokens import Proof

pytestmark = pytest.mark.promise(66)

START = 2_000_000_000  # seconds since the epoch, when these tests happen
DAY = 86400
DESCRIBED = {"strings": (DescribedKeys(),), "claims": ()}
DEMANDED = {"SECOND_FACTOR": "all", "FACTOR_KEY": FACTOR_KEY}


class Service:
    """A site, its clock, and what another service learns about tokens."""

    def __init__(self, settings):
        self.now = START
        self.settings = settings
        self.tokens = Tokens(settings, clock=lambda: self.now)
        self.services = service_tokens(settings, lambda: self.now)

    def describe(self, token, **changes):
        settings = replace(self.settings, **changes)
        sessions = sessions_of(settings, self.tokens)
        return Introspector(self.tokens, sessions, self.services, **DESCRIBED).describe(token)

    def access_token(self, user, lifetime=None, methods=BY_PASSWORD):
        return sessions.start(user, self.tokens, lifetime, methods=methods).token

    def key(self, user, *permissions):
        return api_keys.create(user, "export", permissions, now=self.now).text

    def token_of_session(self, user, *scope, methods=BY_PASSWORD):
        session_id = self.tokens.verify(self.access_token(user, methods=methods), self.now)[1]
        proof = Proof(self.now, methods)
        return self._issue(user, scope, handle_of(session_id), proof)

    def token_of_key(self, user, *scope):
        return self._issue(user, scope, api_keys.id_of(self.key(user, *scope)), None)

    def _issue(self, user, scope, sid, proof):
        return self.services.issue(user.id, REPORTS, scope=scope, sid=sid, proof=proof)


@pytest.fixture
def settings(settings, tmp_path):
    return with_services(settings, write_key(tmp_path / "key.pem"))


@pytest.fixture
def service(database, settings):
    return Service(settings)


@pytest.fixture
def ada(database, settings):
    user = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    user.grant("a.read", "a.write")
    return user


# What an answer says


@pytest.mark.every_database
def test_an_access_token_is_described_by_its_claims_and_the_user(service, ada):
    assert service.describe(service.access_token(ada)) == {
        "active": True,
        "sub": str(ada.id),
        "username": USERNAME,
        "scope": "a.read a.write",
        "token_type": "bearer",
        "iat": START,
        "exp": START + service.tokens.lifetime,
    }


def test_the_issuer_and_the_audience_of_an_access_token_are_in_the_answer(settings, database, ada):
    service = Service(replace(settings, JWT_ISSUER="https://a.example", JWT_AUDIENCE="shop"))
    described = service.describe(service.access_token(ada))
    assert (described["iss"], described["aud"]) == ("https://a.example", "shop")


@pytest.mark.every_database
def test_an_api_key_is_described_by_its_row_and_its_owner(service, ada):
    assert service.describe(service.key(ada, "a.read")) == {
        "active": True,
        "sub": str(ada.id),
        "username": USERNAME,
        "scope": "a.read",
        "token_type": "bearer",
        "iat": START,
        "exp": START + api_keys.DEFAULT_DAYS * DAY,
    }


WITH_SCOPE = [Service.key, Service.token_of_session, Service.token_of_key]
SERVICE_TOKENS = [Service.token_of_session, Service.token_of_key]


@pytest.mark.every_database
def test_a_service_token_is_described_by_its_claims_and_the_user(service, ada):
    described = {
        "active": True,
        "sub": str(ada.id),
        "username": USERNAME,
        "scope": "a.read",
        "token_type": "bearer",
        "iss": ISSUER,
        "aud": REPORTS,
        "client_id": "wsgiauth",
        "iat": START,
        "exp": START + service.services.lifetime,
    }
    for make_token in SERVICE_TOKENS:
        assert service.describe(make_token(service, ada, "a.read")) == described


def test_the_scope_has_the_permissions_of_groups(service, ada):
    group = Group.objects.create(name="Editors")
    group.grant("b.read")
    ada.join(group)
    assert service.describe(service.access_token(ada))["scope"] == "a.read a.write b.read"


def test_the_scope_loses_what_the_user_loses_at_once(service, ada):
    of_all = [make(service, ada, "a.read", "a.write") for make in WITH_SCOPE]
    tokens = [service.access_token(ada), *of_all]
    ada.revoke("a.read")
    assert [service.describe(each)["scope"] for each in tokens] == ["a.write"] * 4


def promote(user):
    user.is_superuser = True
    user.save()


def test_of_a_superuser_the_scope_has_what_is_granted_or_was_asked_for(service, ada):
    promote(ada)
    assert service.describe(service.access_token(ada))["scope"] == "a.read a.write"
    tokens = [make(service, ada, "other.read") for make in WITH_SCOPE]
    assert [service.describe(each)["scope"] for each in tokens] == ["other.read"] * 3


def test_a_superuser_who_is_one_no_more_loses_the_scope_of_service_tokens(service, ada, grace):
    promote(ada)
    promote(grace)
    tokens = [make(service, ada, "a.read", "other.read") for make in WITH_SCOPE]
    ada.is_superuser = False
    ada.save()
    assert [service.describe(each)["scope"] for each in tokens] == ["a.read"] * 3


def test_a_service_token_is_found_among_any_number_of_sessions(service, ada):
    token = service.token_of_session(ada)
    row = {"user": ada.id, "stamp": ada.security_stamp, "expires_at": 2 * START}
    Session.insert_many([{"id": str(number), **row} for number in range(1001)]).execute()
    assert service.describe(token) is not None


# What is not active


def expire(service, user):
    service.now += 1000 * DAY


def revoke(service, user):
    sessions.revoke_all(user)
    Key.delete().execute()


def delete(service, user):
    user.delete_instance()


def deactivate(service, user):
    user.is_active = False
    user.save()


def deactivate_in_the_database(service, user):
    User.update(is_active=False).execute()


ENDINGS = [expire, revoke, delete, deactivate, deactivate_in_the_database]
TOKENS = [Service.access_token, Service.key, *SERVICE_TOKENS]


def selects_without_an_answer(service, queries, token):
    """Return how many statements a question about a token costs that is not active."""
    described = []
    sent = queries(lambda: described.append(service.describe(token)))
    assert described == [None], token
    return len(sent)


@pytest.mark.every_database
@pytest.mark.parametrize("end", ENDINGS)
def test_what_has_ended_is_not_active_and_costs_one_select(service, ada, queries, end):
    tokens = [make(service, ada) for make in TOKENS]
    end(service, ada)
    costs = [selects_without_an_answer(service, queries, each) for each in tokens]
    assert costs == [1] * len(TOKENS)


OF_SESSION = [Service.access_token, Service.token_of_session]
OF_KEY = [Service.key, Service.token_of_key]


def test_a_new_password_ends_what_was_made_with_a_session_alone(service, ada):
    tokens = [make(service, ada) for make in (*OF_SESSION, *OF_KEY)]
    ada.hashed_password = hash_password("another four words", rounds=4)
    ada.save()
    assert [bool(service.describe(each)) for each in tokens] == [False, False, True, True]


def of_another_site(service, user):
    other = Tokens(replace(service.settings, SECRET_KEY=LONG_KEY), clock=service.tokens.now)
    return sessions.start(user, other).token


def of_another_issuer(service, user):
    other = Tokens(replace(service.settings, JWT_ISSUER="https://b.example"))
    return sessions.start(user, other).token


def refresh_token(service, user):
    issued = sessions.start(user, service.tokens, Lifetime(DAY, is_refreshable=True))
    return RefreshTokens(service.settings).issue(issued.session_id, issued.generation)


def of_another_service(service, user):
    other = service_tokens(replace(service.settings, SERVICES=("others",)), lambda: service.now)
    return other.issue(user.id, "others", scope=(), sid="0" * 16, proof=None)


def signed_by_another_key(service, user):
    path = Path(service.settings.SERVICE_KEYS)
    kept, service.services = (
        service.services,
        service_tokens(
            replace(service.settings, SERVICE_KEYS=str(write_key(path.with_name("other.pem")))),
            lambda: service.now,
        ),
    )
    token, service.services = service.token_of_session(user), kept
    return token


def of_a_session_that_is_another_one_s(service, user):
    other = create_user("Grace", "grace@example.org", PASSWORD, settings=service.settings)
    handle = handle_of(service.tokens.verify(service.access_token(other), service.now)[1])
    return service._issue(user, (), handle, Proof(service.now, BY_PASSWORD))


def mistyped_key(service, user):
    return service.key(user)[:-1] + "-"


def key_with_another_secret(service, user):
    key_id = api_keys.id_of(service.key(user))
    unchecked = f"{api_keys.PREFIX}{key_id}_{'0' * 43}"
    return unchecked + api_keys._checksum(unchecked)


def unsigned(service, user):
    return jwt.encode({"sub": "1"}, "", "none")


def forged(service, user):
    return service.access_token(user)[:-4] + "AAAA"


GARBAGE = ["", "garbage", "x" * 16_000, "\x00\ud7ff\n"]
FOREIGN = [
    unsigned,
    forged,
    of_another_site,
    of_another_issuer,
    of_another_service,
    signed_by_another_key,
    of_a_session_that_is_another_one_s,
    refresh_token,
    mistyped_key,
    key_with_another_secret,
]


def test_anything_else_is_not_active_and_costs_one_select(service, ada, queries):
    tokens = [*GARBAGE, *(make(service, ada) for make in FOREIGN)]
    costs = [selects_without_an_answer(service, queries, each) for each in tokens]
    assert costs == [1] * len(tokens)


def test_asked_again_no_token_costs_a_signature(service, ada, monkeypatch):
    tokens, verified = [service.access_token(ada), forged(service, ada)], []
    stored = sessions_of(service.settings, service.tokens)
    introspector = Introspector(service.tokens, stored, service.services, **DESCRIBED)
    for token in tokens:
        introspector.describe(token)
    verify = HMACAlgorithm.verify
    monkeypatch.setattr(
        HMACAlgorithm, "verify", lambda *args: verified.append(args) or verify(*args)
    )
    for token in tokens:
        introspector.describe(token)
    assert verified == []


def test_a_session_without_the_second_factor_that_the_site_demands_is_not_active(service, ada):
    methods = (BY_PASSWORD, f"{BY_PASSWORD} {ONE_TIME_CODE}")
    tokens = [make(service, ada, methods=each) for make in OF_SESSION for each in methods]
    found = [service.describe(each, **DEMANDED) for each in tokens]
    assert [bool(each) for each in found] == [False, True, False, True]


# A question is no use


@pytest.mark.every_database
def test_a_question_moves_no_end_of_a_session(service, ada):
    token = service.access_token(ada, Lifetime(30 * DAY, idle=DAY))
    service.now += DAY // 2
    assert service.describe(token) is not None
    assert Session.get().expires_at == START + DAY


def test_a_question_does_not_count_as_the_use_of_a_key(service, ada):
    service.describe(service.key(ada))
    assert Key.get().last_used_at is None


def test_a_question_about_an_active_token_costs_two_selects(service, ada, queries):
    for token in [make(service, ada) for make in TOKENS]:
        sent = queries(lambda token=token: service.describe(token))
        assert [sql.split()[0] for sql in sent] == ["SELECT", "SELECT"]
