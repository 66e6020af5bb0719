"""API keys: what they permit, until when, and at whose cost."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest

from tests.support.sites import PASSWORD
from tests.support.timing import shortest
from wsgiauth import Group, User, change_password, storage
from wsgiauth.accounts import create_user, update_user
from wsgiauth.accounts.tables import Key, revoke_keys
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.keys import api_keys
from wsgiauth.features.keys.api_keys import MAX_KEYS, ListedKey, TooManyKeysError, make_key
from wsgiauth.storage.connections import BUSY_TIMEOUT
from wsgiauth.storage.upkeep import purge_expired

pytestmark = pytest.mark.promise(57)

NOW = 2_000_000_000  # seconds since the epoch, when these tests happen
HOUR, DAY = 3600, 86400
LOCKS = {
    "sqlite": ("BEGIN IMMEDIATE", "ROLLBACK"),
    "postgresql": ("BEGIN; SELECT id FROM wsgiauth_key FOR UPDATE", "ROLLBACK"),
    "mariadb": ("START TRANSACTION; SELECT id FROM wsgiauth_key FOR UPDATE", "ROLLBACK"),
}


@pytest.fixture
def ada(ada):
    """Return a user with permissions."""
    ada.grant("a.read", "a.write")
    return ada


def create(user, *permissions, name="export", days=90, now=NOW):
    return api_keys.create(user, name, permissions or ["a.read"], days=days, now=now)


def caller_of(made, now=NOW):
    found = api_keys.find(made.text, now)
    return found and found[0]


# What a key permits


@pytest.mark.every_database
def test_a_key_identifies_its_owner(ada):
    made = create(ada, "a.read")
    assert api_keys.find(made.text, NOW) == (ada, made.row.id)


@pytest.mark.every_database
@pytest.mark.promise(54)
def test_the_database_has_only_a_digest_of_a_key(ada):
    made = create(ada)
    (row,) = Key.select().dicts()
    secret = made.text.rpartition("_")[2]
    assert not any(secret[:20] in str(value) for value in row.values())


def test_a_key_has_only_its_permissions(ada):
    caller = caller_of(create(ada, "a.read"))
    assert caller.permissions == {"a.read"}
    assert (caller.has_permission("a.read"), caller.has_permission("a.write")) == (True, False)


@pytest.mark.every_database
def test_a_key_loses_what_its_owner_loses_at_once(ada):
    caller = caller_of(create(ada, "a.read"))
    ada.revoke("a.read")
    assert caller.permissions == frozenset()
    assert not caller.has_permission("a.read")


@pytest.mark.every_database
def test_permissions_of_groups_count(ada):
    editors = Group.objects.create(name="editors")
    editors.grant("b.edit")
    ada.join(editors)
    caller = caller_of(create(ada, "b.edit"))
    assert caller.has_permission("b.edit")
    assert list(caller.groups) == []
    ada.leave(editors)
    assert not caller.has_permission("b.edit")


@pytest.mark.every_database
def test_the_key_of_a_superuser_has_exactly_its_permissions(ada):
    update_user(ada, is_superuser=True, is_staff=True)
    caller = caller_of(create(ada, "c.any"))
    assert caller.permissions == {"c.any"}
    assert (caller.has_permission("c.any"), caller.has_permission("a.read")) == (True, False)
    assert (caller.is_superuser, caller.is_staff) == (False, False)


def test_the_key_of_a_former_superuser_has_no_more_than_its_owner(ada, settings):
    create_user("Bob", "bob@example.org", PASSWORD, settings=settings, is_superuser=True)
    update_user(ada, is_superuser=True)
    made = create(ada, "c.any", "a.read")
    update_user(ada, is_superuser=False)
    assert caller_of(made).permissions == {"a.read"}
    assert not caller_of(made).has_permission("c.any")


def test_a_caller_that_is_saved_or_pickled_stays_limited_and_changes_nothing_else(ada):
    update_user(ada, is_superuser=True, is_staff=True)
    caller = pickle.loads(pickle.dumps(caller_of(create(ada, "c.any"))))  # noqa: S301 - our own
    caller.username = "Lovelace"
    caller.save()
    assert not caller.has_permission("a.read")
    stored = User.get_by_id(ada.id)
    assert (stored.username, stored.is_superuser, stored.is_staff) == ("Lovelace", True, True)
    assert not stored.is_limited


# Who can make one


def test_what_a_key_is_made_with_has_rules(ada):
    refused = [
        ("name", {"name": ""}),
        ("name", {"name": " x"}),
        ("name", {"name": "x" * 101}),
        ("name", {"name": "a\u202eb"}),  # changes the direction
        ("days", {"days": 0}),
        ("days", {"days": 3651}),
        ("permissions", {"permissions": ["a.read", "b.other"]}),
        ("permissions", {"permissions": ["a.read a.write"]}),
        ("permissions", {"permissions": ["*"]}),
        ("permissions", {"permissions": [f"a.b{number}" for number in range(101)]}),
    ]
    found = []
    for _, values in refused:
        fields = {"name": "export", "permissions": ["a.read"], **values}
        with pytest.raises(ValidationError) as caught:
            api_keys.create(ada, **fields, now=NOW)
        found.append((*caught.value.errors, values))
    assert found == refused
    assert not Key.select().exists()


def test_a_superuser_chooses_any_well_formed_permission(ada):
    update_user(ada, is_superuser=True)
    assert caller_of(create(ada, "c.any")).has_permission("c.any")
    with pytest.raises(ValidationError):
        create(ada, "any")


@pytest.mark.every_database
def test_the_number_of_keys_is_limited_and_ended_ones_do_not_count(ada):
    for _ in range(MAX_KEYS - 1):
        create(ada)
    create(ada, days=1, now=NOW - DAY)  # has expired
    last = create(ada)
    with pytest.raises(TooManyKeysError, match="20"):
        create(ada)
    api_keys.revoke(ada, last.row.id)
    assert create(ada)


def create_in_process(url):
    storage.open_database(url, prepare=lambda opened: None)
    try:
        create(User.get())
    except TooManyKeysError:
        return False
    return True


@pytest.mark.every_database
def test_not_even_concurrent_requests_exceed_the_limit(in_processes, ada, settings):
    for _ in range(MAX_KEYS - 3):
        create(ada)
    made = in_processes(create_in_process, settings.DATABASE_URL)
    assert sorted(made) == [False] * 5 + [True] * 3


@pytest.mark.every_database
def test_who_has_been_changed_or_removed_meanwhile_gets_no_key(ada, settings):
    change_password(User.get_by_id(ada.id), "another unrelated phrase", settings=settings)
    assert create(ada) is None  # of a login by the old password
    for change in (
        lambda user: update_user(user, is_active=False),
        lambda user: User.update(is_active=False).execute(),
        lambda user: user.delete_instance(),
    ):
        stale = User.get_by_id(ada.id)
        change(User.get_by_id(ada.id))
        assert create(stale) is None
        User.update(is_active=True).execute()
    assert not Key.select().exists()


# How it ends


def test_a_key_ends_at_its_time(ada):
    made = create(ada, days=2)
    assert caller_of(made, NOW + 2 * DAY - 1)
    assert caller_of(made, NOW + 2 * DAY) is None


@pytest.mark.every_database
def test_an_ended_key_is_anonymous_and_others_go_on(ada):
    made, other = create(ada), create(ada)
    assert api_keys.revoke(ada, made.row.id)
    assert not api_keys.revoke(ada, made.row.id)
    assert caller_of(made) is None
    assert caller_of(other)


@pytest.mark.every_database
def test_a_user_cannot_end_the_key_of_another(ada, settings):
    made = create(ada)
    bob = create_user("Bob", "bob@example.org", PASSWORD, settings=settings)
    assert not api_keys.revoke(bob, made.row.id)
    assert caller_of(made)


@pytest.mark.every_database
def test_a_deactivation_ends_all_keys_for_good(ada):
    made = create(ada)
    update_user(ada, is_active=False)
    assert not Key.select().exists()
    update_user(ada, is_active=True)
    assert caller_of(made) is None


@pytest.mark.every_database
def test_a_deactivation_in_the_database_ends_them_at_the_latest_when_it_is_undone(ada):
    made = create(ada)
    User.update(is_active=False).execute()
    assert caller_of(made) is None
    update_user(ada, is_active=True)
    assert caller_of(made) is None


@pytest.mark.every_database
def test_a_key_can_outlive_a_new_password_but_not_its_user(ada, settings):
    made = create(ada)
    update_user(ada, is_active=True)  # which they are
    assert caller_of(made)
    change_password(ada, "another unrelated phrase", settings=settings, end_keys=False)
    assert caller_of(made)
    ada.delete_instance()
    assert caller_of(made) is None
    assert not Key.select().exists()


@pytest.mark.every_database
def test_expired_keys_are_deleted(ada):
    create(ada, days=1)
    create(ada, days=3)
    assert purge_expired(Key, NOW + 2 * DAY) == 1
    create(ada, now=NOW + 4 * DAY)
    assert Key.select().count() == 1


@pytest.mark.every_database
@pytest.mark.promise(51)
def test_each_change_is_in_the_trail_with_the_id(ada):
    made, _ = create(ada), create(ada)
    api_keys.revoke(ada, made.row.id)
    revoke_keys(ada.id)
    assert revoke_keys(ada.id) == 0
    rows = RecordedEvent.select().where(RecordedEvent.name.startswith("key_"))
    of_first = [(row.name, row.reason) for row in rows.order_by(RecordedEvent.id)]
    assert of_first[0] == ("key_created", made.row.id)
    assert of_first[2:] == [("key_ended", made.row.id), ("key_ended", "all keys")]


# What it costs


@pytest.mark.every_database
def test_a_key_costs_one_select_and_an_update_in_an_hour(ada, queries):
    made = create(ada)
    sent = {at: queries(lambda at=at: caller_of(made, NOW + at)) for at in (0, 1, HOUR - 1, HOUR)}
    kinds = {
        at: [sql.split()[0] for sql in each if "wsgiauth_key" in sql] for at, each in sent.items()
    }
    assert [each.count("SELECT") for each in kinds.values()] == [1, 1, 1, 1]
    assert [each.count("UPDATE") for each in kinds.values()] == [1, 0, 0, 1]
    assert len(sent[1]) == 1
    assert Key.get().last_used_at == NOW + HOUR


def test_what_cannot_be_a_key_costs_no_query(ada, queries):
    text = create(ada).text
    spoilt = [
        text[:-1] + ("0" if text[-1] != "0" else "1"),
        text + "x",
        text * 1000,
        text[:-1] + "\xff",
        "wsgiauth_",
        "wsgiauth_x.y.z",
    ]
    found = []
    assert queries(lambda: found.extend(api_keys.find(each, NOW) for each in spoilt)) == []
    assert found == [None] * len(spoilt)


@pytest.mark.every_database
def test_a_well_formed_key_that_was_not_made_is_none(ada):
    made = create(ada)
    assert api_keys.find(make_key()[1], NOW) is None
    Key.update(digest="0" * 64).execute()
    assert caller_of(made) is None


@pytest.mark.every_database
def test_no_lock_delays_a_request(request, ada, database, settings, caplog):
    made = create(ada)
    rival = storage.open_database(settings.DATABASE_URL, prepare=lambda opened: None)
    storage.context.use(database)
    lock, unlock = LOCKS[request.node.callspec.params["database_url"]]
    for sql in lock.split("; "):
        rival.execute_sql(sql)

    def use():
        assert caller_of(made)

    assert shortest(use) < BUSY_TIMEOUT
    rival.execute_sql(unlock)
    storage.discard_connection(rival)
    assert (Key.get().last_used_at, caplog.records) == (None, [])
    assert caller_of(made)
    assert Key.get().last_used_at == NOW


@pytest.mark.every_database
def test_of_threads_that_use_a_key_at_once_none_fails(ada):
    made = create(ada)

    def use(_):
        try:
            return caller_of(made) is not None
        finally:
            storage.discard_connection(storage.current())

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(40)))
    assert Key.get().last_used_at == NOW


MADE = HOUR * 500_000 + 1200  # some minutes after a full hour


def test_the_last_use_is_shown_to_the_hour_and_never_before_the_key_was_made():
    shown = {
        None: None,
        MADE + 60: datetime.fromtimestamp(MADE, UTC),  # in the hour in which it was made
        MADE + HOUR: datetime.fromtimestamp(MADE - 1200 + HOUR, UTC),
    }
    row = {"id": "k", "name": "n", "permissions": "a.b", "created_at": MADE, "expires_at": 0}
    found = {used: ListedKey.of(Key(**row, last_used_at=used)).last_used_at for used in shown}
    assert found == shown
