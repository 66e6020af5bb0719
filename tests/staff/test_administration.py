"""Who can change which account, as docs/staff.md lists, and what happens in between."""

from concurrent.futures import ThreadPoolExecutor
from itertools import product
from threading import Barrier

import pytest

from tests.conftest import HASH
from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import ForbiddenError, LastSuperuserError
from wsgiauth.staff.administration import (
    MANAGE_USERS,
    Party,
    Right,
    administer,
    administer_groups,
    refusal_reason,
)
from wsgiauth.storage import context

pytestmark = pytest.mark.promise(49)

ACTORS = {
    "user": {},
    "manager without staff": {"permissions": [MANAGE_USERS]},
    "superuser without staff": {"is_superuser": True},
    "staff": {"is_staff": True},
    "manager": {"is_staff": True, "permissions": [MANAGE_USERS, "reports.read"]},
    "superuser": {"is_staff": True, "is_superuser": True},
}
TARGETS = {
    "ordinary": {},
    "with a permission of the manager": {"permissions": ["reports.read"]},
    "with another permission": {"permissions": ["reports.publish"]},
    "staff": {"is_staff": True},
    "superuser": {"is_superuser": True},
}
ORDINARY = ("ordinary", "with a permission of the manager")
ALLOWED = {
    *(("manager", target, right) for target in ORDINARY for right in (Right.SUPPORT, Right.MANAGE)),
    *(("superuser", target, right) for target in TARGETS for right in Right),
}


@pytest.fixture(autouse=True)
def opened(database):
    return database


def make(name, *, permissions=(), **fields):
    user = User.objects.create(
        username=name, email=f"{name}@example.org", hashed_password=HASH, **fields
    )
    user.grant(*permissions)
    return user


def deactivate(user):
    user.is_active = False
    user.save()


def test_the_rights_are_those_of_the_table():
    actors = {kind: Party.read(make(f"a{n}", **ACTORS[kind]).id) for n, kind in enumerate(ACTORS)}
    targets = {
        kind: Party.read(make(f"t{n}", **TARGETS[kind]).id) for n, kind in enumerate(TARGETS)
    }
    allowed = {
        (actor, target, right)
        for actor, target, right in product(actors, targets, Right)
        if refusal_reason(right, actors[actor], targets[target]) is None
    }
    assert allowed == ALLOWED


def test_of_their_own_account_they_can_only_end_logins_and_get_a_link_while_active():
    for kind in ("staff", "manager", "superuser"):
        own = Party.read(make(f"A-{kind}", **ACTORS[kind]).id)
        assert [each for each in Right if refusal_reason(each, own, own) is None] == [Right.SUPPORT]
    inactive = Party.read(make("Ann", is_active=False, **ACTORS["superuser"]).id)
    assert refusal_reason(Right.SUPPORT, inactive, inactive) is not None


def test_a_change_is_made_and_returns_its_result():
    ann, tim = make("Ann", **ACTORS["manager"]), make("Tim")
    assert administer(ann, tim, Right.MANAGE, lambda user: deactivate(user) or user) == tim
    assert not User.get_by_id(tim.id).is_active


@pytest.mark.every_database
def test_what_was_read_before_the_transaction_does_not_count():
    ann, tim = make("Ann", **ACTORS["manager"]), make("Tim")
    User.get_by_id(ann.id).revoke(MANAGE_USERS)
    with pytest.raises(ForbiddenError):
        administer(ann, tim, Right.MANAGE, deactivate)
    User.get_by_id(ann.id).grant(MANAGE_USERS)
    User.update(is_staff=True).where(User.id == tim.id).execute()
    with pytest.raises(ForbiddenError):
        administer(ann, tim, Right.MANAGE, deactivate)
    assert User.get_by_id(tim.id).is_active


@pytest.mark.every_database
def test_the_change_gets_the_user_as_they_are_now():
    ann, tim = make("Ann", **ACTORS["superuser"]), make("Tim")
    User.update(email="new@example.org").where(User.id == tim.id).execute()
    assert administer(ann, tim, Right.SUPPORT, lambda user: user.email) == "new@example.org"


def test_a_deleted_actor_has_no_right_and_a_deleted_user_does_not_exist():
    ann, tim = make("Ann", **ACTORS["superuser"]), make("Tim")
    make("Root", is_superuser=True)
    User.get_by_id(tim.id).delete_instance()
    with pytest.raises(User.DoesNotExist):
        administer(ann, tim, Right.MANAGE, deactivate)
    tom = make("Tom")
    User.get_by_id(ann.id).delete_instance()
    with pytest.raises(ForbiddenError, match="deleted"):
        administer(ann, tom, Right.MANAGE, deactivate)


@pytest.mark.every_database
def test_a_change_that_fails_leaves_nothing():
    ann, tim = make("Ann", **ACTORS["superuser"]), make("Tim")

    def fail(user):
        deactivate(user)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        administer(ann, tim, Right.MANAGE, fail)
    assert User.get_by_id(tim.id).is_active


def test_a_manager_is_refused_before_anyone_looks_for_another_superuser():
    ann, tim = make("Ann", **ACTORS["manager"]), make("Tim", is_superuser=True)
    with pytest.raises(ForbiddenError):
        administer(ann, tim, Right.MANAGE, deactivate, is_removal=True)


@pytest.mark.every_database
def test_two_superusers_who_remove_each_other_at_once_leave_one(opened):
    ann, tim = (make(name, **ACTORS["superuser"]) for name in ("Ann", "Tim"))
    together = Barrier(2)

    def remove(actor, target):
        with context.using(opened):
            together.wait()
            try:
                administer(actor, target, Right.GOVERN, demote, is_removal=True)
            except (ForbiddenError, LastSuperuserError):
                return False
            else:
                return True
            finally:
                storage.discard_connection(opened)

    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(remove, (ann, tim), (tim, ann)))
    assert sorted(done) == [False, True]
    assert User.select().where(User.is_superuser).count() == 1


def demote(user):
    user.is_superuser = False
    user.save()


def test_only_superusers_of_the_staff_change_groups():
    actors = {kind: make(kind.replace(" ", "-"), **ACTORS[kind]) for kind in ACTORS}
    assert administer_groups(actors.pop("superuser"), lambda: "done") == "done"
    for ann in actors.values():
        with pytest.raises(ForbiddenError):
            administer_groups(ann, lambda: "done")


@pytest.mark.every_database
def test_of_groups_too_what_was_read_before_does_not_count():
    ann, gone = make("Ann", **ACTORS["superuser"]), make("Gone", **ACTORS["superuser"])
    User.get_by_id(gone.id).delete_instance()
    User.update(is_superuser=False).where(User.id == ann.id).execute()
    for actor in (ann, gone):
        with pytest.raises(ForbiddenError):
            administer_groups(actor, lambda: "done")
