"""Pages of users: each user once, in order, whatever the criteria, in a bounded time."""

import itertools
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

import peewee
import pytest

from tests.conftest import HASH, insert_users
from wsgiauth import storage
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import key
from wsgiauth.accounts.tables import Membership
from wsgiauth.features.panel import user_search
from wsgiauth.features.panel.user_search import SORTS, Criteria, all_users, find_users
from wsgiauth.storage.connections import TimeLimitError

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
    "a part": ({"search": "ER1"}, lambda user: "er1" in key(user.username)),
    "of an address": ({"search": "1@"}, lambda user: "1@" in user.email),
    "of either": ({"search": "2"}, lambda user: "2" in user.username + user.email),
    "a part and staff": (
        {"search": "user1", "is_staff": True},
        lambda user: user.username.startswith("User1") and user.is_staff,
    ),
    "a group": ({"group_id": 0}, lambda user: [*user.groups]),
    "a part in a group": (
        {"group_id": 0, "search": "user2"},
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
    """Let a page be small, and few users more than are sorted."""
    monkeypatch.setattr(user_search, "PAGE", 20)
    monkeypatch.setattr(user_search, "COUNTED", 40)


def criteria_of(name):
    """Return the criteria of a name in `FILTERS`."""
    fields = dict(FILTERS[name][0])
    if "group_id" in fields:
        fields["group_id"] = Group.objects.find("editors").id
    return Criteria(**fields)


def filters_in(sort):
    """Yield the criteria and the test of a third of the filters; others for the next order.

    In the order of the logins, also those that divide the users by their logins.
    """
    third = [*FILTERS][["", *SORTS].index(sort) % 3 :: 3]
    of_logins = [name for name in FILTERS if "logged in" in name and "last_login" in sort]
    for name in dict.fromkeys(third + of_logins):
        yield name, criteria_of(name), FILTERS[name][1]


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
        *others, last = pages(criteria_of(name))
        found = [user for page in (*others, last) for user in page.users]
        assert expected, name
        assert sorted(user.id for user in found) == sorted(expected), name
        assert {len(page.users) for page in others} <= {20}, name
        assert 0 < len(last.users) <= 20, name
        assert [*all_users(criteria_of(name))] == found, name


def test_without_criteria_the_newest_come_first(small):
    assert [user.username for user in find_users(Criteria()).users[:2]] == ["User129", "User128"]


def test_times_come_the_latest_first(small):
    for column, criterion in {
        "email_verified_at": "is_verified",
        "last_login_at": "has_logged_in",
    }.items():
        found = listed(Criteria(**{criterion: True}))
        assert all(
            (getattr(one, column), one.id) > (getattr(another, column), another.id)
            for one, another in itertools.pairwise(found)
        )


def test_of_many_who_logged_in_at_the_same_moment_each_comes_once(small):
    User.update(last_login_at=DAY).execute()
    found = [user.id for user in listed(Criteria(has_logged_in=True))]
    assert found == sorted(found, reverse=True)
    assert len({*found}) == 130
    assert [user.id for user in all_users(Criteria(has_logged_in=True))] == found


def test_a_user_has_the_values_of_the_row():
    user = User.get(User.username == "User2")
    (found,) = find_users(Criteria(search="2@example"), "email").users[-1:]
    user = User.get(User.id == found.id)
    assert found._asdict() == {name: getattr(user, name) for name in found._fields}


PEOPLE = {
    "ada": "ada@first.example.org",
    "Adam": "adam@example.com",
    "grace_h": "g.hopper@navy.mil",
    "gracexh": "other@navy.mil",
    "100%": "percent@sale.example",
    "1000": "thousand@sale.example",
    "back\\slash": "b@signs.example",
    "o'neil": "o'neil@signs.example",
    "wow!": "w@signs.example",
    "Édith": "e@paris.example",
    "Straße": "s@boß.example",
    "Hal": "hal@münchen.example",
    "李小龍": "li@hk.example",
}
SEARCHES = {
    "a beginning": ("ad", ["Adam", "ada"]),
    "a middle": ("race", ["grace_h", "gracexh"]),
    "an end": ("slash", ["back\\slash"]),
    "a whole name": ("adam", ["Adam"]),
    "a whole address": ("ada@first.example.org", ["ada"]),
    "a domain": ("example.org", ["ada"]),
    "the end of a domain": (".mil", ["grace_h", "gracexh"]),
    "around the at sign": ("@navy", ["grace_h", "gracexh"]),
    "a domain after an at sign": ("@NAVY.mil", ["grace_h", "gracexh"]),
    "the end of a domain after an at sign": ("@example.org", []),
    "an international domain": ("@XN--mnchen-3ya.example", ["Hal"]),
    "upper case": ("RACE", ["grace_h", "gracexh"]),
    "upper case, non-ASCII": ("éDITH", ["Édith"]),
    "a decomposed accent": ("e\u0301d", ["Édith"]),
    "no accent": ("edith", []),
    "sharp s": ("STRASS", ["Straße"]),
    "a compatible letter": ("\N{BLACK-LETTER CAPITAL H}al", ["Hal"]),
    "Chinese": ("小", ["李小龍"]),
    "a domain in ASCII": ("@xn--mnchen-3ya.example", ["Hal"]),
    "an underscore": ("e_h", ["grace_h"]),
    "only an underscore": ("_", ["grace_h"]),
    "a percent sign": ("0%", ["100%"]),
    "only a percent sign": ("%", ["100%"]),
    "a backslash": ("k\\s", ["back\\slash"]),
    "only a backslash": ("\\", ["back\\slash"]),
    "an escaped percent sign": ("\\%", []),
    "a quote": ("o'n", ["o'neil"]),
    "a double quote": ('"', []),
    "an exclamation mark": ("w!", ["wow!"]),
    "an exclamation mark before a percent sign": ("!%", []),
    "both names together": ("adaada", []),
    "a space": ("a d", []),
    "none": ("nobody", []),
    "longer than any name": ("x" * 5000, []),
    "NUL": ("\x00", []),
    "a line break": ("ada\n", []),
    "an unassigned character": ("\ud7ff", []),
}


def test_a_search_finds_every_part_of_a_name():
    User.delete().execute()
    for username, email in PEOPLE.items():
        make(username, email)
    for find in (lambda criteria: find_users(criteria).users, all_users):
        found = {name: find(Criteria(search=search)) for name, (search, _) in SEARCHES.items()}
        assert {name: sorted(user.username for user in users) for name, users in found.items()} == {
            name: expected for name, (_, expected) in SEARCHES.items()
        }


def test_an_unknown_position_is_the_first_page():
    first = find_users(Criteria())
    for position in ("name", "-created", "-created:x", "-created:-1", "username:ada~1", ":"):
        assert find_users(Criteria(), after=position) == first, position
        assert find_users(Criteria(), before=position) == first, position


def test_a_malformed_position_is_the_first_page():
    for position in (
        *("-last_login:x~1", "-last_login:2026-01-01~x", "-last_login:2026-01-01"),
        *("-last_login:0001-01-01T00:00+23:00~1", "username:\x00~1", "username:~1", "email:ada"),
        f"email:{'x' * 255}~1",
    ):
        sort = position.partition(":")[0]
        first = find_users(Criteria(), sort)
        assert find_users(Criteria(), sort, after=position) == first, position


@pytest.mark.slow
@pytest.mark.parametrize("sort", SORTS)
def test_users_come_in_the_order_that_was_asked_for(small, sort):
    users = [*User.select()]
    users.sort(key=SORT_KEYS[sort.strip("-")], reverse=sort.startswith("-"))
    for name, criteria, matches in filters_in(sort):
        expected = [user.id for user in users if matches(user)]
        assert [user.id for user in listed(criteria, sort)] == expected, name
        assert [user.id for user in all_users(criteria, sort)] == expected, name


@pytest.mark.slow
@pytest.mark.parametrize("sort", ["", *SORTS])
def test_the_pages_before_have_each_user_too(small, sort):
    for name, criteria, _ in filters_in(sort):
        first, *others = pages(criteria, sort)
        everyone = [user for page in (first, *others) for user in page.users]
        page = find_users(criteria, sort, before=f"{first.sort}:")
        found = page.users
        while page.before:
            page = find_users(criteria, sort, before=page.before)
            found = [each for each in page.users if each not in found] + found
        assert found == everyone, name
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


def test_the_usual_order_depends_on_the_filters():
    for criteria, sort in (
        ({}, "-created"),
        ({"search": "user"}, "-created"),
        ({"is_verified": True}, "-verified"),
        ({"has_logged_in": True}, "-last_login"),
        ({"is_verified": True, "has_logged_in": True}, "-verified"),
        ({"is_verified": True, "is_staff": True}, "-created"),
        ({"is_verified": False}, "-created"),
    ):
        assert find_users(Criteria(**criteria)).sort == sort, criteria


def test_the_users_who_match_are_counted_up_to_a_bound(monkeypatch):
    monkeypatch.setattr(user_search, "PAGE", 12)
    users = [*User.select()]
    for bound in (1000, 20):
        monkeypatch.setattr(user_search, "COUNTED", bound)
        for name, (_, matches) in FILTERS.items():
            found = find_users(criteria_of(name))
            matching = sum(1 for user in users if matches(user))
            expected = (min(matching, bound + 1), matching <= bound)
            assert (found.total, found.is_exact) == expected, name


def test_no_user_is_skipped_or_repeated_while_others_register_and_leave(small):
    criteria = Criteria(search="user")
    new = itertools.count(200, 5)  # among the others by name, at an end by age
    for sort in SORTS:
        before = {user.id for user in User.select()}
        page = find_users(criteria, sort)
        found = [*page.users]
        for _ in range(3):
            insert_users(5, start=next(new))
            User.delete().where(User.id == page.users[-1].id).execute()  # whose place is `after`
            page = find_users(criteria, sort, after=page.after)
            found += page.users
        while page.after:
            page = find_users(criteria, sort, after=page.after)
            found += page.users
        ids = [user.id for user in found]
        assert len(ids) == len({*ids}), sort
        assert before <= {*ids}, sort


@pytest.fixture
def limits(monkeypatch):
    """Record the time limits of statements, and let those in `slow` reach theirs, by number."""
    limits, time_limit = Limits([]), type(storage.current()).time_limit

    def limit(database, seconds):
        limits.seconds.append(seconds)
        if len(limits.seconds) in limits.slow:
            raise TimeLimitError
        return time_limit(database, 60)

    monkeypatch.setattr(type(storage.current()), "time_limit", limit)
    return limits


@dataclass
class Limits:
    seconds: list[float]
    slow: tuple[int, ...] = ()


def test_a_search_that_takes_too_long_is_ended(limits):
    limits.slow = (1, 2)
    found = find_users(Criteria(search="user"), "email")
    assert (found.users, found.sort, found.timed_out) == ([], "email", True)
    assert (found.total, found.is_exact, found.after, found.before) == (0, False, "", "")
    for search in ("example.org", "@example.org"):
        limits.seconds.clear()
        limits.slow = (1, 2, 3)
        assert find_users(Criteria(search=search)).timed_out, search


def test_a_search_that_takes_too_long_finds_the_users_at_the_domain(small, limits):
    make("ada", "ada@first.example.com")
    for number in range(21):
        make(f"example.com{number}", f"{number}@second.example")
    make("adam", "adam@example.com")
    assert len(listed(Criteria(search="example.com"))) == 23
    limits.slow = (len(limits.seconds) + 1,)
    found = find_users(Criteria(search="example.com"))
    assert [user.username for user in found.users] == ["adam"]
    assert (found.total, found.is_exact, found.timed_out) == (1, False, False)


def test_a_search_for_a_frequent_domain_that_takes_too_long_finds_a_page(small, limits):
    limits.slow = (1,)
    found = find_users(Criteria(search="example.net"))
    assert [user.username for user in found.users[:2]] == ["User129", "User128"]
    assert (found.total, found.is_exact, bool(found.after)) == (41, False, True)


def test_a_list_of_all_users_has_not_only_those_at_the_domain(limits):
    make("adam", "adam@example.net.example")
    limits.slow = (1,)
    assert len([*all_users(Criteria(search="example.net"))]) == 131


def test_a_page_that_takes_too_long_after_a_count_is_ended(limits):
    limits.slow = (2,)
    found = find_users(Criteria(search="user"))
    assert (found.users, found.timed_out) == ([], True)
    assert (found.total, found.is_exact) == (130, False)


def test_a_page_is_found_although_a_count_takes_too_long(small, limits):
    everyone = listed(Criteria(search="user"))
    limits.slow = (len(limits.seconds) + 1,)
    page = find_users(Criteria(search="user"))
    assert page.users == everyone[:20]
    assert (page.total, page.is_exact, page.timed_out) == (20, False, False)


def test_a_list_of_all_users_has_no_time_limit(limits):
    everyone = listed(Criteria(search="user"))
    limits.slow = (len(limits.seconds) + 1,)  # the count
    assert [*all_users(Criteria(search="user"))] == everyone
    assert len(limits.seconds) in limits.slow


def test_the_statements_of_a_page_share_its_time(limits, monkeypatch):
    moments = iter([0.0, 0.5, 1.5])
    monkeypatch.setattr(user_search, "monotonic", lambda: next(moments))
    monkeypatch.setattr(user_search, "PAGE", 100)  # with users of both ranges
    find_users(Criteria(), "last_login")
    assert limits.seconds == [user_search.COUNT_LIMIT, 1.5, 0.5]


def test_no_limit_is_zero_which_would_be_none(limits, monkeypatch):
    moments = iter([0.0, 9.9])
    monkeypatch.setattr(user_search, "monotonic", lambda: next(moments))
    find_users(Criteria())
    assert limits.seconds == [user_search.COUNT_LIMIT, 0.001]


def test_a_page_costs_few_queries(queries):
    for name in FILTERS:
        sent = queries(partial(find_users, criteria_of(name)))
        assert len([sql for sql in sent if "wsgiauth_user" in sql]) <= 3, name


@pytest.mark.slow
def test_many_users_are_read_in_the_order_of_an_index(small, database, monkeypatch):
    """Without reading and sorting all of them."""
    plans = []
    explain = "EXPLAIN QUERY PLAN" if isinstance(database, peewee.SqliteDatabase) else "EXPLAIN"
    execute = type(database).execute_sql

    def explained(database, sql, params=None):
        if "ORDER BY" in sql:
            plan = execute(database, f"{explain} {sql}", params).fetchall()
            plans.append((str(plan), sql, params))
        return execute(database, sql, params)

    monkeypatch.setattr(type(database), "execute_sql", explained)
    monkeypatch.setattr(user_search, "COUNTED", 0)
    with database.atomic():
        if isinstance(database, peewee.PostgresqlDatabase):  # few rows need no index
            for way in ("seqscan", "bitmapscan", "sort"):
                database.execute_sql(f"SET LOCAL enable_{way} = off")
        for name in FILTERS:
            for sort in ("", *SORTS):
                page = find_users(criteria_of(name), sort)
                page = find_users(criteria_of(name), sort, after=page.after)
                find_users(criteria_of(name), sort, before=page.before)
            find_users(criteria_of(name), before=f"{find_users(criteria_of(name)).sort}:")
    assert len(plans) > 50  # also of later pages
    assert [plan for plan in plans if re.search("TEMP B-TREE|[Ss]ort", plan[0])] == []
