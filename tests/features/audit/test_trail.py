"""The audit trail: written with each change or not at all, kept for a time, read by pages."""

import os
import signal
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import peewee
import pytest

from tests.support.sites import EMAIL, FORKSERVER, PASSWORD, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, Settings, User, accounts, change_password, events, storage
from wsgiauth.accounts.tables import Permission, Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.events import models
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.audit import trail
from wsgiauth.features.audit.trail import Filters, Follower, Position, page, stream
from wsgiauth.storage.connections import DATABASE_ERRORS

NOW = 2_000_000_000  # seconds since the epoch
DAY = 24 * 60 * 60
CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
GRACE = {"username": "Grace", "email": "grace@example.org", "password": "other unrelated birds"}
WRONG = {**CREDENTIALS, "password": "mistyped words"}


def names_of(entries):
    return [event.name for _, event in entries]


def ids_of(entries):
    return [position.id for position, _ in entries]


# Written with the change, or neither.


def stored():
    """Return all that is stored of accounts."""
    users = User.select(User.username, User.hashed_password, User.is_staff, User.is_active)
    return [
        sorted(users.tuples()),
        sorted(Permission.select(Permission.user, Permission.name).tuples()),
        Session.select().count(),
        ids_of(page()),
    ]


CHANGES = {
    "registration": lambda ada, settings: accounts.create_user(**GRACE, settings=settings),
    "password": lambda ada, settings: change_password(ada, GRACE["password"], settings=settings),
    "name": lambda ada, settings: accounts.update_user(ada, username="Augusta"),
    "staff": lambda ada, settings: accounts.update_user(ada, is_staff=True),
    "deactivation": lambda ada, settings: accounts.update_user(ada, is_active=False),
    "grant": lambda ada, settings: ada.grant("a.b"),
    "revocation": lambda ada, settings: ada.revoke("held.before"),
    "deletion": lambda ada, settings: accounts.delete_user(ada),
    "login": lambda ada, settings: sessions.start(ada, Tokens(settings)),
    "logout": lambda ada, settings: sessions.revoke_all(ada),
    "logout of all": lambda ada, settings: sessions.revoke_every_session(),
}


@contextmanager
def broken_trail():
    """Take the trail's table away."""
    rename = storage.current().execute_sql
    rename("ALTER TABLE wsgiauth_event RENAME TO wsgiauth_elsewhere")
    try:
        yield
    finally:
        rename("ALTER TABLE wsgiauth_elsewhere RENAME TO wsgiauth_event")


@pytest.fixture
def ada(opened, settings):
    """Return a user, whose registration is an event."""
    return accounts.create_user(USERNAME, EMAIL, PASSWORD, settings=settings)


@pytest.fixture
def busy(ada, bearer):
    """Return Ada with a login and a permission."""
    bearer(ada)
    ada.grant("held.before")
    return ada


@pytest.mark.every_database
@pytest.mark.promise(51)
def test_a_change_that_is_not_written_down_or_is_rolled_back_leaves_no_trace(settings, busy):
    before = stored()
    for name, change in CHANGES.items():
        with broken_trail(), pytest.raises(DATABASE_ERRORS):
            change(User.get_by_id(busy.id), settings)
        assert stored() == before, name
        with storage.current().atomic() as transaction:
            change(User.get_by_id(busy.id), settings)
            after = stored()
            transaction.rollback()
        assert after[:3] != before[:3], name
        assert len(after[3]) > len(before[3]), name
        assert stored() == before, name


@pytest.mark.promise(51)
def test_requests_whose_changes_cannot_be_written_down_get_503(client, busy):
    before = stored()
    with broken_trail():
        client.post_json("/auth/login", CREDENTIALS, status=503)
        client.post_json("/auth/register", GRACE, status=503)
    assert stored() == before


def be_killed(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)


def grant_and_be_killed(url, when):
    """Grant a permission in this process, which is killed before or after the trail is written."""
    settings = Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=url)
    opened = AuthMiddleware(echo, settings).database
    if when == "before":
        events.insert_row = be_killed
    elif when == "after":
        events.record(opened, [be_killed])
    User.objects.get(username=USERNAME).grant("a.b")
    be_killed()


@pytest.mark.every_database
@pytest.mark.promise(27)
@pytest.mark.promise(51)
@pytest.mark.parametrize(
    ("when", "is_done"), [("before", False), ("after", False), ("at the end", True)]
)
def test_a_process_that_is_killed_leaves_both_or_neither(database_url, ada, when, is_done):
    process = FORKSERVER.Process(target=grant_and_be_killed, args=(database_url, when))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert ada.permissions == ({"a.b"} if is_done else set())
    assert names_of(page()) == ["rights_changed", "registration"][not is_done :]


@pytest.mark.every_database
@pytest.mark.promise(51)
def test_an_event_is_read_as_it_was_emitted(site, client, ada):
    heard = []
    events.subscribe(site.database, [heard.append])
    client.post_json("/auth/login", CREDENTIALS)
    ada.grant("a.b")
    accounts.delete_user(ada)
    assert [event for _, event in page()][:3] == heard[::-1]


def test_failed_attempts_of_strangers_write_nothing(client, ada):
    before = ids_of(page())
    client.post_json("/auth/login", WRONG, status=401)
    client.post_json("/auth/login", {**WRONG, "username": "nobody"}, status=401)
    client.post_json("/auth/register", {**GRACE, "username": USERNAME}, status=409)
    client.post("/auth/login", CREDENTIALS, headers={"Sec-Fetch-Site": "cross-site"}, status=403)
    client.post("/auth/logout")
    assert ids_of(page()) == before


@pytest.mark.every_database
def test_a_server_can_name_its_clients_as_it_likes(client, ada):
    addresses = ("", "\0", "\udcff\x1b[2K", "x" * 200, "2001:db8::7%eth0")
    for number, address in enumerate(addresses):
        account = {**GRACE, "username": f"user{number}", "email": f"{number}@example.org"}
        environ = {"REMOTE_ADDR": address}
        client.post_json("/auth/register", account, extra_environ=environ, status=201)
        ((_, event),) = page(size=1)
        assert (event.name, event.address.isprintable()) == ("registration", True), address
        assert len(event.address) <= 64


@pytest.mark.every_database
@pytest.mark.promise(40)
def test_of_a_deleted_user_the_trail_keeps_the_number_only(client, ada):
    client.post_json("/auth/login", CREDENTIALS)
    accounts.delete_user(ada)
    rows = [event for _, event in page(Filters(user_id=ada.id))]
    assert [event.name for event in rows] == ["user_deleted", "login", "registration"]
    assert not any(typed in str(rows).lower() for typed in (USERNAME.lower(), EMAIL))
    account = {**CREDENTIALS, "email": EMAIL}
    client.post_json("/auth/register", account, status=201)


# Kept for a time.


def keep(*times, **values):
    """Write events of these times."""
    row = {"name": "login", "user_id": 7, "actor": "user 7", **values}
    RecordedEvent.insert_many([{**row, "time": each} for each in times]).execute()


def times():
    return sorted(row.time for row in RecordedEvent.select())


@pytest.mark.every_database
def test_what_is_older_than_the_days_is_deleted(database):
    keep(NOW - 3 * DAY, NOW - 2 * DAY, NOW - 2 * DAY + 1, NOW)
    assert models.purge_events(NOW, 0) == 0
    assert models.purge_events(NOW, 2) == 2
    assert times() == [NOW - 2 * DAY + 1, NOW]


@pytest.mark.every_database
def test_a_new_event_replaces_old_ones(settings, ada, client):
    old = int(datetime.now(UTC).timestamp()) - 95 * DAY
    keep(old, old + 1)
    for days, is_kept in ((100, True), (0, True), (90, False)):
        models.keep_events(client.app.database, days)
        client.post_json("/auth/login", CREDENTIALS)
        assert (times()[:2] == [old, old + 1]) == is_kept, days


def test_the_days_are_a_setting(settings, ada):
    AuthMiddleware(echo, replace(settings, AUDIT_DAYS=2))
    keep(int(datetime.now(UTC).timestamp()) - 3 * DAY)
    User.objects.get(id=ada.id).grant("a.b")
    assert names_of(page()) == ["rights_changed", "registration"]


def test_a_failed_login_deletes_nothing(client, ada):
    keep(0)
    client.post_json("/auth/login", WRONG, status=401)
    assert times()[0] == 0


def test_a_trail_that_cannot_be_purged_fails_no_change(database, ada, caplog):
    keep(0)
    models.keep_events(database, 90)
    database.execute_sql(
        "CREATE TRIGGER fail BEFORE DELETE ON wsgiauth_event BEGIN SELECT RAISE(FAIL, 'x'); END"
    )
    ada.grant("a.b")
    assert ada.permissions == {"a.b"}
    assert "expired rows of wsgiauth_event stay for now: IntegrityError" in caplog.messages


# Read by pages.


@pytest.fixture
def many(database):
    """Write events of three users, several in each second."""
    with database.atomic():
        for number in range(60):
            keep(
                NOW + number // 4,
                user_id=number % 3,
                actor=("code", "user 1", "command line")[number // 20],
                system_user="ada" if number % 5 == 0 and number >= 40 else None,
                name=("login", "logout")[number % 2],
            )


def numbers(entries):
    """Return which events of `many` these are, from 0."""
    first = RecordedEvent.select(peewee.fn.MIN(RecordedEvent.id)).scalar()
    step = RecordedEvent.select(peewee.fn.MIN(RecordedEvent.id)).where(RecordedEvent.id > first)
    return [(each - first) // (step.scalar() - first) for each in ids_of(entries)]


def at(seconds):
    return datetime.fromtimestamp(NOW + seconds, UTC)


FILTERS = {
    "all": (Filters(), lambda _: True),
    "user": (Filters(user_id=2), lambda n: n % 3 == 2),
    "user 0": (Filters(user_id=0), lambda n: n % 3 == 0),
    "actor": (Filters(actor="user 1"), lambda n: 20 <= n < 40),
    "code": (Filters(actor="code"), lambda n: n < 20),
    "command line": (Filters(actor="command line"), lambda n: n >= 40),
    "user of the system": (Filters(actor="command line ada"), lambda n: n >= 40 and n % 5 == 0),
    "name": (Filters(name="logout"), lambda n: n % 2 == 1),
    "since": (Filters(since=at(7)), lambda n: n >= 28),
    "until": (Filters(until=at(7)), lambda n: n < 28),
    "a second": (Filters(since=at(7), until=at(8)), lambda n: 28 <= n < 32),
    "several": (
        Filters(user_id=1, name="login", since=at(5)),
        lambda n: n % 3 == 1 and n % 2 == 0 and n >= 20,
    ),
    "none": (Filters(user_id=7), lambda _: False),
}


@pytest.mark.every_database
def test_pages_are_all_that_matches_the_newest_first(many):
    for name, (filters, matches) in FILTERS.items():
        found, after = [], None
        while entries := page(filters, after=after, size=7):
            found += entries
            after = entries[-1].position
            assert len(entries) <= 7
        assert numbers(found) == [each for each in range(59, -1, -1) if matches(each)], name


@pytest.mark.every_database
def test_a_stream_is_all_that_matches_the_oldest_first(many, monkeypatch):
    monkeypatch.setattr(trail, "PAGE", 7)
    for name, (filters, matches) in FILTERS.items():
        expected = [each for each in range(60) if matches(each)]
        for last in (None, 1, 13, 60):
            found = [each for entries in stream(filters, last=last) for each in entries]
            shown = expected if last is None else expected[-last:]
            assert numbers(found) == shown, (name, last)


def test_a_position_can_be_that_of_a_row_that_is_gone(many):
    (newest,) = page(size=1)
    RecordedEvent.delete_by_id(newest.position.id)
    assert numbers(page(after=newest.position, size=2)) == [58, 57]
    assert page(after=Position(0, 0)) == []


@pytest.fixture
def plenty(database):
    """Write so many events that the indexes are worth it.

    Of few, MariaDB's estimates depend on which deleted rows it has purged so far.
    """
    rows = [
        {
            "time": NOW + number // 4,
            "name": ("login", "logout")[number % 2],
            "user_id": number % 3,
            "actor": f"user {number % 3}",
        }
        for number in range(2000)
    ]
    with database.atomic():
        for first in range(0, len(rows), 500):
            RecordedEvent.insert_many(rows[first : first + 500]).execute()


INDEXED = {
    "all": Filters(),
    "user": Filters(user_id=2),
    "actor": Filters(actor="user 1"),
    "name": Filters(name="logout"),
    "user since": Filters(user_id=2, since=at(7), until=at(9)),
}


@pytest.mark.every_database
def test_a_page_reads_an_index_in_its_order(database, plenty, queries):
    if isinstance(database, peewee.PostgresqlDatabase):  # the table is too small for its indexes
        database.execute_sql("SET enable_seqscan = off")
        database.execute_sql("SET enable_bitmapscan = off")
    plans = []
    explain = "EXPLAIN QUERY PLAN" if isinstance(database, peewee.SqliteDatabase) else "EXPLAIN"
    execute = database.execute

    def explained(query, *arguments, **options):
        sql, parameters = database.get_sql_context().sql(query).query()
        plans.append(str(database.execute_sql(f"{explain} {sql}", parameters).fetchall()))
        return execute(query, *arguments, **options)

    database.execute = explained
    for filters in INDEXED.values():
        page(filters, after=Position(NOW + 25, 2**40), size=5)
    del database.execute
    # By `ref`, MariaDB would read all rows of the user, actor or name that are newer.
    slow = ("Sort", "filesort", "TEMP B-TREE", "SCAN", "'ref'")
    for name, plan in zip(INDEXED, plans, strict=True):
        assert "wsgiauth_event_" in plan, name
        assert [word for word in slow if word in plan] == [], name


# Followed.


@pytest.mark.every_database
def test_a_follower_reads_each_further_event_once(database):
    keep(NOW)
    follower = Follower()
    assert follower.poll() == []
    keep(NOW + 1, NOW)
    assert [position.time - NOW for position, _ in follower.poll()] == [1, 0]
    assert follower.poll() == []


def test_a_follower_of_an_empty_trail_reads_its_first_event(database):
    follower = Follower()
    keep(NOW)
    assert names_of(follower.poll()) == ["login"]


def test_a_follower_reads_what_matches(database):
    follower = Follower(Filters(name="logout"))
    keep(NOW)
    keep(NOW, name="logout")
    assert names_of(follower.poll()) == ["logout"]


def test_a_follower_reads_what_is_committed_late(database):
    keep(NOW, id=1)
    follower = Follower()
    keep(NOW, id=9)
    assert ids_of(follower.poll()) == [9]
    keep(NOW, id=5)
    assert ids_of(follower.poll()) == [5]
    for _ in range(trail.LATE_POLLS):
        assert follower.poll() == []
    keep(NOW, id=4)
    assert follower.poll() == []


def test_a_follower_leaves_out_what_was_read_meanwhile(database):
    keep(NOW, id=1)
    follower = Follower()
    keep(NOW, id=2)
    follower.skip([entry for entries in stream() for entry in entries])
    keep(NOW, id=3)
    assert ids_of(follower.poll()) == [3]


def test_times_are_in_utc(database):
    keep(NOW)
    ((_, event),) = page()
    assert event.time == datetime.fromtimestamp(NOW, UTC)
    assert event.time.utcoffset() == timedelta()
