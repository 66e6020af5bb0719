"""The permissions of a site, and where those of a user come from."""

import pytest

from tests.conftest import HASH
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.known_permissions import (
    HeldPermission,
    KnownPermission,
    held_permissions,
    known_permissions,
    offered_permissions,
    register,
    similar_permission,
)
from wsgiauth.accounts.models import User

pytestmark = pytest.mark.every_database


@pytest.fixture
def ada(database):
    ada = User.objects.create(username="ada", email="ada@example.org", hashed_password=HASH)
    for name in ("Writers", "Editors"):
        group = Group.objects.create(name=name)
        group.grant("held.both", f"held.{name.lower()}")
        ada.join(group)
    Group.objects.create(name="Others").grant("held.others")
    ada.grant("held.own", "held.both")
    return ada


def test_a_permission_is_held_by_a_grant_and_by_groups_in_the_order_of_their_names(ada):
    assert held_permissions(ada) == [
        HeldPermission("held.both", True, ("Editors", "Writers")),
        HeldPermission("held.editors", False, ("Editors",)),
        HeldPermission("held.own", True, ()),
        HeldPermission("held.writers", False, ("Writers",)),
    ]


def test_a_permission_is_known_if_it_is_granted_or_asked_for(ada):
    register("held.asked")
    known = [each for each in known_permissions() if each.name.startswith("held.")]
    assert known == [
        KnownPermission("held.asked", True, 0, ()),
        KnownPermission("held.both", False, 1, ("Editors", "Writers")),
        KnownPermission("held.editors", False, 0, ("Editors",)),
        KnownPermission("held.others", False, 0, ("Others",)),
        KnownPermission("held.own", False, 1, ()),
        KnownPermission("held.writers", False, 0, ("Writers",)),
    ]


def test_what_is_asked_for_or_granted_to_a_group_is_offered(ada):
    register("held.asked")
    offered = [each for each in offered_permissions() if each.startswith("held.")]
    assert offered == ["held.asked", "held.both", "held.editors", "held.others", "held.writers"]


def test_a_mistyped_permission_is_recognised(ada):
    for case, (written, meant) in {
        "a letter too few": ("held.edtors", "held.editors"),
        "a letter too many": ("held.writerss", "held.writers"),
        "two letters exchanged": ("hled.others", "held.others"),
        "other letter case": ("Held.Others", "held.others"),
        "another action": ("held.delete", ""),
        "nothing like it": ("nothing.like_it", ""),
    }.items():
        assert similar_permission(written) == meant, case
