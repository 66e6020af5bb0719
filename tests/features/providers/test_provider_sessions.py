"""Sessions that began at a provider: how they began, and who can end them."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.declared import WAYS_IN
from tests.support.identities import ISSUER, account
from wsgiauth import events, storage
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import OneTimeSecret, Session
from wsgiauth.authentication import freshness, one_time, sessions
from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.features.audit import trail
from wsgiauth.features.providers import identities, provider_sessions
from wsgiauth.features.providers.provider_logins import disconnect as disconnect_identity
from wsgiauth.features.providers.provider_sessions import ProviderLogin, ProviderSession

NOW = 2_000_000_000  # seconds since the epoch


@pytest.fixture
def log_in(tokens):
    """Return a function that starts a session at a provider, and returns its id."""

    def start(user, subject="s-1", sid="", authenticated_at=None):
        seen = account(subject, sid=sid, authenticated_at=authenticated_at)
        identities.connect(user, seen, tokens.now())
        login = ProviderLogin.of(seen)
        return sessions.start(user, tokens, methods="fed", federated_login=login).session_id

    return start


def revoke(tokens, *, issuer=ISSUER, subject="", sid="", jti="1", now=None):
    """Return how many sessions a logout token has ended."""
    now = tokens.now() if now is None else now
    return provider_sessions.revoke(issuer, jti=jti, subject=subject, sid=sid, now=now)


@pytest.mark.every_database
def test_a_session_remembers_its_provider_under_its_next_id_too(ada, tokens, log_in):
    session_id = log_in(ada, sid="session at the provider")
    renewed = freshness.confirm(session_id, ada, tokens).session_id
    assert provider_sessions.provider_of(session_id) is None
    assert provider_sessions.provider_of(renewed).subject == "s-1"
    assert "session at the provider" not in str(list(ProviderSession.select().dicts()))
    sessions.revoke(renewed, ada)
    assert ProviderSession.select().count() == 0


def test_a_session_is_as_fresh_as_the_login_at_the_provider(ada, tokens, log_in):
    now = int(tokens.now())
    ages = {
        "a provider that does not say": (None, 0),
        "some time ago": (now - 1000, 1000),
        "by a clock that is ahead": (now + 30, 0),
    }
    for name, (authenticated_at, age) in ages.items():
        row = Session.get_by_id(log_in(ada, authenticated_at=authenticated_at))
        found = row.created_at.timestamp() - row.authenticated_at
        assert (name, abs(found - age) <= 2) == (name, True)


@pytest.mark.promise(73)
def test_only_a_time_that_the_provider_says_is_a_proof(ada, log_in):
    times = {NOW: True, NOW - 900: True, NOW - 901: False, NOW + 61: False, None: False}
    found = {}
    for said in times:
        session_id = log_in(ada, authenticated_at=said)
        found[said] = provider_sessions.was_proven_at_provider(session_id, NOW, 900)
    assert found == times


def test_a_session_by_the_password_was_not_proven_at_a_provider(ada, tokens):
    session_id = sessions.start(ada, tokens).session_id
    assert not provider_sessions.was_proven_at_provider(session_id, tokens.now(), 900)


def test_a_session_of_an_account_that_was_just_disconnected_does_not_begin(ada, tokens):
    identities.connect(ada, account(), 0)
    identities.remove_all(ada)
    login = ProviderLogin.of(account())
    assert sessions.start(ada, tokens, federated_login=login) is None
    assert Session.select().count() == 0


@pytest.mark.promise(74)
@pytest.mark.every_database
def test_a_provider_ends_what_it_names_and_nothing_else(ada, grace, tokens, log_in):
    ids = {
        "ada a": log_in(ada, sid="a"),
        "ada b": log_in(ada, sid="b"),
        "ada": log_in(ada),
        "ada by password": sessions.start(ada, tokens).session_id,
        "grace a": log_in(grace, "s-2", sid="a"),
        "grace by another account": log_in(grace, "s-3", sid="c"),
        "grace c": log_in(grace, "s-2", sid="c"),
        "grace d": log_in(grace, "s-2", sid="d"),
    }

    def ended_by(**named):
        before = {each.id for each in Session.select()}
        number = revoke(tokens, jti=str(named), **named)
        after = {each.id for each in Session.select()}
        ended = [name for name, each in ids.items() if each in before - after]
        assert number == len(ended)
        return ended

    def logged_out():
        return {each.event.user_id for each in trail.page() if each.event.reason == "provider"}

    for named in ({"sid": "a"}, {"subject": "s-1"}, {"subject": "s-1", "sid": "b"}):
        assert ended_by(issuer="https://other.example.com", **named) == []
    assert ended_by(subject="S-1") == []  # an unknown account
    assert ended_by(subject="s-2", sid="b") == []  # a session of another account
    assert ended_by(subject="s-1", sid="b") == ["ada b", "ada"]  # a session of an account
    assert logged_out() == {ada.id}
    assert ended_by(sid="a") == ["ada a", "grace a"]
    assert ended_by(subject="s-2") == ["grace c", "grace d"]
    assert logged_out() == {ada.id, grace.id}


@pytest.mark.promise(74)
def test_what_names_nothing_ends_nothing(ada, tokens, log_in):
    log_in(ada)
    with pytest.raises(ValueError, match="names a subject, a session"):
        revoke(tokens)
    assert Session.select().count() == 1


@pytest.mark.every_database
def test_logins_of_two_users_at_the_same_moment_do_not_wait_for_each_other(
    ada, grace, tokens, log_in
):
    opened = storage.current()
    for each in (ada, grace):
        sessions.start(each, tokens)
    ada, grace = User.get_by_id(ada.id), User.get_by_id(grace.id)  # their last login is known

    def log_grace_in():
        storage.context.use(opened)
        log_in(grace, "s-2")
        storage.discard_connection(opened)

    with ThreadPoolExecutor(1) as thread:
        with storage.database.atomic():
            log_in(ada)
            other = thread.submit(log_grace_in)
            if storage.database.for_update:  # SQLite has one writer
                other.result(10)
            log_in(ada)
        other.result()
    assert ProviderSession.select().count() == 3


@pytest.mark.promise(74)
@pytest.mark.every_database
@pytest.mark.parametrize("by", ["provider", "disconnection"])
def test_a_session_that_is_renewed_at_the_same_moment_ends_too(by, ada, tokens, log_in, settings):
    session_id = log_in(ada, sid="a")
    [row] = identities.rows_of(ada)
    is_renewed = threading.Event()
    opened = storage.current()

    def renew():
        storage.context.use(opened)
        with storage.database.atomic():
            freshness.renew(session_id, ada, tokens, {})
            is_renewed.set()
            time.sleep(0.3)  # in which the other transaction reads, and then waits
        storage.discard_connection(opened)

    with ThreadPoolExecutor(1) as thread:
        renewal = thread.submit(renew)
        assert is_renewed.wait(10)
        if by == "provider":
            assert revoke(tokens, subject="s-1") == 1
        else:
            disconnect_identity(ada, row.handle, WaysIn(WAYS_IN, settings))
        renewal.result()
    assert Session.select().count() == 0


@pytest.mark.promise(74)
@pytest.mark.every_database
def test_a_logout_token_ends_a_login_that_is_not_complete(database, tokens):
    now = int(tokens.now())
    cases = {
        "its account, without a session": ({"subject": "s-1"}, "", True),
        "its account": ({"subject": "s-1"}, "a", True),
        "its session": ({"sid": "a"}, "a", True),
        "both": ({"subject": "s-1", "sid": "a"}, "a", True),
        "a session of its account": ({"subject": "s-1", "sid": "a"}, "", False),
        "another account": ({"subject": "s-2"}, "a", False),
        "another session": ({"sid": "b"}, "a", False),
        "its session, but no account": ({"subject": "s-2", "sid": "a"}, "a", False),
        "its account, but no session": ({"subject": "s-1", "sid": "b"}, "a", False),
        "another issuer": ({"sid": "a", "issuer": "https://b.example"}, "a", False),
    }
    for name, (named, sid, has_ended) in cases.items():
        OneTimeSecret.delete().execute()
        revoke(tokens, now=now, **named)
        logins = [
            ProviderLogin.of(account(sid=sid, asked_at=now + seconds)) for seconds in (-60, 3, 4)
        ]
        ended = [each.has_ended() for each in logins]  # the second by a clock that is ahead
        assert (name, ended) == (name, [has_ended, has_ended, False])


@pytest.mark.promise(74)
@pytest.mark.every_database
def test_a_login_that_was_logged_out_meanwhile_begins_and_confirms_nothing(ada, tokens, log_in):
    session_id = log_in(ada)
    begun = account(asked_at=int(tokens.now()) - 4)
    revoke(tokens, subject="s-1")
    login = ProviderLogin.of(begun)
    assert sessions.start(ada, tokens, federated_login=login) is None
    by_password = sessions.start(ada, tokens).session_id
    for each in (session_id, by_password):
        assert freshness.confirm(each, ada, tokens, federated_login=login) is None


def test_an_account_that_another_user_has_meanwhile_begins_nothing(ada, grace, tokens):
    identities.connect(ada, account(), tokens.now())
    identities.remove_all(ada)
    identities.connect(grace, account(), tokens.now())
    assert sessions.start(ada, tokens, federated_login=ProviderLogin.of(account())) is None


@pytest.mark.promise(74)
def test_a_session_that_was_confirmed_elsewhere_ends_with_each_of_its_logins(ada, tokens, log_in):
    for named in (
        {"subject": "s-1", "sid": "a"},  # the session in which it began
        {"subject": "s-1", "sid": "b"},  # the session in which it was confirmed
        {"subject": "s-2"},  # the other account
    ):
        OneTimeSecret.delete().execute()
        session_id = log_in(ada, sid="a")
        identities.connect(ada, account("s-2"), tokens.now())
        for seen in (account("s-2"), account(sid="b"), account(sid="b", authenticated_at=NOW)):
            login = ProviderLogin.of(seen)
            session_id = freshness.confirm(
                session_id, ada, tokens, federated_login=login
            ).session_id
        assert provider_sessions.provider_of(session_id).subject == "s-1"
        assert provider_sessions.was_proven_at_provider(session_id, NOW, 900)
        assert ProviderSession.select().count() == 3
        assert revoke(tokens, **named) == 1


class LoggedOut:
    """A subscriber that ends the sessions of an account after the commit of an event."""

    def __init__(self, name, tokens):
        self._name, self._tokens = name, tokens

    def __call__(self, event):
        if event.name == self._name:
            revoke(self._tokens, subject="s-1")


@pytest.fixture
def logged_out_after(database, tokens):
    """Return a function that lets a logout token come just after an event."""
    yield lambda name: events.subscribe(database, [LoggedOut(name, tokens)])
    events.subscribe(database, [])


@pytest.mark.promise(74)
def test_a_login_that_is_logged_out_before_it_is_answered_begins_and_confirms_nothing(
    ada, tokens, log_in, logged_out_after
):
    by_password = sessions.start(ada, tokens).session_id
    login = ProviderLogin.of(account())
    identities.connect(ada, account(), tokens.now())
    logged_out_after("login")
    assert sessions.start(ada, tokens, federated_login=login) is None
    OneTimeSecret.delete().execute()
    logged_out_after("confirmed")
    assert freshness.confirm(by_password, ada, tokens, federated_login=login) is None
    assert Session.select().count() == 0


@pytest.mark.promise(74)
def test_a_login_of_an_unknown_user_that_is_committed_with_the_logout_ends(
    ada, tokens, log_in, monkeypatch
):
    """By another process, whose login has found no logout token, and whose rows were not seen."""
    identity_id = identities.connect(ada, account(), tokens.now()).id
    session_id, sid = sessions.start(ada, tokens).session_id, ProviderLogin.of(account(sid="a")).sid
    record = one_time.record

    def commit_both(*args, **kwargs):
        row = {"session": session_id, "identity": identity_id, "sid": sid, "is_first": True}
        storage.current().after_commit(ProviderSession.insert(row).execute)
        return record(*args, **kwargs)

    monkeypatch.setattr(one_time, "record", commit_both)
    assert revoke(tokens, sid="a") == 1
    assert Session.select().count() == 0
