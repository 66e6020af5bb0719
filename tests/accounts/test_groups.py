"""Groups: their names, their permissions and their members."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context

import peewee
import pytest

from tests.conftest import insert_users
from tests.support.sites import EMAIL, PASSWORD, USERNAME, echo
from wsgiauth import AuthMiddleware, Group, User, events, hash_password, storage
from wsgiauth.accounts.listing import (
    COUNTED,
    GroupSize,
    group_documents,
    group_sizes,
    profile,
    user_pages,
)
from wsgiauth.accounts.tables import GroupPermission, Membership, Permission
from wsgiauth.exceptions import TakenError, ValidationError
from wsgiauth.testing import make_group, make_settings

HASH = hash_password(PASSWORD, rounds=4)


@pytest.fixture
def ada(database):
    return User.objects.create(username=USERNAME, email=EMAIL, hashed_password=HASH)


@pytest.fixture
def grace(database):
    return User.objects.create(username="Grace", email="grace@example.org", hashed_password=HASH)


@pytest.fixture
def editors(database):
    return Group.objects.create(name="Editors")


@pytest.fixture
def heard(database):
    """Return the events of the database, as name, user and reason."""
    received = []
    events.subscribe(
        database, [lambda event: received.append((event.name, event.user_id, event.reason))]
    )
    yield received
    events.subscribe(database, [])


# Names


@pytest.mark.every_database
def test_a_name_is_shown_as_it_was_written(database):
    for case, name in {
        "space": "Blog editors",
        "two spaces": "a b c",
        "letters of the world": "Ünï-日本 @home",
        "150 characters": "g" * 150,
    }.items():
        group = Group.objects.create(name=name)
        assert str(Group.objects.get(id=group.id)) == name, case
        assert repr(group) == f"<Group {group.id} {name!r}>", case


def test_a_name_against_the_rules_is_not_saved(database):
    for case, (name, message) in {
        "empty": ("", "Enter a group name."),
        "nothing": (None, "Enter a group name."),
        "leading space": (" a", "begin or end with a space"),
        "trailing space": ("a ", "begin or end with a space"),
        "two spaces in a row": ("a  b", "two in a row"),
        "no-break space": ("a\u00a0b", "unusual spaces"),
        "zero-width space": ("a\u200bb", "invisible characters"),
        "line feed": ("a\nb", "invisible characters"),
        "dash": ("-a", "cannot begin with -"),
        "full-width dash": ("\uff0da", "cannot begin with -"),
        "151 characters": ("g" * 151, "at most 150 characters"),
        "a key of 153": ("ﬃ" * 51, "at most 150 characters"),
    }.items():
        with pytest.raises(ValidationError, match=message) as refused:
            Group.objects.create(name=name)
        assert list(refused.value.errors) == ["name"], case
        assert Group.objects.find(name) is None, case


@pytest.mark.every_database
def test_a_name_is_taken_in_all_its_spellings(database):
    for taken, wanted in {"Blog editors": "blog EDITORS", "\uff25ditors": "Editors"}.items():
        group = Group.objects.create(name=taken)
        with pytest.raises(TakenError, match="This group name is taken"):
            Group.objects.create(name=wanted)
        assert Group.objects.find(wanted) == group
    assert Group.objects.count() == 2


@pytest.mark.every_database
def test_a_group_can_be_renamed(editors, heard):
    editors.name = "Writers"
    editors.save()
    assert Group.objects.find("writers") == editors
    assert Group.objects.find("editors") is None
    assert heard == [("group_changed", None, "renamed to Writers")]


def test_a_group_that_gets_the_name_that_it_has_is_not_renamed(editors, heard):
    editors.name = "Editors"
    assert not editors.save()
    assert heard == []


@pytest.mark.every_database
def test_a_group_cannot_be_renamed_to_another(editors):
    Group.objects.create(name="Writers")
    editors.name = "WRITERS"
    with pytest.raises(TakenError):
        editors.save()
    assert Group.objects.get(id=editors.id).name == "Editors"


def test_saving_a_group_unchanged_writes_nothing(editors, heard, queries):
    unchanged = Group.objects.get(id=editors.id)
    assert queries(unchanged.save) == []
    assert heard == []


@pytest.mark.every_database
def test_saving_a_group_that_was_deleted_is_no_event(editors, heard):
    gone = Group.objects.get(id=editors.id)
    editors.delete_instance()
    heard.clear()
    gone.name = "Writers"
    assert not gone.save()
    assert not gone.delete_instance()
    assert heard == []


@pytest.mark.every_database
def test_another_constraint_than_that_of_names_is_not_hidden(editors):
    with pytest.raises(peewee.IntegrityError):
        Group(id=editors.id, name="Writers").save(force_insert=True)


# Permissions


@pytest.mark.every_database
@pytest.mark.promise(47)
def test_members_have_the_permissions_of_their_groups_and_their_own(ada, grace, editors, settings):
    ada.join(editors)
    editors.grant("reports.publish", "reports.archive")
    ada.grant("reports.read", "reports.publish")
    assert ada.permissions == {"reports.read", "reports.publish", "reports.archive"}
    assert ada.has_permission("reports.archive")
    assert grace.permissions == frozenset()
    assert editors.permissions == {"reports.publish", "reports.archive"}
    assert profile(ada, settings)["permissions"] == [
        "reports.archive",
        "reports.publish",
        "reports.read",
    ]


@pytest.mark.every_database
@pytest.mark.promise(47)
@pytest.mark.parametrize(
    "lose",
    [
        pytest.param(lambda user, group: user.leave(group), id="left"),
        pytest.param(lambda user, group: group.revoke("reports.publish"), id="revoked"),
        pytest.param(lambda user, group: group.delete_instance(), id="deleted"),
    ],
)
def test_a_right_of_a_group_is_lost_at_once(ada, editors, lose):
    ada.join(editors)
    editors.grant("reports.publish")
    copy = User.objects.get(id=ada.id)
    assert copy.has_permission("reports.publish")
    lose(ada, editors)
    assert not copy.has_permission("reports.publish")


@pytest.mark.promise(47)
@pytest.mark.slow
def test_another_process_grants_and_takes_away(ada, editors, settings):
    editors.grant("reports.publish")
    environ = {**os.environ, "DATABASE_URL": settings.DATABASE_URL}
    for command, is_allowed in (("join", True), ("leave", False)):
        argv = [sys.executable, "-m", "wsgiauth", command, USERNAME, "editors"]
        subprocess.run(argv, env=environ, check=True, capture_output=True)
        assert ada.has_permission("reports.publish") is is_allowed


def test_a_check_of_a_permission_is_one_statement(ada, editors, queries):
    ada.join(editors)
    assert len(queries(lambda: ada.has_permission("reports.publish"))) == 1


def test_an_inactive_member_has_no_permission(ada, editors):
    ada.join(editors)
    editors.grant("reports.publish")
    ada.is_active = False
    ada.save()
    assert not ada.has_permission("reports.publish")


@pytest.mark.every_database
def test_permissions_are_granted_and_revoked_once(editors, heard):
    for _ in range(2):
        editors.grant("a.a", "b.b")
    for _ in range(2):
        editors.revoke("a.a")
    assert editors.permissions == {"b.b"}
    assert heard == [
        ("group_changed", None, f"{change} Editors")
        for change in ("granted a.a to", "granted b.b to", "revoked a.a from")
    ]


@pytest.mark.every_database
@pytest.mark.parametrize("action", ["grant", "revoke"])
def test_permissions_are_changed_all_or_none(editors, action):
    editors.grant("reports.read")
    with pytest.raises(ValueError, match="nonsense"):
        getattr(editors, action)("reports.read", "reports.publish", "nonsense")
    assert editors.permissions == {"reports.read"}


@pytest.mark.every_database
def test_a_group_that_was_deleted_is_granted_nothing(editors):
    editors.delete_instance()
    with pytest.raises(Group.DoesNotExist):
        editors.grant("reports.publish")


# Members


@pytest.mark.every_database
def test_users_join_and_leave_by_the_group_or_its_name(ada, grace, editors):
    ada.join(editors)
    grace.join("EDITORS")
    assert list(editors.members) == [ada, grace]
    assert list(ada.groups) == [editors]
    ada.leave("editors")
    grace.leave(editors)
    assert (list(editors.members), list(ada.groups)) == ([], [])


@pytest.mark.every_database
def test_the_groups_of_a_user_are_sorted_by_name(ada, editors):
    for name in ("writers", "Admins"):
        Group.objects.create(name=name)
        ada.join(name)
    ada.join(editors)
    assert [group.name for group in ada.groups] == ["Admins", "Editors", "writers"]


@pytest.mark.every_database
def test_joining_and_leaving_again_changes_nothing(ada, grace, editors, heard):
    grace.join(editors)
    heard.clear()
    for _ in range(2):
        ada.join(editors)
    assert Membership.select().count() == 2
    for _ in range(2):
        ada.leave(editors)
    assert list(editors.members) == [grace]
    assert heard == [
        ("rights_changed", ada.id, "joined Editors"),
        ("rights_changed", ada.id, "left Editors"),
    ]


def test_a_group_that_does_not_exist_is_named(ada, editors):
    for act in (ada.join, ada.leave):
        for name in ("Writers", "", "a\0"):
            with pytest.raises(Group.DoesNotExist, match="there is no group"):
                act(name)


@pytest.mark.every_database
def test_a_group_that_was_deleted_cannot_be_joined(ada, editors, heard):
    gone = Group.objects.get(id=editors.id)
    editors.delete_instance()
    heard.clear()
    with pytest.raises(Group.DoesNotExist):
        ada.join(gone)
    assert (Membership.select().count(), heard) == (0, [])


def test_a_group_of_another_application_is_refused(ada, editors, heard):
    other = AuthMiddleware(echo, make_settings())
    strangers = make_group(other, "Strangers")
    assert strangers.id == editors.id
    ada.join(editors)
    heard.clear()
    for act in (ada.join, ada.leave):
        with pytest.raises(ValueError, match="<Group 1 'Strangers'> is a group of another app"):
            act(strangers)
    assert (list(ada.groups), heard) == ([editors], [])
    storage.discard_connection(other.database)


@pytest.mark.every_database
def test_a_user_who_was_deleted_cannot_join(ada, editors, heard):
    ada.delete_instance()
    heard.clear()
    with pytest.raises(User.DoesNotExist):
        ada.join(editors)
    assert (Membership.select().count(), heard) == (0, [])


@pytest.mark.every_database
def test_deleting_a_group_keeps_its_members_and_deletes_what_belongs_to_it(ada, editors, heard):
    ada.join(editors)
    editors.grant("a.a")
    heard.clear()
    editors.delete_instance()
    assert (Membership.select().count(), GroupPermission.select().count()) == (0, 0)
    assert User.objects.get(id=ada.id) == ada
    assert heard == [("group_changed", None, "deleted Editors")]


@pytest.mark.every_database
def test_deleting_a_user_ends_their_memberships(ada, editors):
    ada.join(editors)
    ada.delete_instance()
    assert Membership.select().count() == 0


@pytest.mark.every_database
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda user, group: user.join(group), id="join"),
        pytest.param(lambda user, group: group.grant("b.b"), id="grant"),
        pytest.param(lambda user, group: group.revoke("a.a"), id="revoke"),
        pytest.param(lambda user, group: group.delete_instance(), id="delete"),
        pytest.param(lambda user, group: Group.objects.create(name="new"), id="create"),
    ],
)
def test_a_change_is_recorded_in_its_transaction_or_not_made(ada, editors, change):
    def fail(event, details):
        raise RuntimeError

    editors.grant("a.a")
    events.record(storage.current(), [fail])
    with pytest.raises(RuntimeError):
        change(ada, editors)
    events.record(storage.current(), [])
    assert [group.name for group in Group.objects.all()] == ["Editors"]
    assert (editors.permissions, list(editors.members)) == ({"a.a"}, [])


# At the same time


def at_once(*actions):
    """Run each action in a thread of its own, and return what they return or raise."""

    def run(action):
        try:
            return action()
        except Exception as error:
            return type(error)
        finally:
            storage.discard_connection(storage.current())

    with ThreadPoolExecutor(len(actions)) as pool:
        running = [pool.submit(copy_context().run, run, action) for action in actions]
        return [each.result() for each in running]


@pytest.mark.every_database
def test_joins_at_the_same_time_are_one_row(ada, editors, heard):
    assert sorted(at_once(*[lambda: ada.join(editors)] * 4)) == [False, False, False, True]
    assert Membership.select().count() == 1
    assert heard == [("rights_changed", ada.id, "joined Editors")]


@pytest.mark.every_database
def test_grants_at_the_same_time_are_one_row(editors):
    assert sorted(at_once(*[lambda: editors.grant("a.a")] * 4)) == [False, False, False, True]
    assert GroupPermission.select().count() == 1


@pytest.mark.every_database
def test_a_join_beside_a_deletion_happens_or_is_refused(ada):
    for _ in range(10):
        group = Group.objects.create(name="short-lived")
        deleted, joined = at_once(group.delete_instance, lambda group=group: ada.join(group))
        assert deleted == 1
        assert joined in (True, Group.DoesNotExist)
        assert Membership.select().count() == 0


# Lists


@pytest.mark.every_database
def test_members_are_listed_a_page_at_a_time_with_all_their_permissions(ada, grace, editors):
    for user in (ada, grace):
        user.join(editors)
    editors.grant("b.b", "a.a")
    ada.grant("c.c", "a.a")
    insert_users(2)
    assert list(user_pages(group=editors)) == [
        [(ada, ["a.a", "b.b", "c.c"]), (grace, ["a.a", "b.b"])]
    ]
    assert list(user_pages("gr", group=editors)) == [[(grace, ["a.a", "b.b"])]]
    assert list(user_pages(limit=1, group=editors)) == [[(ada, ["a.a", "b.b", "c.c"])]]


def test_a_page_of_members_takes_two_queries(ada, editors, queries):
    ada.join(editors)
    assert len(queries(lambda: list(user_pages(group=editors)))) == 2


@pytest.mark.every_database
def test_groups_are_listed_by_name_with_three_queries(ada, grace, editors, queries):
    for user in (ada, grace):
        user.join(editors)
    editors.grant("b.b", "a.a")
    admins = Group.objects.create(name="admins")
    assert group_documents() == [
        {"name": admins.name, "members": 0, "permissions": []},
        {"name": editors.name, "members": 2, "permissions": ["a.a", "b.b"]},
    ]
    assert len(queries(group_documents)) == 3


@pytest.mark.promise(50)
@pytest.mark.every_database
def test_the_sizes_of_groups_are_counted_with_one_query(ada, grace, editors, queries):
    admins = Group.objects.create(name="admins")
    ada.join(admins)
    for user in (ada, grace):
        user.join(editors)
    editors.grant("b.b", "a.a", "c.c")
    assert group_sizes([admins.id, editors.id]) == [GroupSize(1, 0), GroupSize(2, 3)]
    assert len(queries(lambda: group_sizes([admins.id, editors.id]))) == 1


def test_no_groups_have_no_sizes(database):
    assert group_sizes([]) == []


@pytest.mark.promise(50)
@pytest.mark.every_database
def test_the_members_of_a_large_group_are_not_all_counted(editors):
    insert_users(COUNTED + 5)
    rows = [{"group": editors.id, "user": user.id} for user in User.select(User.id)]
    Membership.insert_many(rows).execute()
    assert group_sizes([editors.id]) == [GroupSize(COUNTED + 1, 0)]


@pytest.mark.promise(50)
@pytest.mark.every_database
def test_the_sizes_of_groups_are_read_from_indexes(database, editors, monkeypatch):
    sent = []
    original = database.execute
    monkeypatch.setattr(database, "execute", lambda query: sent.append(query) or original(query))
    group_sizes([editors.id])
    sql, parameters = database.get_sql_context().sql(sent[0]).query()
    explain = "EXPLAIN QUERY PLAN" if isinstance(database, peewee.SqliteDatabase) else "EXPLAIN"
    with database.atomic():
        if isinstance(database, peewee.PostgresqlDatabase):  # few rows need no index
            database.execute_sql("ANALYZE")
            database.execute_sql("SET LOCAL enable_sort = off")
            database.execute_sql("SET LOCAL enable_bitmapscan = off")
        plan = str(database.execute_sql(f"{explain} {sql}", parameters).fetchall())
    assert len(re.findall("USING COVERING INDEX|Index Only Scan|Using index", plan)) == 2


@pytest.mark.parametrize(
    ("query", "index"),
    [
        pytest.param(
            lambda: (
                User.select(User.id)
                .join(Membership)
                .where(Membership.group == 1, Membership.user > 7)
            ),
            "(group_id=? AND user_id>?)",
            id="members by number",
        ),
        pytest.param(
            lambda: Membership.select(Membership.group).where(Membership.user == 1),
            "COVERING INDEX wsgiauth_membership_user_id_group_id (user_id=?)",
            id="groups of a user",
        ),
    ],
)
def test_memberships_are_found_by_an_index(database, query, index):
    sql, parameters = query().sql()
    plan = database.execute_sql(f"EXPLAIN QUERY PLAN {sql}", parameters).fetchall()
    assert any(index in row[-1] for row in plan), plan


def test_a_permission_of_a_group_is_not_the_users_own(ada, editors):
    ada.join(editors)
    editors.grant("a.a")
    assert Permission.select().count() == 0
