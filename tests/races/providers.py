"""Races of sessions that began at another provider."""

from tests.races.race import NOW, SETTINGS, TOKENS, Race, insert_recent_user, race
from tests.support.declared import WAYS_IN
from tests.support.identities import ISSUER, account
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.tables import Membership, Session
from wsgiauth.authentication import freshness, sessions
from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.features.providers import identities, provider_sessions
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.provider_logins import disconnect as disconnect_identity
from wsgiauth.features.providers.provider_sessions import ProviderLogin

FROM_PROVIDER = account(sid="session there", asked_at=NOW)
LOGIN = ProviderLogin.of(FROM_PROVIDER)


def end_session(**named):
    """Do what a logout token says that names the session at the provider alone."""
    names = {"subject": "", "sid": FROM_PROVIDER.sid, **named}
    return provider_sessions.revoke(ISSUER, jti="1", now=NOW, **names)


def log_in(user):
    return sessions.start(user, TOKENS, federated_login=LOGIN) is not None


class _Connected(Race):
    def prepare(self):
        ada = insert_recent_user()
        return ada, identities.connect(ada, FROM_PROVIDER, NOW).handle


@race("A logout token is used twice", "It counts once.", "unique key: wsgiauth_one_time.id")
class TokenTwice(_Connected):
    def prepare(self):
        facts = super().prepare()
        assert log_in(facts[0])
        return facts

    def one(self, ada, handle):
        return end_session()

    def check(self, outcome, ada, handle):
        results = {"one": outcome.one, "other": outcome.other}
        assert (results.pop(outcome.first), *results.values()) == (1, None)
        assert Session.select().count() == 0


class _LoggedOut(_Connected):
    def other(self, ada, handle, *_):
        return log_in(ada)

    def check(self, outcome, *_):
        assert Session.select().count() == 0


@race(
    "A logout token names a user, who logs in",
    "No session remains that began before the token.",
    "one writer",
    "lock of the users",
)
class UserLoggedOut(_LoggedOut):
    def one(self, ada, handle):
        return end_session(subject=FROM_PROVIDER.subject)


@race(
    "A logout token names a session, which begins",
    "No session remains that began before the token.",
    "one writer",
    "both look",
)
class SessionLoggedOut(_LoggedOut):
    def one(self, ada, handle):
        return end_session()


@race(
    "A logout token names a session, by which one here is confirmed",
    "No session that was confirmed before the token remains.",
    "one writer",
    "both look",
)
class ConfirmedAndLoggedOut(_LoggedOut):
    def prepare(self):
        ada, handle = super().prepare()
        return ada, handle, sessions.start(ada, TOKENS).session_id

    def one(self, ada, handle, session_id):
        return end_session()

    def other(self, ada, handle, session_id):
        return freshness.confirm(session_id, ada, TOKENS, federated_login=LOGIN) is not None

    def check(self, outcome, ada, handle, session_id):
        # A session that the login could not confirm any more can go on as it was.
        kept = {each.id for each in Session.select()}
        assert kept <= ({session_id} if outcome.other is False else set())


@race(
    "A login at a provider brings a user into a group, which the user joins",
    "The user is in the group once, and neither change fails.",
    "one writer",
    "lock of the users",
)
class BothJoin(Race):
    stops_early = True

    def prepare(self):
        ada = insert_recent_user()
        group = Group.objects.create(name="Editors")
        return ada, identities.connect(ada, FROM_PROVIDER, NOW), group

    def one(self, ada, identity, group):
        identities.record_login(identity, account(groups=(group.name,)), NOW)

    def other(self, ada, identity, group):
        return ada.join(group)

    def check(self, outcome, ada, identity, group):
        assert (outcome.one, outcome.other) == (None, outcome.first == "other")
        assert Membership.select().count() == 1
        stored = Identity.get()
        assert stored.joined == ("[]" if outcome.other else f"[{group.id}]")


@race(
    "A login at a provider takes a user out of a group, which the user leaves",
    "The user is not in the group, and neither change fails.",
    "one writer",
    "lock of the users",
)
class BothLeave(Race):
    stops_early = True

    def prepare(self):
        ada = insert_recent_user()
        group = Group.objects.create(name="Editors")
        identities.connect(ada, account(groups=(group.name,)), NOW)
        return ada, Identity.get(), group

    def one(self, ada, identity, group):
        identities.record_login(identity, account(), NOW)

    def other(self, ada, identity, group):
        return ada.leave(group)

    def check(self, outcome, ada, identity, group):
        assert (outcome.one, outcome.other) == (None, outcome.first == "other")
        assert Membership.select().count() == 0
        assert Identity.get().joined == "[]"


@race(
    "An account of a provider is disconnected, and logs in",
    "No session remains that began by it.",
    "one writer",
    "lock of the users",
)
class Disconnected(_Connected):
    def one(self, ada, handle):
        return bool(disconnect_identity(ada, handle, WaysIn(WAYS_IN, SETTINGS)))

    def other(self, ada, handle):
        return log_in(ada)

    def check(self, outcome, ada, handle):
        assert (outcome.one, outcome.other) == (True, outcome.first == "other")
        assert Session.select().count() == 0
