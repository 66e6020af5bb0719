"""Logins: started, found, ended, expired and cleared away."""

import re
from functools import partial

import peewee
import pytest

from tests.support.demands import GROUP, Badge
from tests.support.logins import find_session, insert_session, valid_session_ids
from wsgiauth import change_password, end_sessions
from wsgiauth.accounts.groups import group_names
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.storage.upkeep import SOME, purge_expired

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


def log_in(user, *expirations):
    """Begin logins that end at these seconds."""
    for at in expirations:
        insert_session(user, f"{user.id}-{at}", at)


def expirations():
    return sorted(session.expires_at for session in Session.select())


# Found


def test_a_login_is_found_by_its_token(ada, tokens):
    token = sessions.start(ada, tokens).token
    found, session_id, _ = find_session(token, tokens)
    assert (found, session_id) == (ada, tokens.verify(token, tokens.now()).session_id)
    assert found.created_at == ada.created_at
    assert found.is_active is True


def test_every_login_has_its_own_id(ada, tokens):
    first, second = sessions.start(ada, tokens).token, sessions.start(ada, tokens).token
    assert find_session(first, tokens)[1] != find_session(second, tokens)[1]


def test_finding_costs_one_query(ada, tokens, queries):
    token = sessions.start(ada, tokens).token
    sqls = queries(lambda: find_session(token, tokens))
    assert [sql.partition(" ")[0] for sql in sqls] == ["SELECT"]


def test_what_is_no_token_costs_no_query(ada, tokens, queries):
    found = []
    for token in ("", "garbage", "a.b.c"):
        assert queries(lambda token=token: found.append(find_session(token, tokens))) == []
    assert found == [None] * 3


@pytest.mark.every_database
def test_a_session_is_found_with_what_it_lacks(ada, tokens, queries):
    login, badge = sessions.start(ada, tokens), Badge()
    for with_groups in (False, True):
        badge.arrange(ada, None, is_met=False)
        for unmet in (badge, None):
            found = []
            look = partial(find_session, login.token, tokens, badge, with_groups=with_groups)
            sqls = queries(lambda look=look, found=found: found.append(look()))
            assert found == [(ada, login.session_id, unmet)]
            assert found[0][0].__data__ == find_session(login.token, tokens)[0].__data__
            assert [sql.partition(" ")[0] for sql in sqls] == ["SELECT"]
            badge.arrange(ada, None, is_met=True)
        assert not with_groups or group_names(found[0][0]) == [GROUP]


def test_what_finds_nobody_lacks_nothing(ada, tokens):
    for token in ("garbage", tokens.issue(ada.id, "invented", START + LIFETIME)):
        assert find_session(token, tokens, Badge()) is None


def test_who_is_found_is_as_peewee_would_have_read_them(ada, tokens):
    user, *_ = find_session(sessions.start(ada, tokens).token, tokens)
    read = User.get_by_id(ada.id)
    assert user == read
    unread = {"username_key", "email_key", "locks"}
    assert {
        name: repr(getattr(read, name)) for name in User._meta.fields if name not in unread
    } == {name: repr(value) for name, value in user.__data__.items()}


def test_a_signed_token_without_a_login_finds_nobody(ada, tokens):
    assert find_session(tokens.issue(ada.id, "invented", START + LIFETIME), tokens) is None


def test_a_signed_token_for_another_users_login_finds_nobody(ada, grace, tokens):
    log_in(grace, START + LIFETIME)
    session_id = f"{grace.id}-{START + LIFETIME}"
    assert find_session(tokens.issue(ada.id, session_id, START + LIFETIME), tokens) is None


def test_rights_are_those_of_this_moment(ada, tokens):
    token = sessions.start(ada, tokens).token
    User.update(is_superuser=True).execute()
    assert find_session(token, tokens)[0].is_superuser is True
    User.update(is_superuser=False).execute()
    assert find_session(token, tokens)[0].is_superuser is False


# Ended


@pytest.mark.parametrize(("age", "stands"), [(LIFETIME - 1, True), (LIFETIME, False)])
def test_a_login_ends_with_its_lifetime(ada, tokens, clock, age, stands):
    token = sessions.start(ada, tokens).token
    clock.now += age
    assert (find_session(token, tokens) is not None) is stands


def test_a_login_ends_with_its_row_even_if_the_token_lasts(ada, tokens):
    token = sessions.start(ada, tokens).token
    Session.update(expires_at=START).execute()
    assert find_session(token, tokens) is None


def test_a_login_that_is_ended_is_not_found(ada, tokens):
    ended, other = sessions.start(ada, tokens).token, sessions.start(ada, tokens).token
    sessions.revoke(tokens.verify(ended, tokens.now()).session_id, ada)
    assert find_session(ended, tokens) is None
    assert find_session(other, tokens) is not None


def test_a_login_is_ended_by_its_user_alone(ada, grace, tokens):
    session_id = tokens.verify(sessions.start(ada, tokens).token, tokens.now()).session_id
    sessions.revoke(session_id, grace)
    assert len(expirations()) == 1


def test_a_login_can_be_ended_twice(ada, tokens):
    session_id = tokens.verify(sessions.start(ada, tokens).token, tokens.now()).session_id
    sessions.revoke(session_id, ada)
    sessions.revoke(session_id, ada)
    assert expirations() == []


def test_all_logins_of_one_user_can_be_ended(ada, grace):
    log_in(ada, START + 1, START + 2)
    log_in(grace, START + 3)
    assert sessions.revoke_all(ada) == 2
    assert sessions.revoke_all(ada) == 0
    assert expirations() == [START + 3]


@pytest.mark.parametrize(
    "change", ["is_active = false", "security_stamp = security_stamp + 1", "security_stamp = -1"]
)
def test_a_change_by_sql_ends_logins_too(ada, tokens, database, change):
    token = sessions.start(ada, tokens).token
    database.execute_sql(f"UPDATE wsgiauth_user SET {change}")  # noqa: S608 - written above
    assert find_session(token, tokens) is None
    assert sessions.start(ada, tokens) is None


CHANGES = pytest.mark.parametrize(
    "change",
    [
        pytest.param(
            lambda user, settings: change_password(user, "four other words", settings=settings),
            id="password changed",
        ),
        pytest.param(lambda user, settings: set_active(user, False), id="deactivated"),
        pytest.param(
            lambda user, settings: (set_active(user, False), set_active(user, True)),
            id="deactivated and activated again",
        ),
        pytest.param(lambda user, settings: user.delete_instance(), id="deleted"),
    ],
)


def set_active(user, is_active):
    user.is_active = is_active
    user.save()


@CHANGES
def test_a_change_ends_the_logins_before_it(ada, settings, tokens, change):
    token = sessions.start(ada, tokens).token
    change(ada, settings)
    assert find_session(token, tokens) is None


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
    assert find_session(sessions.start(before, tokens).token, tokens)[0].email == ada.email


# Live and expired


def test_the_sessions_of_a_user_are_those_that_have_not_expired(ada, grace, monkeypatch):
    log_in(ada, START + 2, START, START + 1)
    log_in(grace, START + 3)
    monkeypatch.setattr("time.time", lambda: START + 0.9)
    assert {each.expires_at for each in ada.sessions} == {START + 1, START + 2}


def test_sessions_that_a_change_has_ended_are_not_live_and_not_counted(ada, grace, settings):
    log_in(ada, START + 1)
    log_in(grace, START + 2)
    change_password(ada, "four other words", settings=settings)
    log_in(ada, START + 3)
    assert [each.expires_at for each in ada.sessions] == [START + 3]
    assert sessions.revoke_all(ada) == 1
    assert sessions.revoke_every_session() == 1
    assert expirations() == []


def test_an_inactive_user_has_no_live_sessions(ada, database):
    log_in(ada, START + 1)
    database.execute_sql("UPDATE wsgiauth_user SET is_active = false")
    assert list(ada.sessions) == []


def test_purging_deletes_what_has_expired_and_counts_it(ada):
    log_in(ada, START - 1, START, START + 1)
    assert purge_expired(Session, START + 0.9) == 2
    assert expirations() == [START + 1]


def test_purging_nothing_is_no_error(ada):
    assert purge_expired(Session, START) == 0


@pytest.mark.parametrize(("expired", "deletions"), [(5, 3), (4, 2)])
def test_purging_deletes_a_few_at_a_time_by_primary_key(ada, queries, expired, deletions):
    log_in(ada, *range(START - expired, START))
    sqls = queries(lambda: purge_expired(Session, START, limit=2))
    of_table = ('DELETE FROM "wsgiauth_session"', "DELETE FROM `wsgiauth_session`")
    deletes = [sql for sql in sqls if sql.startswith(of_table)]
    if "?" not in sqls[0] and "%s" not in sqls[0]:
        # SQLite reports a statement, with its values, again for each row of tables that refer to
        # the deleted ones.
        deletes = list(dict.fromkeys(deletes))
    where = [sql.partition(" WHERE ")[2] for sql in deletes]
    ids = [condition.partition(")")[0] for condition in where]
    assert [each.count(",") + 1 for each in ids] == deletions * [2]
    assert all(re.match(r"\W*(wsgiauth_session\W*)?id\W* IN \(", each) for each in where)


def test_a_login_clears_away_some_that_have_expired(ada, tokens):
    log_in(ada, *range(START - SOME - 1, START))
    sessions.start(ada, tokens)
    assert expirations() == [START - 1, START + LIFETIME]


@pytest.mark.promise(31)
def test_to_end_all_others_spares_a_login_that_began_after_a_new_password(ada, tokens, settings):
    stale = User.get_by_id(ada.id)
    change_password(ada, "another unrelated phrase", settings=settings)
    login = sessions.start(User.get_by_id(ada.id), tokens)
    assert sessions.revoke_all(stale, except_id="another") == 0
    assert find_session(login.token, tokens) is not None


def test_code_ends_all_sessions_of_a_user_also_with_an_outdated_object(
    ada, grace, tokens, settings
):
    stale = User.get_by_id(ada.id)
    change_password(ada, "another unrelated phrase", settings=settings)
    sessions.start(ada, tokens)
    sessions.start(ada, tokens)
    other = sessions.start(grace, tokens)
    assert end_sessions(stale) == 2
    assert end_sessions(stale) == 0
    assert valid_session_ids() == {other.session_id}


def test_a_deleted_user_has_no_sessions_to_end(ada):
    stale = User.get_by_id(ada.id)
    ada.delete_instance()
    assert end_sessions(stale) == 0


@pytest.mark.promise(30)
def test_a_login_does_not_show_its_token(ada, tokens):
    login = sessions.start(ada, tokens)
    assert login.token not in repr(login)
    assert login.session_id not in repr(login)


def test_a_login_whose_row_refers_to_no_user_does_not_begin(ada, tokens, monkeypatch):
    def refuse(*_arguments, **_fields):
        raise peewee.IntegrityError  # as the foreign key does if the user was deleted just now

    monkeypatch.setattr("wsgiauth.events.emit", refuse)
    assert sessions.start(ada, tokens) is None
    assert Session.select().count() == 0
