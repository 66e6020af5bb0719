"""Races of passwords and sessions."""

from tests.conftest import insert_user
from tests.races.race import NOW, OTHER_PASSWORD, SETTINGS, TOKENS, Race, insert_recent_user, race
from tests.support.logins import find_session
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import change_password, hash_password
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import authenticate, freshness, password, refresh, sessions
from wsgiauth.authentication.lifetimes import DAY, HOUR, Lifetime
from wsgiauth.authentication.session_list import handle_of, revoke_by_handle
from wsgiauth.authentication.sessions import REUSED
from wsgiauth.storage import database
from wsgiauth.web.clients import Client

REFRESHABLE = Lifetime(DAY, HOUR, is_refreshable=True)
HALF_AN_HOUR_LATER = NOW + HOUR // 2


def start(user, lifetime=None):
    """Return the id of a new session."""
    return sessions.start(user, TOKENS, lifetime).session_id


def is_valid(token):
    return token is not None and find_session(token, TOKENS) is not None


def session_ids():
    return [each.id for each in Session.select()]


class _OfSession(Race):
    lifetime = None

    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        return ada, start(ada, self.lifetime)


@race(
    "A password is changed twice, by the same current one",
    "One change succeeds.",
    "one writer",
    "lock of the users",
)
class TwoPasswords(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        return ada, start(ada), start(ada), hash_password(OTHER_PASSWORD, rounds=4)

    def one(self, ada, session_id, _, hashed_password):
        return password.change(session_id, ada, hashed_password, TOKENS) is not None

    def other(self, ada, _, session_id, hashed_password):
        return password.change(session_id, ada, hashed_password, TOKENS) is not None

    def check(self, outcome, ada, *_):
        assert outcome.is_once(False)
        assert User.get_by_id(ada.id).security_stamp == 1


@race(
    "A password is changed, and hashed anew at a login",
    "The new password stays.",
    "compare and set: wsgiauth_user.security_stamp",
)
class Rehashed(Race):
    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def one(self, ada):
        change_password(ada, OTHER_PASSWORD, settings=SETTINGS)

    def other(self, ada):
        return authenticate(USERNAME, PASSWORD, rounds=5) is not None

    def check(self, outcome, ada):
        assert authenticate(USERNAME, OTHER_PASSWORD, rounds=4) == ada


@race(
    "A password is changed, and a session starts",
    "No session from before the change is valid.",
    "stamp",
)
class PasswordAndLogin(Race):
    def prepare(self):
        return (insert_recent_user(),)

    def one(self, ada):
        change_password(ada, OTHER_PASSWORD, settings=SETTINGS)

    def other(self, ada):
        issued = sessions.start(ada, TOKENS)
        return None if issued is None else issued.token

    def check(self, outcome, ada):
        assert not is_valid(outcome.other)


@race(
    "Two sessions of a user start",
    "Both are valid, and neither fails.",
    "compare and set: wsgiauth_user.last_login_at",
)
class TwoLogins(Race):
    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def one(self, ada):
        return sessions.start(ada, TOKENS).token

    def check(self, outcome, ada):
        assert is_valid(outcome.one)
        assert is_valid(outcome.other)
        assert User.get_by_id(ada.id).last_login_at is not None


@race(
    "A first session brings a language, and the user chooses another",
    "The choice stays.",
    "compare and set: wsgiauth_user.language",
)
class Languages(Race):
    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def one(self, ada):
        return sessions.start(ada, TOKENS, client=Client(language="de")) is not None

    def other(self, ada):
        return update_user(ada, language="fr")

    def check(self, outcome, ada):
        assert (outcome.one, outcome.other) == (True, True)
        assert User.get_by_id(ada.id).language == "fr"


@race(
    "A refresh token is used twice",
    "Both get the same next token.",
    "compare and set: wsgiauth_session.generation",
)
class TwoRefreshes(_OfSession):
    lifetime = REFRESHABLE

    def one(self, ada, session_id):
        return refresh.refresh(session_id, 1, TOKENS).generation

    def check(self, outcome, ada, session_id):
        assert outcome.one == outcome.other == Session.get_by_id(session_id).generation == 2


@race(
    "A refresh token is used, and one that was replaced",
    "The session ends.",
    "compare and set: wsgiauth_session.stamp",
)
class Copied(_OfSession):
    lifetime = REFRESHABLE

    def prepare(self):
        facts = super().prepare()
        Session.update(generation=3).execute()
        return facts

    def one(self, ada, session_id):
        return refresh.refresh(session_id, 3, TOKENS) is not None

    def other(self, ada, session_id):
        return refresh.refresh(session_id, 1, TOKENS) is not None

    def check(self, outcome, ada, session_id):
        assert (outcome.one, outcome.other) == (outcome.first == "one", False)
        assert Session.get_by_id(session_id).stamp == REUSED


@race(
    "A refresh token is used, while it is replaced twice",
    "The session ends.",
    "compare and set: wsgiauth_session.generation",
)
class Overtaken(_OfSession):
    lifetime = REFRESHABLE
    orders = ("one",)

    def one(self, ada, session_id):
        with database.atomic():
            return [refresh.refresh(session_id, each, TOKENS).generation for each in (1, 2)]

    def other(self, ada, session_id):
        return refresh.refresh(session_id, 1, TOKENS) is not None

    def check(self, outcome, ada, session_id):
        assert (outcome.one, outcome.other) == ([2, 3], False)
        assert Session.get_by_id(session_id).stamp == REUSED


class _Lost(_OfSession):
    """The answer to a refresh is lost, and its half minute is over."""

    lifetime = REFRESHABLE

    def prepare(self):
        ada, session_id = super().prepare()
        token = refresh.refresh(session_id, 1, TOKENS).token
        Session.update(refreshed_at=NOW - refresh.GRACE - 1).execute()
        return ada, session_id, token


@race(
    "A refresh token whose answer was lost is used twice",
    "Both get the same next token.",
    "compare and set: wsgiauth_session.generation",
)
class TwoLost(_Lost):
    def one(self, ada, session_id, _):
        return refresh.refresh(session_id, 1, TOKENS).generation

    def check(self, outcome, ada, session_id, token):
        assert outcome.one == outcome.other == Session.get_by_id(session_id).generation == 3
        assert not is_valid(token)


@race(
    "A refresh token is used again, and the access token of its answer",
    "The session ends: one of the two is a copy.",
    "compare and set: wsgiauth_session.unused",
)
class LostAndUsed(_Lost):
    def one(self, ada, session_id, _):
        return refresh.refresh(session_id, 1, TOKENS) is not None

    def other(self, ada, session_id, token):
        return is_valid(token)

    def check(self, outcome, ada, session_id, token):
        assert not is_valid(token)
        assert Session.get_by_id(session_id).stamp == REUSED


@race(
    "A session is refreshed, and revoked",
    "The session ends.",
    "compare and set: wsgiauth_session.id",
)
class RefreshedAndRevoked(_OfSession):
    lifetime = REFRESHABLE

    def one(self, ada, session_id):
        return refresh.refresh(session_id, 1, TOKENS) is not None

    def other(self, ada, session_id):
        sessions.revoke(session_id, ada)

    def check(self, outcome, ada, session_id):
        assert outcome.one is (outcome.first == "one")
        assert session_ids() == []


@race(
    "Two requests move the end of a session",
    "The end moves once, and not back.",
    "compare and set: wsgiauth_session.expires_at",
)
class TwoMoves(_OfSession):
    lifetime = Lifetime(DAY, HOUR)

    def one(self, ada, session_id):
        sessions.slide(session_id, HALF_AN_HOUR_LATER)

    def other(self, ada, session_id):
        sessions.slide(session_id, HALF_AN_HOUR_LATER + 1)

    def check(self, outcome, ada, session_id):
        moved = HALF_AN_HOUR_LATER + (outcome.first == "other") + HOUR
        assert Session.get_by_id(session_id).expires_at == moved


@race("A session is renewed twice", "It has one new id.", "compare and set: wsgiauth_session.id")
class TwoRenewals(_OfSession):
    def one(self, ada, session_id):
        return freshness.confirm(session_id, ada, TOKENS) is not None

    def check(self, outcome, ada, session_id):
        assert outcome.is_once(False)
        assert len(session_ids()) == 1


class _Renewed(_OfSession):
    def one(self, ada, session_id):
        return freshness.confirm(session_id, ada, TOKENS) is not None


@race(
    "A session is renewed, and all sessions are revoked",
    "No session remains.",
    "one writer",
    "lock of the users",
)
class RenewedAndAllRevoked(_Renewed):
    def other(self, ada, session_id):
        return sessions.revoke_all(ada)

    def check(self, outcome, ada, session_id):
        assert (outcome.one, outcome.other) == (outcome.first == "one", 1)
        assert session_ids() == []


@race(
    "A session is renewed, and revoked by its handle",
    "It is revoked, or the handle is reported as unknown.",
    "one writer",
    "lock of the users",
)
class RenewedAndRevoked(_Renewed):
    def other(self, ada, session_id):
        return revoke_by_handle(ada, handle_of(session_id), NOW) is not None

    def check(self, outcome, ada, session_id):
        assert outcome.is_once(False)  # a renewed session has another handle
        assert len(session_ids()) == (outcome.first == "one")
