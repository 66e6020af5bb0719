"""One active superuser remains, however a user is changed or deleted."""

import pytest

from tests.support.sites import PASSWORD
from wsgiauth.accounts import create_user, delete_user, update_user
from wsgiauth.accounts.models import User
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import LastSuperuserError


def read(user):
    """Return another copy of a user."""
    return User.objects.get(id=user.id)


def save(user, **changes):
    for name, value in changes.items():
        setattr(user, name, value)
    return user.save()


@pytest.fixture
def root(database, settings):
    """Return the only superuser."""
    return create_user("Root", "root@example.org", PASSWORD, settings=settings, is_superuser=True)


REMOVALS = pytest.mark.parametrize(
    "remove",
    [
        pytest.param(lambda user: update_user(user, is_superuser=False), id="demoted"),
        pytest.param(lambda user: update_user(user, is_active=False), id="deactivated"),
        pytest.param(delete_user, id="deleted"),
        pytest.param(lambda user: save(user, is_superuser=False), id="saved as no superuser"),
        pytest.param(lambda user: save(user, is_active=False), id="saved as inactive"),
        pytest.param(lambda user: user.delete_instance(), id="deleted as an instance"),
    ],
)


@pytest.mark.every_database
@pytest.mark.promise(49)
@REMOVALS
def test_the_last_active_superuser_stays(root, ada, remove):
    former = User.objects.get(id=ada.id)
    update_user(former, is_superuser=True)
    update_user(former, is_active=False)  # an inactive superuser does not count
    with pytest.raises(LastSuperuserError, match="Root is the last active superuser"):
        remove(read(root))
    assert (read(root).is_active, read(root).is_superuser) == (True, True)


@pytest.mark.every_database
@REMOVALS
def test_others_can_be_removed(root, ada, grace, remove):
    update_user(grace, is_superuser=True, is_active=False)
    for other in (ada, grace):
        remove(other)
        assert list(User.objects.filter(is_superuser=True, is_active=True)) == [root]


@pytest.mark.every_database
@REMOVALS
def test_a_superuser_beside_another_can_be_removed(root, ada, remove):
    update_user(ada, is_superuser=True)
    remove(root)
    assert list(User.objects.filter(is_superuser=True, is_active=True)) == [ada]


@pytest.mark.every_database
def test_the_last_active_superuser_can_be_renamed(root):
    update_user(root, username="Admin", is_active=True, is_superuser=True)
    assert read(root).username == "Admin"


@pytest.mark.every_database
def test_what_is_stored_decides_who_is_a_superuser(root, ada):
    stale = read(ada)
    update_user(ada, is_superuser=True)
    update_user(root, is_superuser=False)
    with pytest.raises(LastSuperuserError):
        update_user(stale, is_active=False)


@pytest.mark.every_database
@REMOVALS
def test_a_refused_removal_leaves_no_event_and_no_lock(root, remove):
    before = RecordedEvent.select().count(), read(root).locks
    with pytest.raises(LastSuperuserError):
        remove(root)
    assert (RecordedEvent.select().count(), read(root).locks) == before


def test_a_flag_that_is_set_before_another_change_is_checked_as_well(root):
    root.is_superuser = False
    with pytest.raises(LastSuperuserError):
        update_user(root, username="Admin")
    assert (read(root).username, read(root).is_superuser) == ("Root", True)
