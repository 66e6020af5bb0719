"""Logins: started, found, ended, expired and cleared away."""

import re

import pytest

from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth.accounts import change_password, create_user
from wsgiauth.accounts.models import Session, User
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.storage.purge import SOME, purge_expired

pytestmark = [pytest.mark.every_database, pytest.mark.promise(5)]

START = 2_000_000_000  # seconds since the epoch, when these tests happen
LIFETIME = 3600


@pytest.fixture
def clock():
    """Return what the time can be set by."""

    class Clock:
        now = START

    return Clock


@pytest.fixture
def tokens(settings, clock):
    return Tokens(settings, clock=lambda: clock.now)


@pytest.fixture
def ada(database, settings):
    return create_user(USERNAME, EMAIL, PASSWORD, settings=settings)


@pytest.fixture
def grace(database, settings):
    return create_user("Grace", "grace@example.org", PASSWORD, settings=settings)


def log_in(user, *expirations):
    """Begin logins that end at these seconds."""
    rows = [{"id": f"{user.id}-{at}", "user": user.id, "expires_at": at} for at in expirations]
    Session.insert_many(rows).execute()


def expirations():
    return sorted(session.expires_at for session in Session.select())


# Found


def test_a_login_is_found_by_its_token(ada, tokens):
    token = sessions.start(ada, tokens)
    found, session_id = sessions.find(token, tokens)
    assert (found, session_id) == (ada, tokens.verify(token).session_id)
    assert found.created_at == ada.created_at
    assert found.is_active is True


def test_every_login_has_its_own_id(ada, tokens):
    first, second = sessions.start(ada, tokens), sessions.start(ada, tokens)
    assert sessions.find(first, tokens)[1] != sessions.find(second, tokens)[1]


def test_finding_costs_one_query(ada, tokens, queries):
    token = sessions.start(ada, tokens)
    sqls = queries(lambda: sessions.find(token, tokens))
    assert [sql.partition(" ")[0] for sql in sqls] == ["SELECT"]


@pytest.mark.parametrize("token", ["", "garbage", "a.b.c"])
def test_what_is_no_token_costs_no_query(ada, tokens, queries, token):
    assert queries(lambda: sessions.find(token, tokens)) == []
    assert sessions.find(token, tokens) is None


def test_who_is_found_is_as_peewee_would_have_read_them(ada, tokens):
    user, _ = sessions.find(sessions.start(ada, tokens), tokens)
    read = User.get_by_id(ada.id)
    assert user == read
    unread = {"username_key", "email_key"}
    assert {
        name: repr(getattr(read, name)) for name in User._meta.fields if name not in unread
    } == {name: repr(value) for name, value in user.__data__.items()}


def test_a_signed_token_without_a_login_finds_nobody(ada, tokens):
    assert sessions.find(tokens.issue(ada.id, "invented", START + LIFETIME), tokens) is None


def test_a_signed_token_for_another_users_login_finds_nobody(ada, grace, tokens):
    log_in(grace, START + LIFETIME)
    session_id = f"{grace.id}-{START + LIFETIME}"
    assert sessions.find(tokens.issue(ada.id, session_id, START + LIFETIME), tokens) is None


def test_rights_are_those_of_this_moment(ada, tokens):
    token = sessions.start(ada, tokens)
    User.update(is_superuser=True).execute()
    assert sessions.find(token, tokens)[0].is_superuser is True
    User.update(is_superuser=False).execute()
    assert sessions.find(token, tokens)[0].is_superuser is False


# Ended


@pytest.mark.parametrize(("age", "stands"), [(LIFETIME - 1, True), (LIFETIME, False)])
def test_a_login_ends_with_its_lifetime(ada, tokens, clock, age, stands):
    token = sessions.start(ada, tokens)
    clock.now += age
    assert (sessions.find(token, tokens) is not None) is stands


def test_a_login_ends_with_its_row_even_if_the_token_lasts(ada, tokens):
    token = sessions.start(ada, tokens)
    Session.update(expires_at=START).execute()
    assert sessions.find(token, tokens) is None


def test_a_login_that_is_ended_is_not_found(ada, tokens):
    ended, other = sessions.start(ada, tokens), sessions.start(ada, tokens)
    sessions.end(tokens.verify(ended).session_id, ada)
    assert sessions.find(ended, tokens) is None
    assert sessions.find(other, tokens) is not None


def test_a_login_is_ended_by_its_user_alone(ada, grace, tokens):
    session_id = tokens.verify(sessions.start(ada, tokens)).session_id
    sessions.end(session_id, grace)
    assert len(expirations()) == 1


def test_a_login_can_be_ended_twice(ada, tokens):
    session_id = tokens.verify(sessions.start(ada, tokens)).session_id
    sessions.end(session_id, ada)
    sessions.end(session_id, ada)
    assert expirations() == []


def test_all_logins_of_one_user_can_be_ended(ada, grace):
    log_in(ada, START + 1, START + 2)
    log_in(grace, START + 3)
    assert sessions.end_all(ada) == 2
    assert sessions.end_all(ada) == 0
    assert expirations() == [START + 3]


def test_deactivation_without_saving_a_user_ends_logins_too(ada, tokens):
    token = sessions.start(ada, tokens)
    User.update(is_active=False).execute()
    assert sessions.find(token, tokens) is None


CHANGES = pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda user, settings: change_password(user, "four other words", settings=settings),
            id="password changed",
        ),
        pytest.param(lambda user, settings: deactivate(user), id="deactivated"),
        pytest.param(lambda user, settings: user.delete_instance(), id="deleted"),
    ],
)


def deactivate(user):
    user.is_active = False
    user.save()


@CHANGES
def test_a_change_ends_the_logins_before_it(ada, settings, tokens, change):
    token = sessions.start(ada, tokens)
    change(ada, settings)
    assert sessions.find(token, tokens) is None


@CHANGES
def test_no_login_begins_for_a_user_as_they_were_before_a_change(ada, settings, tokens, change):
    before = User.objects.get(id=ada.id)
    change(ada, settings)
    assert sessions.start(before, tokens) is None
    assert expirations() == []


def test_a_user_who_changed_in_another_way_is_logged_in(ada, tokens):
    before = User.objects.get(id=ada.id)
    ada.email = "countess@example.org"
    ada.save()
    assert sessions.find(sessions.start(before, tokens), tokens)[0].email == ada.email


# Live and expired


def test_live_logins_are_those_that_have_not_expired(ada, grace):
    log_in(ada, START + 2, START, START + 1)
    log_in(grace, START + 3)
    assert [each.expires_at for each in sessions.live(ada, START)] == [START + 1, START + 2]


def test_purging_deletes_what_has_expired_and_counts_it(ada):
    log_in(ada, START - 1, START, START + 1)
    assert sessions.purge(START + 0.9) == 2
    assert expirations() == [START + 1]


def test_purging_nothing_is_no_error(ada):
    assert sessions.purge(START) == 0


@pytest.mark.parametrize(("expired", "deletions"), [(5, 3), (4, 2)])
def test_purging_deletes_a_few_at_a_time_by_primary_key(ada, queries, expired, deletions):
    log_in(ada, *range(START - expired, START))
    sqls = queries(lambda: purge_expired(Session, START, limit=2))
    where = [sql.partition(" WHERE ")[2] for sql in sqls if sql.startswith("DELETE")]
    ids = [condition.partition(")")[0] for condition in where]
    assert [each.count(",") + 1 for each in ids] == deletions * [2]
    assert all(re.match(r"\W*(wsgiauth_session\W*)?id\W* IN \(", each) for each in where)


def test_a_login_clears_away_some_that_have_expired(ada, tokens):
    log_in(ada, *range(START - SOME - 1, START))
    sessions.start(ada, tokens)
    assert expirations() == [START - 1, START + LIFETIME]
