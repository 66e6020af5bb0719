"""Pages of users: each user once, in order, whatever the criteria, for a bounded work."""

import re
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise

import peewee
import pytest

from tests.conftest import HASH, insert_users
from wsgiauth import storage
from wsgiauth.accounts import user_criteria, user_orders, user_search
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import key
from wsgiauth.accounts.tables import Membership
from wsgiauth.accounts.user_criteria import Criteria
from wsgiauth.accounts.user_search import SORTS, all_users, find_users

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
NEVER = datetime.min.replace(tzinfo=UTC)
SORT_KEYS = {
    "created": lambda user: user.id,
    "username": lambda user: key(user.username),
    "email": lambda user: key(user.email),
    "last_login": lambda user: (user.last_login_at or NEVER, user.id),
}


@pytest.fixture(autouse=True)
def people(database):
    """Insert users of every kind, some of them at the same moment."""
    with database.atomic():
        insert_users(130, changes={number: of_kind(number) for number in range(0, 130, 2)})
        editors, others = (Group.objects.create(name=name) for name in ("Editors", "Others"))
        even = User.select(peewee.Value(editors.id), User.id).where(User.username.in_(EVEN))
        Membership.insert_from(even, [Membership.group, Membership.user]).execute()
        User.get(User.username == "User1").join(others)
        User.get(User.username == "User1").leave(others)


def of_kind(number):
    return {
        "is_superuser": number % 4 == 0,
        "is_staff": number % 6 == 0,
        "is_active": number % 10 != 0,
        "email_verified_at": DAY + timedelta(days=number % 14) if number % 7 else None,
        "last_login_at": DAY + timedelta(days=number % 6) if number % 8 else None,
    }


@pytest.fixture
def small(monkeypatch):
    """Let a page be small, and the rows that it examines few."""
    monkeypatch.setattr(user_search, "PAGE", 12)
    monkeypatch.setattr(user_search, "EXAMINED", 20)


def criteria_of(name):
    """Return the criteria of a name in `FILTERS`."""
    fields = dict(FILTERS[name][0])
    if "group_id" in fields:
        fields["group_id"] = Group.objects.find("editors").id
    return Criteria(**fields)


def filters_in(sort):
    """Yield the criteria and the test of filters that offer an order; on a server, of a third."""
    names = list(FILTERS)
    if not isinstance(storage.current(), peewee.SqliteDatabase):
        names = names[["", *SORTS].index(sort) % 3 :: 3]  # others for the next order
    for name in names:
        criteria = criteria_of(name)
        if sort in ("", *find_users(criteria, sort).sorts):
            yield name, criteria, FILTERS[name][1]


def make(username, email):
    return User.objects.create(username=username, email=email, hashed_password=HASH)


def pages(criteria, sort=""):
    """Return all pages."""
    found = [find_users(criteria, sort)]
    while found[-1].after:
        found.append(find_users(criteria, sort, after=found[-1].after))
    return found


def listed(criteria, sort=""):
    return [user for page in pages(criteria, sort) for user in page.users]


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
            assert len(page.users) <= 12, name
            assert page.is_cut == bool(page.after and len(page.users) < 12), name


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
    (found,) = find_users(Criteria(beginning="user2"), after="name:user19999").users[:1]
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
    "after", ["name", "-created", "-created:x", "-created:-1", "name:ada", ":"]
)
def test_an_unknown_position_is_the_first_page(after):
    assert find_users(Criteria(), after=after) == find_users(Criteria())
    assert find_users(Criteria(), before=after) == find_users(Criteria())


@pytest.mark.parametrize(
    "after", ["-last_login:x~1", "-last_login:0001-01-01~x", "-last_login:2026-01-01", "name:\x00"]
)
def test_a_malformed_position_is_the_first_page(after):
    criteria = Criteria(beginning="user") if after.startswith("name") else Criteria()
    sort = after.partition(":")[0]
    assert find_users(criteria, sort, after=after) == find_users(criteria, sort)


def test_a_short_way_is_preferred(small, queries):
    User.update(is_staff=False).execute()
    User.update(is_staff=True).where(User.username == "User77").execute()
    (page,) = pages(Criteria(beginning="user", is_staff=True))
    assert [user.username for user in page.users] == ["User77"]
    assert not page.is_cut


@pytest.mark.parametrize(("rows", "is_sorted"), [(20, True), (21, False)])
def test_users_whom_one_page_can_examine_come_in_any_order(small, rows, is_sorted):
    ids = [user.id for user in User.select()]
    User.update(is_staff=False).execute()
    User.update(is_staff=True).where(User.id.in_(ids[:rows])).execute()
    found = find_users(Criteria(beginning="user", is_staff=True), "-email")
    assert found.sort == ("-email" if is_sorted else "name")
    assert found.sorts == (SORTS if is_sorted else ())


@pytest.mark.parametrize("sort", SORTS)
def test_users_come_in_the_order_that_was_asked_for(small, sort):
    users = [*User.select()]
    for name, criteria, matches in filters_in(sort):
        expected = [user for user in users if matches(user)]
        expected.sort(key=SORT_KEYS[sort.strip("-")], reverse=sort.startswith("-"))
        found = [user.id for user in listed(criteria, sort)]
        assert found == [user.id for user in expected], name
        assert [user.id for user in all_users(criteria, sort)] == found, name


@pytest.mark.parametrize("sort", ["", *SORTS])
def test_the_pages_before_have_each_user_too(small, sort):
    for name, criteria, _ in filters_in(sort):
        page = find_users(criteria, sort, before=f"{find_users(criteria, sort).sort}:")
        found = page.users
        while page.before:
            page = find_users(criteria, sort, before=page.before)
            found = [each for each in page.users if each not in found] + found
        assert found == listed(criteria, sort), name


@pytest.mark.parametrize("sort", ["", *SORTS])
def test_each_page_leads_to_the_users_before_and_after_it(small, sort):
    for name, criteria, _ in filters_in(sort):
        first, *others = pages(criteria, sort)
        everyone = [user for page in (first, *others) for user in page.users]
        for page in others:
            back = find_users(criteria, sort, before=page.before)
            at = everyone.index(page.users[0]) if page.users else len(everyone)
            if back.before:
                assert back.users == everyone[at - len(back.users) : at], name
            else:
                assert back == first, name
            if back.before and back.after:
                again = find_users(criteria, sort, after=back.after)
                assert again.users == everyone[at : at + len(again.users)], name


def test_the_page_before_a_page_that_was_cut_short_is_cut_short_from_its_end(small):
    User.update(is_staff=False, is_active=True).execute()
    ids = [user.id for user in User.select().order_by(User.id)]
    User.update(is_staff=True).where(User.id.in_(ids[:100])).execute()
    User.update(is_active=False).where(User.id.in_([*ids[:5], *ids[60:65], *ids[100:]])).execute()
    insert_users(100, start=130)
    User.update(is_active=False).where(User.id > ids[-1]).execute()
    criteria = Criteria(is_staff=True, is_active=False)
    *_, last = pages(criteria, "-created")
    assert [user.id for user in last.users] == ids[:5][::-1]
    page = find_users(criteria, "-created", before=last.before)
    assert (page.users, page.is_cut, page.is_backward) == ([], True, True)
    while not page.users:
        page = find_users(criteria, "-created", before=page.before)
    assert [user.id for user in page.users] == ids[60:65][::-1]
    assert (page.is_cut, page.is_backward) == (True, True)


def test_the_first_page_has_none_before(small):
    first = find_users(Criteria())
    assert first.before == ""
    assert find_users(Criteria(), after=first.after).before
    assert find_users(Criteria(), before=find_users(Criteria(), after=first.after).before) == first


def test_a_page_behind_the_last_user_leads_back(small):
    oldest = listed(Criteria())[-1]
    behind = find_users(Criteria(), after=f"-created:{oldest.id}")
    assert (behind.users, behind.after) == ([], "")
    assert find_users(Criteria(), before=behind.before).users[-1] == oldest


def test_who_never_logged_in_comes_after_all_others_and_before_them_in_the_other_direction(small):
    logged_in = [bool(user.last_login_at) for user in listed(Criteria(), "-last_login")]
    assert logged_in == sorted(logged_in, reverse=True)
    logged_in = [bool(user.last_login_at) for user in listed(Criteria(), "last_login")]
    assert logged_in == sorted(logged_in)


@pytest.mark.parametrize(
    ("name", "sorts"),
    [
        ("all", SORTS),
        ("active", SORTS),
        ("no superusers", SORTS),
        ("verified", SORTS),
        ("never logged in", ("-created", "created")),
        ("a group", ("-created", "created")),
        ("a beginning", ()),
        ("two filters", SORTS),  # few are inactive
        ("superusers", ("-created", "created")),
    ],
)
def test_an_order_without_an_index_is_not_offered(small, name, sorts):
    assert find_users(criteria_of(name)).sorts == sorts


def test_an_order_that_is_not_offered_is_the_usual_one(small):
    assert find_users(criteria_of("a group"), "email") == find_users(criteria_of("a group"))
    assert find_users(criteria_of("a group"), "email").sort == "-created"


def test_the_users_who_match_are_counted(small):
    users = [*User.select()]
    for name, (_, matches) in FILTERS.items():
        found = find_users(criteria_of(name))
        expected = sum(1 for user in users if matches(user))
        assert (found.total, found.is_exact) == (expected, True), name


def test_a_count_ends_at_its_bound(small, monkeypatch):
    monkeypatch.setattr(user_criteria, "COUNTED", 40)
    monkeypatch.setattr(user_search, "COUNTED", 40)
    users = [*User.select()]
    for name, (fields, matches) in FILTERS.items():
        found = find_users(criteria_of(name))
        matching = sum(1 for user in users if matches(user))
        if found.is_exact:
            assert found.total == matching, name
        elif len(fields) == 1:
            assert found.total == 41 <= matching, name
        else:
            assert found.total <= matching, name
    assert not find_users(Criteria()).is_exact


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
    original = user_orders.read

    def counted(*arguments, **options):
        rows = original(*arguments, **options)
        read.extend(rows)
        return rows

    monkeypatch.setattr(user_orders, "read", counted)
    found = find_users(Criteria(is_staff=True, is_active=True))
    assert (len(found.users), found.is_cut) == (0, True)
    assert len(read) == user_search.EXAMINED + 1  # one that says that there are more


def test_users_are_read_in_the_order_of_an_index(small, database, monkeypatch):
    plans = []
    explain = "EXPLAIN QUERY PLAN" if isinstance(database, peewee.SqliteDatabase) else "EXPLAIN"
    original = user_orders.read

    def explained(query, size):
        sql, parameters = query.limit(size).sql()
        plan = database.execute_sql(f"{explain} {sql}", parameters).fetchall()
        plans.append((str(plan), sql, parameters))
        return original(query, size)

    monkeypatch.setattr(user_orders, "read", explained)
    monkeypatch.setattr(user_search, "EXAMINED", 5)  # nothing is sorted in memory
    with database.atomic():
        if isinstance(database, peewee.PostgresqlDatabase):  # few rows need no index
            for way in ("seqscan", "bitmapscan", "sort"):
                database.execute_sql(f"SET LOCAL enable_{way} = off")
        for name in FILTERS:
            for sort in ("", *find_users(criteria_of(name)).sorts):
                page = find_users(criteria_of(name), sort)
                page = find_users(criteria_of(name), sort, after=page.after)
                find_users(criteria_of(name), sort, before=page.before)
                find_users(criteria_of(name), sort, before=f"{page.sort}:")
    assert len(plans) > 50  # also of later pages
    assert [plan for plan in plans if re.search("TEMP B-TREE|[Ss]ort", plan[0])] == []


def test_a_large_group_is_not_read_as_a_whole(database, monkeypatch):
    insert_users(3000, start=130)
    group = Group.objects.find("editors")
    members = User.select(peewee.Value(group.id), User.id).where(User.username.not_in(EVEN))
    Membership.insert_from(members, [Membership.group, Membership.user]).execute()
    if isinstance(database, peewee.SqliteDatabase):
        explain = "EXPLAIN QUERY PLAN"
    elif isinstance(database, peewee.PostgresqlDatabase):
        explain = "EXPLAIN VERBOSE"
        database.execute_sql("ANALYZE")
    else:
        explain = "EXPLAIN"
        database.execute_sql("ANALYZE TABLE wsgiauth_user, wsgiauth_membership").fetchall()
    plans = []
    original = user_orders.read

    def explained(query, size):
        sql, parameters = query.limit(size).sql()
        plans.append(str(database.execute_sql(f"{explain} {sql}", parameters).fetchall()))
        return original(query, size)

    monkeypatch.setattr(user_orders, "read", explained)
    find_users(Criteria(beginning="user", group_id=group.id))
    find_users(Criteria(group_id=group.id))
    assert len(plans) > 2
    # All members in memory, or all users beside the members.
    bad = "hashed SubPlan|Hash Join|Merge Join|MATERIALIZED|LIST SUBQUERY"
    assert [plan for plan in plans if re.search(bad, plan)] == []
