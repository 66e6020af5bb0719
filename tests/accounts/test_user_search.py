"""Pages of users: each user once, in order, whatever the criteria, for a bounded work."""

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise

import peewee
import pytest

from tests.conftest import HASH, insert_users
from wsgiauth.accounts import user_search
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import key
from wsgiauth.accounts.tables import Membership
from wsgiauth.accounts.user_search import Criteria, all_users, find_users

pytestmark = [pytest.mark.every_database, pytest.mark.promise(50)]

DAY = datetime(2026, 11, 2, tzinfo=UTC)
EVEN = [f"User{number}" for number in range(0, 130, 2)]
FILTERS = {
    "superusers": ({"is_superuser": True}, lambda user: user.is_superuser),
    "no superusers": ({"is_superuser": False}, lambda user: not user.is_superuser),
    "staff": ({"is_staff": True}, lambda user: user.is_staff),
    "active": ({"is_active": True}, lambda user: user.is_active),
    "inactive": ({"is_active": False}, lambda user: not user.is_active),
    "verified": ({"is_verified": True}, lambda user: user.email_verified_at),
    "not verified": ({"is_verified": False}, lambda user: not user.email_verified_at),
    "logged in": ({"has_logged_in": True}, lambda user: user.last_login_at),
    "never logged in": ({"has_logged_in": False}, lambda user: not user.last_login_at),
    "all": ({}, lambda user: True),
    "a beginning": ({"beginning": "USER1"}, lambda user: key(user.username).startswith("user1")),
    "of an address": ({"beginning": "1"}, lambda user: user.email.startswith("1")),
    "a beginning and staff": (
        {"beginning": "user1", "is_staff": True},
        lambda user: user.username.startswith("User1") and user.is_staff,
    ),
    "a group": ({"group_id": 0}, lambda user: [*user.groups]),
    "a beginning in a group": (
        {"group_id": 0, "beginning": "user2"},
        lambda user: [*user.groups] and user.username.startswith("User2"),
    ),
    "inactive in a group": (
        {"group_id": 0, "is_active": False},
        lambda user: [*user.groups] and not user.is_active,
    ),
    "two filters": (
        {"is_active": False, "has_logged_in": True},
        lambda user: not user.is_active and user.last_login_at,
    ),
}


@pytest.fixture(autouse=True)
def people(database):
    """Insert users of every kind, some of them at the same moment."""
    with database.atomic():
        insert_users(130)
        editors, others = (Group.objects.create(name=name) for name in ("Editors", "Others"))
        even = User.select(peewee.Value(editors.id), User.id).where(User.username.in_(EVEN))
        Membership.insert_from(even, [Membership.group, Membership.user]).execute()
        User.get(User.username == "User1").join(others)
        User.get(User.username == "User1").leave(others)
        for number in range(0, 130, 2):
            fields = {
                "is_superuser": number % 4 == 0,
                "is_staff": number % 6 == 0,
                "is_active": number % 10 != 0,
                "email_verified_at": DAY + timedelta(days=number % 14) if number % 7 else None,
                "last_login_at": DAY + timedelta(days=number % 6) if number % 8 else None,
            }
            User.update(**fields).where(User.username == f"User{number}").execute()


@pytest.fixture
def small(monkeypatch):
    """Let a page be small, and the rows that it examines few."""
    monkeypatch.setattr(user_search, "PAGE", 7)
    monkeypatch.setattr(user_search, "EXAMINED", 20)


def criteria_of(name):
    """Return the criteria of a name in `FILTERS`."""
    fields = dict(FILTERS[name][0])
    if "group_id" in fields:
        fields["group_id"] = Group.objects.find("editors").id
    return Criteria(**fields)


def make(username, email):
    return User.objects.create(username=username, email=email, hashed_password=HASH)


def pages(criteria):
    """Return all pages."""
    found = [find_users(criteria)]
    while found[-1].after:
        found.append(find_users(criteria, found[-1].after))
    return found


def listed(criteria):
    return [user for page in pages(criteria) for user in page.users]


def test_the_pages_have_each_matching_user_once(small):
    users = [*User.select()]
    for name, (_, matches) in FILTERS.items():
        expected = {user.id for user in users if matches(user)}
        found = [user.id for user in listed(criteria_of(name))]
        assert expected, name
        assert sorted(found) == sorted(expected), name


def test_all_users_are_those_of_the_pages():
    for name in FILTERS:
        assert [*all_users(criteria_of(name))] == listed(criteria_of(name)), name


def test_no_page_is_longer_than_it_should_be_and_only_the_last_may_be_empty(small):
    for name in FILTERS:
        for page in pages(criteria_of(name)):
            assert len(page.users) <= 7, name
            assert page.is_cut == bool(page.after and len(page.users) < 7), name


def test_without_criteria_the_newest_come_first(small):
    assert [user.username for user in find_users(Criteria()).users[:2]] == ["User129", "User128"]


def test_names_come_in_their_order(small):
    found = [user.username for user in listed(Criteria(beginning="user"))]
    assert [key(name) for name in found] == sorted(map(key, found))
    assert len(found) == 130


@pytest.mark.parametrize("column", ["email_verified_at", "last_login_at"])
def test_times_come_the_latest_first(small, column):
    criteria = {"email_verified_at": "is_verified", "last_login_at": "has_logged_in"}
    found = listed(Criteria(**{criteria[column]: True}))
    assert all(
        (getattr(one, column), one.id) > (getattr(another, column), another.id)
        for one, another in pairwise(found)
    )


def test_of_many_who_logged_in_at_the_same_moment_each_comes_once(small):
    User.update(last_login_at=DAY).execute()
    found = [user.id for user in listed(Criteria(has_logged_in=True))]
    assert found == sorted(found, reverse=True)
    assert len({*found}) == 130
    assert [user.id for user in all_users(Criteria(has_logged_in=True))] == found


def test_a_user_has_the_values_of_the_row():
    user = User.get(User.username == "User2")
    (found,) = find_users(Criteria(beginning="user2"), "name:user19999").users[:1]
    assert found._asdict() == {name: getattr(user, name) for name in found._fields}


@pytest.mark.parametrize(
    ("beginning", "expected"),
    [
        ("ada", ["ada", "ada-2", "Adam"]),
        ("ADA", ["ada", "ada-2", "Adam"]),
        ("ada-", ["ada-2"]),
        ("ada_", []),
        ("ada%", []),
        ("ada@", ["ada"]),
        ("adam", ["ada", "Adam"]),  # by the address of ada
        ("\N{BLACK-LETTER CAPITAL H}", ["Hal"]),
        ("é", ["Édith"]),
        ("nobody", []),
        ("x" * 5000, []),
        ("\x00", []),
        ("\ud7ff", []),
    ],
)
def test_names_are_found_by_their_beginning_in_any_letter_case(beginning, expected):
    for username, email in (
        ("ada", "adamant@example.org"),
        ("ada-2", "two@example.org"),
        ("Adam", "adam@example.org"),
        ("Hal", "hal@example.org"),
        ("Édith", "e@example.org"),
    ):
        make(username, email)
    make("other", "ada@example.org")
    found = {user.username for user in listed(Criteria(beginning=beginning))}
    also = {"other"} if "ada@example.org".startswith(key(beginning)) else set()
    assert found == {*expected, *also} - ({"ada"} if beginning == "ada@" else set())


def test_a_user_whose_names_both_match_is_listed_once(small):
    make("zoe", "zoe@example.org")
    make("zoe.b", "z@example.org")
    make("zz", "zoe.a@example.org")
    found = [user.username for user in listed(Criteria(beginning="zoe"))]
    assert found == ["zoe", "zz", "zoe.b"]


@pytest.mark.parametrize(
    "after",
    [
        "name",
        "newest:",
        "newest:x",
        "newest:-1",
        "name:ada",
        "is_staff:3",
        "has_logged_in:x~y",
        ":",
    ],
)
def test_an_unknown_position_is_the_first_page(after):
    assert find_users(Criteria(), after) == find_users(Criteria())


@pytest.mark.parametrize("after", ["has_logged_in:x~1", "has_logged_in:0001-01-01~x", "name:\x00"])
def test_a_malformed_position_is_the_first_page(after):
    criteria = Criteria(has_logged_in=True, beginning="user")
    name = after.partition(":")[0]
    assert find_users(criteria, after) == find_users(criteria, f"{name}:")


def test_a_short_way_is_preferred(small, queries):
    User.update(is_staff=False).execute()
    User.update(is_staff=True).where(User.username == "User77").execute()
    (page,) = pages(Criteria(beginning="user", is_staff=True))
    assert [user.username for user in page.users] == ["User77"]
    assert not page.is_cut


@pytest.mark.parametrize(("rows", "way"), [(20, "is_staff"), (21, "name")])
def test_a_way_is_short_if_one_page_can_examine_it(small, rows, way):
    ids = [user.id for user in User.select()]
    User.update(is_staff=False).execute()
    User.update(is_staff=True).where(User.id.in_(ids[:rows])).execute()
    found = find_users(Criteria(beginning="user", is_staff=True))
    assert found.after.startswith(f"{way}:")


def test_a_page_whose_rows_do_not_match_goes_on(small):
    User.update(is_staff=False, is_active=True).execute()
    ids = [user.id for user in User.select()][::2]
    User.update(is_staff=True).where(User.id.in_(ids)).execute()
    User.update(is_active=False).where(User.id.not_in(ids)).execute()
    first, *others = pages(Criteria(is_staff=True, is_active=False))
    assert (first.users, first.is_cut) == ([], True)
    assert [each.users for each in others] == [[]] * len(others)


def test_nothing_is_yielded_for_what_cannot_begin_a_name():
    assert [*all_users(Criteria(beginning="\n"))] == []


def test_a_page_costs_few_queries(queries):
    for name in FILTERS:
        assert len(queries(partial(find_users, criteria_of(name)))) <= 5, name


def test_a_page_reads_no_more_rows_than_it_examines(database, monkeypatch):
    User.update(is_staff=False).execute()
    insert_users(2 * user_search.EXAMINED, start=130)
    ids = [user.id for user in User.select()][::2]
    User.update(is_staff=True, is_active=False).where(User.id.in_(ids)).execute()
    read = []
    original = user_search._read

    def counted(*arguments, **options):
        rows = original(*arguments, **options)
        read.extend(rows)
        return rows

    monkeypatch.setattr(user_search, "_read", counted)
    found = find_users(Criteria(is_staff=True, is_active=True))
    assert (len(found.users), found.is_cut) == (0, True)
    assert len(read) == user_search.EXAMINED + 1  # one that says that there are more


def test_users_of_one_kind_are_read_in_the_order_of_an_index(small, database, monkeypatch):
    plans = []
    explain = "EXPLAIN QUERY PLAN" if isinstance(database, peewee.SqliteDatabase) else "EXPLAIN"
    original = user_search._read

    def explained(query, size):
        sql, parameters = query.limit(size).sql()
        plans.append(str(database.execute_sql(f"{explain} {sql}", parameters).fetchall()))
        return original(query, size)

    monkeypatch.setattr(user_search, "_read", explained)
    with database.atomic():
        if isinstance(database, peewee.PostgresqlDatabase):  # few rows need no index
            database.execute_sql("SET LOCAL enable_seqscan = off")
            database.execute_sql("SET LOCAL enable_bitmapscan = off")
        for name in ("superusers", "active", "inactive", "not verified", "never logged in"):
            pages(criteria_of(name))
    assert len(plans) > 5  # also of later pages
    assert [plan for plan in plans if re.search("TEMP B-TREE|[Ss]ort", plan)] == []
