"""Races of other apps that users log in to."""

from tests.conftest import insert_user
from tests.races.race import NOW, OTHER_PASSWORD, SETTINGS, TOKENS, Race, race
from tests.support.logins import sessions_of
from tests.support.oauth_apps import store_registration
from tests.support.sites import EMAIL, USERNAME
from wsgiauth import change_password, events, storage
from wsgiauth.accounts import update_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import freshness, sessions
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.features.oauth_server import app_sessions, clients, devices, grants
from wsgiauth.features.oauth_server.grants import Code, Grants
from wsgiauth.features.oauth_server.logouts import EndedSessions
from wsgiauth.features.oauth_server.registration import keep_client
from wsgiauth.features.oauth_server.tables import (
    AppSession,
    Client,
    Consent,
    DeviceRequest,
    Grant,
)
from wsgiauth.storage.upkeep import purge_expired
from wsgiauth.web.clients import Client as Origin

URI = "https://wiki.example.org/callback"
GRANT, OTHER_GRANT = "A" * 22, "B" * 22
SCOPES = ["openid", "profile"]
GRANTS = Grants(SETTINGS, sessions_of(SETTINGS, Tokens(SETTINGS)))
LATER = 2**40  # seconds since the epoch


def code_of(ada, client, session_id, grant_id=GRANT):
    """Return what a code grants that was just made."""
    stamp, scope = ada.security_stamp, " ".join(SCOPES)
    return Code(grant_id, client.id, ada.id, stamp, session_id, URI, "", "", scope, "")


def redeem(code, client):
    """Return whether a code works."""
    return GRANTS.redeem(code, client, NOW) is not None


def refresh(generation):
    """Return the number of the next refresh token, or None."""
    grant = GRANTS.find(GRANT, NOW)
    if grant is None or not grants.refresh(grant, generation, SETTINGS, NOW):
        return None
    return grant.generation


def valid():
    """Return the ids of the valid grants."""
    return [each.id for each in Grant.select() if GRANTS.find(each.id, NOW) is not None]


def deactivate(ada):
    return update_user(User.get_by_id(ada.id), is_active=False) is not None


class _OfApp(Race):
    """A user with a session, and an app that the user has allowed."""

    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        client = clients.create("Wiki", [URI], now=NOW).row
        grants.allow(client, ada, SCOPES, NOW)
        session_id = sessions.start(ada, TOKENS).session_id
        return ada, client, session_id


class _Redeeming(_OfApp):
    """A code is used."""

    def one(self, ada, client, session_id):
        return redeem(code_of(ada, client, session_id), client)

    def check(self, outcome, *_):
        assert outcome.one is (outcome.first == "one")
        assert valid() == []


class _Refreshing(_OfApp):
    """A refresh token is used by a process that has found its grant valid."""

    def prepare(self):
        ada, client, session_id = super().prepare()
        assert redeem(code_of(ada, client, session_id), client)
        return ada, client, session_id, GRANTS.find(GRANT, NOW)

    def one(self, ada, client, session_id, grant):
        return grants.refresh(grant, 1, SETTINGS, NOW)

    def check(self, outcome, *_):
        assert valid() == []


class _Revoking:
    def other(self, ada, client, *_):
        return grants.revoke(ada, client.id, NOW)


class _LoggingOut:
    def other(self, ada, client, session_id, *_):
        sessions.revoke(session_id, ada)


class _ChangingPassword:
    def other(self, ada, *_):
        change_password(ada, OTHER_PASSWORD, settings=SETTINGS)


class _Deactivating:
    def other(self, ada, *_):
        return deactivate(ada)


class _Removing:
    def other(self, ada, client, *_):
        return clients.remove(client)

    def check(self, outcome, *_):
        assert outcome.other is True
        assert Grant.select().count() == Client.select().count() == 0


@race("An app is allowed twice", "All that was allowed remains.", "one writer", "lock of the users")
class AllowedTwice(_OfApp):
    def one(self, ada, client, _):
        return grants.allow(client, ada, ["email"], NOW)

    def other(self, ada, client, _):
        return grants.allow(client, ada, ["groups"], NOW)

    def check(self, outcome, *_):
        assert (outcome.one, outcome.other) == (True, True)
        assert Consent.get().scopes == "email groups openid profile"


@race(
    "An app is allowed, and its client removed",
    "No consent remains.",
    "one writer",
    "foreign key: wsgiauth_oauth_consent.client_id",
)
class AllowedAndRemoved(_Removing, Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        return ada, clients.create("Wiki", [URI], now=NOW).row

    def one(self, ada, client):
        return grants.allow(client, ada, SCOPES, NOW)

    def check(self, outcome, *_):
        assert (outcome.one, outcome.other) == (outcome.first == "one", True)
        assert Consent.select().count() == Client.select().count() == 0


@race(
    "An authorization code is used twice",
    "It works once, and what it gave ends.",
    "one writer",
    "lock of the users",
)
class CodeTwice(_Redeeming):
    def check(self, outcome, *_):
        assert outcome.is_once(False)
        assert valid() == []


@race(
    "Two authorization codes of a session are used",
    "Both grants have one `sid`.",
    "one writer",
    "lock of the users",
)
class TwoCodes(_Redeeming):
    def other(self, ada, client, session_id):
        return redeem(code_of(ada, client, session_id, OTHER_GRANT), client)

    def check(self, outcome, *_):
        assert (outcome.one, outcome.other) == (True, True)
        assert len({each.sid for each in Grant.select()}) == 1


@race(
    "An authorization code is used, and the app revoked",
    "No grant is valid.",
    "one writer",
    "lock of the users",
)
class CodeAndRevocation(_Revoking, _Redeeming):
    pass


@race(
    "An authorization code is used, and its session revoked",
    "No grant is valid.",
    "one writer",
    "foreign key: wsgiauth_oauth_grant.session_id",
)
class CodeAndLogout(_LoggingOut, _Redeeming):
    pass


@race(
    "An authorization code is used, and its session renewed",
    "The grant has the session, or the code does not work.",
    "one writer",
    "lock of the users",
)
class CodeAndProof(_Redeeming):
    def other(self, ada, client, session_id):
        return freshness.confirm(session_id, ada, TOKENS) is not None

    def check(self, outcome, *_):
        assert (outcome.one, outcome.other) == (outcome.first == "one", True)
        assert [each.session_id for each in Grant.select()] == (
            [Session.get().id] if outcome.one else []
        )
        assert valid() == ([GRANT] if outcome.one else [])


@race(
    "An authorization code is used, and the password changed",
    "No grant is valid.",
    "one writer",
    "lock of the users",
)
class CodeAndPassword(_ChangingPassword, _Redeeming):
    pass


@race(
    "An authorization code is used, and the user deactivated",
    "No grant is valid.",
    "one writer",
    "lock of the users",
)
class CodeAndDeactivation(_Deactivating, _Redeeming):
    pass


@race(
    "An authorization code is used, and its client removed",
    "No grant remains.",
    "one writer",
    "foreign key: wsgiauth_oauth_grant.client_id",
)
class CodeAndRemoval(_Removing, _Redeeming):
    pass


@race(
    "A refresh token of an app is used twice",
    "Both get the same next token.",
    "compare and set: wsgiauth_oauth_grant.generation",
)
class RefreshedTwice(_Refreshing):
    def one(self, *_):
        return refresh(1)

    def check(self, outcome, *_):
        assert (outcome.one, outcome.other) == (2, 2)
        assert valid() == [GRANT]


@race(
    "A refresh token of an app is used, and one that was replaced",
    "The grant ends.",
    "compare and set: wsgiauth_oauth_grant.stamp",
)
class RefreshAndReuse(_Refreshing):
    def prepare(self):
        facts = super().prepare()
        assert [refresh(1), refresh(2)] == [2, 3]
        return facts

    def one(self, *_):
        return refresh(3)

    def other(self, *_):
        return refresh(1)

    def check(self, outcome, *_):
        assert outcome.other is None
        assert valid() == []


@race(
    "A refresh token of an app is used, and the app revoked",
    "No grant is valid.",
    "compare and set: wsgiauth_oauth_grant.stamp",
)
class RefreshAndRevocation(_Revoking, _Refreshing):
    def check(self, outcome, *_):
        assert outcome.one is (outcome.first == "one")
        assert valid() == []


@race(
    "A refresh token of an app is used, and its session revoked",
    "No grant is valid.",
    "one statement",
)
class RefreshAndLogout(_LoggingOut, _Refreshing):
    pass


@race("A refresh token of an app is used, and the password changed", "No grant is valid.", "stamp")
class RefreshAndPassword(_ChangingPassword, _Refreshing):
    pass


@race("A refresh token of an app is used, and the user deactivated", "No grant is valid.", "stamp")
class RefreshAndDeactivation(_Deactivating, _Refreshing):
    pass


@race(
    "A refresh token of an app is used, and its client removed",
    "No grant remains.",
    "compare and set: wsgiauth_oauth_grant.stamp",
)
class RefreshAndRemoval(_Removing, _Refreshing):
    pass


class _Deciding(Race):
    """A user decides about a device."""

    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        client = clients.create("TV", [URI], now=NOW).row
        made = devices.begin(client, " ".join(SCOPES), "", Origin("192.0.2.7"), NOW)
        session_id = sessions.start(ada, TOKENS).session_id
        return ada, client, session_id, devices.find(made.user_code, NOW)

    def one(self, ada, client, session_id, row):
        return devices.allow(row, UserSession(ada, session_id), SCOPES, NOW)


@race(
    "A device is allowed by two users",
    "One of them has allowed it, and the other one has no consent.",
    "compare and set: wsgiauth_oauth_device.user_id",
)
class DeviceOfTwo(_Deciding):
    def prepare(self):
        grace = insert_user("Grace", "grace@example.org")
        return *super().prepare(), grace, sessions.start(grace, TOKENS).session_id

    def one(self, ada, client, session_id, row, *_):
        return super().one(ada, client, session_id, row)

    def other(self, ada, client, session_id, row, grace, other_id):
        return super().one(grace, client, other_id, row)

    def check(self, outcome, ada, client, session_id, row, grace, _):
        assert outcome.is_once(False)
        first = {"one": ada, "other": grace}[outcome.first]
        assert DeviceRequest.get().user_id == Consent.get().user_id == first.id
        assert Consent.select().count() == 1


@race(
    "A device is allowed, and refused",
    "One decision counts.",
    "compare and set: wsgiauth_oauth_device.user_id",
)
class DeviceAllowedAndRefused(_Deciding):
    def other(self, ada, client, session_id, row):
        return devices.refuse(row, ada, NOW)

    def check(self, outcome, *_):
        assert outcome.is_once(False)
        is_refused = outcome.first == "other"
        assert DeviceRequest.get().is_refused is is_refused
        assert Consent.select().exists() is not is_refused


@race(
    "A device is allowed, and its client removed",
    "No consent remains.",
    "one writer",
    "foreign key: wsgiauth_oauth_consent.client_id",
)
class DeviceAllowedAndRemoved(_Removing, _Deciding):
    def check(self, outcome, *_):
        assert (outcome.one, outcome.other) == (outcome.first == "one", True)
        assert Consent.select().count() == DeviceRequest.select().count() == 0


class _UsingDeviceCode(_Deciding):
    """A device gets its tokens."""

    def prepare(self):
        ada, client, session_id, row = super().prepare()
        assert super().one(ada, client, session_id, row)
        return ada, client, session_id, devices.code_of(DeviceRequest.get())

    def one(self, ada, client, session_id, code):
        return redeem(code, client)

    def check(self, outcome, *_):
        assert outcome.one is (outcome.first == "one")
        assert valid() == []


@race(
    "A device code is used twice",
    "It works once, and no grant is valid.",
    "one writer",
    "lock of the users",
)
class DeviceCodeTwice(_UsingDeviceCode):
    def check(self, outcome, *_):
        assert outcome.is_once(False)
        assert valid() == []


@race(
    "A device code is used, and the app revoked",
    "No grant is valid.",
    "one writer",
    "lock of the users",
)
class DeviceCodeAndRevocation(_Revoking, _UsingDeviceCode):
    pass


@race(
    "A device code is used, and the session that allowed it revoked",
    "No grant is valid.",
    "one writer",
    "foreign key: wsgiauth_oauth_grant.session_id",
)
class DeviceCodeAndLogout(_LoggingOut, _UsingDeviceCode):
    pass


@race(
    "A device code is used, and its client removed",
    "No grant remains.",
    "one writer",
    "foreign key: wsgiauth_oauth_grant.client_id",
)
class DeviceCodeAndRemoval(_Removing, _UsingDeviceCode):
    pass


class _Expiring(Race):
    """An app that registered itself was not used for thirty days, and is deleted."""

    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        client = store_registration({"redirect_uris": [URI]}, NOW)
        Client.update(expires_at=NOW).execute()
        grants.allow(client, ada, SCOPES, NOW)
        return ada, client, sessions.start(ada, TOKENS).session_id

    def other(self, *_):
        return purge_expired(Client, NOW) == 1


@race(
    "An app that registered itself is used, and deleted",
    "It stays if the use is first.",
    "compare and set: wsgiauth_oauth_client.expires_at",
)
class KeptAndExpired(_Expiring):
    def one(self, ada, client, _):
        keep_client(client, ada.id, NOW)

    def check(self, outcome, *_):
        assert outcome.other is (outcome.first == "other")
        assert Client.select().exists() is not outcome.other


@race(
    "A code is used of an app that registered itself, which is deleted",
    "There is a grant only if the app stays.",
    "one writer",
    "foreign key: wsgiauth_oauth_grant.client_id",
)
class CodeAndExpiry(_Expiring):
    def one(self, ada, client, session_id):
        return redeem(code_of(ada, client, session_id), client)

    def check(self, outcome, *_):
        assert outcome.one is (outcome.first == "one")
        assert valid() == ([] if outcome.other else [GRANT])
        assert Grant.select().exists() is Client.select().exists() is not outcome.other


class _ToBeLoggedOut(_OfApp):
    """An app that gets logout tokens."""

    def prepare(self):
        ada, client, session_id = super().prepare()
        Client.update(logout_uri="https://wiki.example.org/logout").execute()
        return ada, clients.find(client.id, 0), session_id

    def one(self, ada, client, session_id, *_):
        return redeem(code_of(ada, client, session_id), client)

    def check(self, outcome, *_):
        assert outcome.one is (outcome.first == "one")
        app_sessions.mark_deleted(LATER)
        assert len(app_sessions.clients_due(LATER)) == outcome.one


@race(
    "A code of an app with logout tokens is used, and the session revoked",
    "If the code works, a logout token is due.",
    "one writer",
    "foreign key: wsgiauth_oauth_grant.session_id",
)
class LoginAndLogout(_LoggingOut, _ToBeLoggedOut):
    pass


@race(
    "A code of an app with logout tokens is used, and the password changed",
    "If the code works, a logout token is due.",
    "one writer",
    "lock of the users",
)
class LoginAndPassword(_ToBeLoggedOut):
    def other(self, ada, *_):
        events.record(storage.current(), [EndedSessions(None)])
        change_password(ada, OTHER_PASSWORD, settings=SETTINGS)
        events.record(storage.current(), [])


class _Sending(_ToBeLoggedOut):
    """A process sends a logout token."""

    def prepare(self):
        ada, client, session_id = super().prepare()
        assert redeem(code_of(ada, client, session_id), client)
        AppSession.update(due_at=NOW).execute()
        row = app_sessions.oldest_due(client.id, NOW)
        return ada, client, session_id, row

    def one(self, ada, client, session_id, row):
        return app_sessions.claim(row, NOW)


@race(
    "A logout token is sent by two processes",
    "One of them sends it.",
    "compare and set: wsgiauth_oauth_session.due_at",
)
class SentTwice(_Sending):
    def check(self, outcome, *_):
        assert outcome.is_once(False)
        assert AppSession.get().attempts == 1


@race(
    "A logout token is sent, and the user logs in to the app again",
    "The next logout sends another one.",
    "compare and set: wsgiauth_oauth_session.due_at",
)
class SentAndLoggedIn(_Sending):
    def other(self, ada, client, session_id, row):
        return redeem(code_of(ada, client, session_id, OTHER_GRANT), client)

    def check(self, outcome, *_):
        assert (outcome.one, outcome.other) == (outcome.first == "one", True)
        row = AppSession.get()
        assert (row.due_at, row.attempts) == (None, 0)
