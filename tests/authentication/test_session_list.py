"""The list of a user's own logins, and their end by handle."""

import threading
from datetime import UTC, datetime

import pytest

from tests.support.logins import insert_session, valid_session_ids
from wsgiauth import change_password, events, storage
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication.session_list import (
    LISTED,
    handle_of,
    list_sessions,
    revoke_by_handle,
)
from wsgiauth.authentication.sessions import REUSED

pytestmark = pytest.mark.every_database

NOW = 2_000_000_000  # seconds since the epoch, when these tests happen
NOW_HOUR = NOW - NOW % 3600
BEGAN = 600  # seconds after the hour


@pytest.fixture
def heard(database):
    """Return the events of this test."""
    emitted = []
    events.subscribe(database, [emitted.append])
    return emitted


def change(session_id, **values):
    Session.update(**values).where(Session.id == session_id).execute()


def handles(user, current_id=None):
    return [each.handle for each in list_sessions(user, NOW, current_id)]


def in_order(*session_ids):
    return [handle_of(each) for each in session_ids]


@pytest.fixture
def four(ada):
    """Insert four logins of Ada's: each began a day before the one that follows it."""
    for day, session_id in enumerate(("first", "second", "third", "fourth"), start=1):
        insert_session(ada, session_id)
        change(session_id, created_at=datetime(2033, 5, day, tzinfo=UTC))


# The list


def test_the_newest_login_is_first(ada, four):
    assert handles(ada) == in_order("fourth", "third", "second", "first")


def test_the_current_login_and_reused_ones_come_before_the_others(ada, four):
    change("second", stamp=REUSED)
    assert handles(ada, "first") == in_order("first", "second", "fourth", "third")
    first, second, *others = list_sessions(ada, NOW, "first")
    assert [first.is_current, second.is_current] == [True, False]
    assert [first.is_reused, second.is_reused] == [False, True]
    assert not any(each.is_current or each.is_reused for each in others)


def test_expired_logins_and_those_that_a_change_ended_are_not_listed(ada, four, settings):
    change("first", expires_at=NOW)
    change("second", expires_at=NOW + 1)
    assert handles(ada) == in_order("fourth", "third", "second")
    change_password(ada, "four other words", settings=settings)
    assert handles(ada) == []


@pytest.mark.promise(41)
def test_the_logins_of_others_are_not_listed(ada, grace, four):
    assert handles(grace) == []


def test_the_list_costs_one_query_and_is_bounded(ada, queries):
    for number in range(LISTED + 1):
        insert_session(ada, str(number))
    listed = []
    assert len(queries(lambda: listed.extend(handles(ada, "0")))) == 1
    assert (len(listed), listed[0]) == (LISTED, handle_of("0"))


def test_use_is_shown_only_where_it_is_recorded(ada, four):
    for session_id in ("second", "third", "fourth"):
        change(session_id, last_seen_at=NOW)
    change("third", idle=3600)
    change("fourth", generation=1)
    seen = {each.handle: each.last_seen_at for each in list_sessions(ada, NOW, None)}
    assert [seen[each] is not None for each in in_order("second", "third", "fourth")] == [
        False,
        True,
        True,
    ]


@pytest.mark.parametrize(
    ("values", "seen", "expires"),
    [
        pytest.param({"generation": 1}, BEGAN, 5000, id="fixed end"),
        pytest.param({"generation": 1, "idle": 9000}, BEGAN, 3600, id="an end that refreshes move"),
        pytest.param(
            {"generation": 1, "idle": 9000, "ends_at": NOW_HOUR + 5000},
            BEGAN,
            5000,
            id="the last end",
        ),
        pytest.param({"idle": 9000}, 900, 5000, id="a browser"),
        pytest.param({"generation": 2, "last_seen_at": NOW_HOUR + 3700}, 3600, 5000, id="later"),
    ],
)
def test_times_are_as_precise_as_is_safe(ada, values, seen, expires):
    insert_session(ada, "own")
    defaults = {
        "last_seen_at": NOW_HOUR + 900,
        "expires_at": NOW_HOUR + 5000,
        "ends_at": NOW_HOUR + 9000,
    }
    created_at = datetime.fromtimestamp(NOW_HOUR + BEGAN, UTC)
    change("own", created_at=created_at, **(defaults | values))
    (listed,) = list_sessions(ada, NOW_HOUR, None)
    times = [each.timestamp() - NOW_HOUR for each in (listed.last_seen_at, listed.expires_at)]
    assert times == [seen, expires]


# The handle


@pytest.mark.promise(41)
def test_a_handle_does_not_contain_the_id_and_changes_with_it():
    assert len({handle_of("A" * 22), handle_of("A" * 21 + "B")}) == 2
    assert handle_of("A" * 22) == handle_of("A" * 22)
    assert "A" not in handle_of("A" * 22)


def test_a_login_is_ended_by_its_handle(ada, four, heard):
    assert revoke_by_handle(ada, handle_of("second"), NOW) == "second"
    assert valid_session_ids() == {"first", "third", "fourth"}
    assert [(each.name, each.user_id) for each in heard] == [("logout", ada.id)]


def test_a_reused_login_is_deleted_from_the_list_without_an_event(ada, four, heard):
    change("second", stamp=REUSED)
    assert revoke_by_handle(ada, handle_of("second"), NOW) == "second"
    assert handles(ada) == in_order("fourth", "third", "first")
    assert heard == []


@pytest.mark.promise(41)
def test_a_handle_ends_no_login_of_another_user(ada, grace, four):
    assert revoke_by_handle(grace, handle_of("first"), NOW) is None
    assert "first" in valid_session_ids()


def test_what_is_no_handle_ends_nothing(ada, four):
    for wanted in ["first", "", "others", "0123456789abcdef"]:
        assert revoke_by_handle(ada, wanted, NOW) is None
        assert len(valid_session_ids()) == 4, wanted


def test_a_login_that_is_not_listed_is_not_ended(ada, four):
    change("first", expires_at=NOW)
    change("second", stamp=ada.security_stamp - 2)
    for session_id in ("first", "second"):
        assert revoke_by_handle(ada, handle_of(session_id), NOW) is None


# In code


def test_a_user_has_a_query_of_their_valid_logins(ada, grace, four, settings):
    change("first", expires_at=1)
    change("second", stamp=REUSED)
    assert [each.id for each in ada.sessions] == ["fourth", "third"]
    assert [each.id for each in ada.sessions.limit(1)] == ["fourth"]
    assert grace.sessions.count() == 0


def test_the_query_uses_the_database_of_the_user(ada, four, tmp_path):
    other = storage.open_database(f"sqlite:///{tmp_path}/other.db")
    assert Session.select().count() == 0
    assert ada.sessions.count() == 4
    storage.discard_connection(other)


def test_another_thread_can_ask_for_the_logins_of_a_user(ada, four):
    counts = []

    def count():
        counts.append(ada.sessions.count())
        storage.discard_connection(ada.database)

    thread = threading.Thread(target=count)
    thread.start()
    thread.join()
    assert counts == [4]
