"""Races of users, groups and rights."""

from tests.conftest import insert_user
from tests.races.race import NOW, OTHER_PASSWORD, SETTINGS, TOKENS, Race, insert_recent_user, race
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import change_password
from wsgiauth.accounts import create_user, delete_user, update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.registration import Registration
from wsgiauth.accounts.tables import Key, Membership, Permission, Session
from wsgiauth.authentication import sessions
from wsgiauth.features.former_passwords.formats import Options
from wsgiauth.features.keys import api_keys
from wsgiauth.features.transfer.importing import import_rows
from wsgiauth.features.transfer.rows import parse_row
from wsgiauth.staff.administration import Right, administer


def insert_superuser(name):
    return create_user(
        name, f"{name}@x", PASSWORD, settings=SETTINGS, is_staff=True, is_superuser=True
    )


def rights_of(user):
    stored = User.get_by_id(user.id)
    return stored.is_superuser, stored.is_active


@race(
    "Two registrations with one name",
    "One account exists.",
    "unique key: wsgiauth_user.username_key, wsgiauth_user.email_key",
)
class TwoRegistrations(Race):
    def one(self):
        create_user(USERNAME, EMAIL, PASSWORD, settings=SETTINGS)
        return True

    def check(self, outcome):
        assert outcome.is_once("TakenError")
        assert User.objects.count() == 1


@race(
    "A registration, and a user who takes its name",
    "One of them has the name.",
    "unique key: wsgiauth_user.username_key",
)
class Renamed(Race):
    def prepare(self):
        return (insert_user("Grace", "grace@example.org"),)

    def one(self, grace):
        create_user(USERNAME, EMAIL, PASSWORD, settings=SETTINGS)
        return True

    def other(self, grace):
        return update_user(grace, username=USERNAME)

    def check(self, outcome, grace):
        assert outcome.is_once("TakenError")
        assert User.objects.filter(username=USERNAME).count() == 1


@race(
    "A registration, and an import of its name",
    "One account exists; the import counts the other as existing.",
    "unique key: wsgiauth_user.username_key, wsgiauth_user.email_key",
)
class Imported(Race):
    def one(self):
        create_user(USERNAME, EMAIL, PASSWORD, settings=SETTINGS)
        return True

    def other(self):
        fields = {"username": USERNAME, "email": EMAIL}
        row = parse_row(
            1,
            fields,
            options=Options(rounds=4),
            providers={},
            registration=Registration(),
            has_usernames=True,
        )
        return bool(import_rows([row], planned=None).created)

    def check(self, outcome):
        assert {outcome.one, outcome.other} in ({True, False}, {True, "TakenError"})
        assert User.objects.count() == 1


@race(
    "Two changes of different fields of a user",
    "Both stay, because each writes its own columns.",
    "one statement",
)
class TwoFields(Race):
    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def one(self, ada):
        return update_user(ada, username="Countess")

    def other(self, ada):
        return update_user(ada, email="countess@example.org")

    def check(self, outcome, ada):
        stored = User.get_by_id(ada.id)
        assert (stored.username, stored.email) == ("Countess", "countess@example.org")


class _LastSuperuser(Race):
    def prepare(self):
        return insert_superuser("root"), insert_superuser("toor")

    def check(self, outcome, root, toor):
        assert outcome.is_once("LastSuperuserError")
        assert User.objects.filter(is_superuser=True, is_active=True).count() == 1


@race(
    "Two superusers are demoted", "One active superuser remains.", "one writer", "lock of the users"
)
class TwoDemotions(_LastSuperuser):
    def one(self, root, toor):
        return update_user(root, is_superuser=False)

    def other(self, root, toor):
        return update_user(toor, is_superuser=False)


@race(
    "A superuser is deactivated, and another deleted",
    "One active superuser remains.",
    "one writer",
    "lock of the users",
)
class DeactivationAndDeletion(_LastSuperuser):
    def one(self, root, toor):
        return update_user(root, is_active=False)

    def other(self, root, toor):
        delete_user(toor)
        return True


@race(
    "A user is deactivated, and makes an API key",
    "No API key remains.",
    "one writer",
    "lock of the users",
)
class DeactivatedWithKey(Race):
    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def one(self, ada):
        return update_user(ada, is_active=False)

    def other(self, ada):
        return api_keys.create(ada, "Key", (), now=NOW) is not None

    def check(self, outcome, ada):
        assert outcome.one is True
        assert outcome.other is (outcome.first == "other")
        assert Key.select().count() == 0


@race(
    "A user is deleted, and logs in",
    "No session remains.",
    "one writer",
    "foreign key: wsgiauth_session.user_id",
)
class Deleted(Race):
    def prepare(self):
        return (insert_recent_user(),)

    def one(self, ada):
        delete_user(ada)
        return True

    def other(self, ada):
        return sessions.start(ada, TOKENS) is not None

    def check(self, outcome, ada):
        assert (outcome.one, outcome.other) == (True, outcome.first == "other")
        assert User.objects.count() == Session.select().count() == 0


@race(
    "Two groups with one name are created",
    "One group exists.",
    "unique key: wsgiauth_group.name_key",
)
class TwoGroups(Race):
    def one(self):
        Group.objects.create(name="Editors")
        return True

    def check(self, outcome):
        assert outcome.is_once("TakenError")
        assert Group.objects.count() == 1


@race(
    "A group is deleted, and a user joins it",
    "No membership remains.",
    "one writer",
    "foreign key: wsgiauth_membership.group_id",
)
class Joined(Race):
    def prepare(self):
        return insert_user(USERNAME, EMAIL), Group.objects.create(name="Editors")

    def one(self, ada, group):
        return bool(group.delete_instance())

    def other(self, ada, group):
        return ada.join(group)

    def check(self, outcome, ada, group):
        joined = {"one": "GroupDoesNotExist", "other": True}[outcome.first]
        assert (outcome.one, outcome.other) == (True, joined)
        assert Membership.select().count() == Group.objects.count() == 0


@race(
    "A permission is granted twice",
    "It is granted, and reported, once.",
    "one writer",
    "lock of the users",
)
class Granted(Race):
    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def one(self, ada):
        return ada.grant("reports.publish")

    def check(self, outcome, ada):
        assert outcome.is_once(False)
        assert Permission.select().count() == 1


class _TwoPermissions(Race):
    """Changes of the same two rows, in another order: without a lock, a deadlock."""

    stops_early = True
    names = ("reports.publish", "reports.read")

    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def one(self, holder):
        return holder.grant(*self.names)

    def other(self, holder):
        return holder.grant(*reversed(self.names))

    def check(self, outcome, holder):
        assert outcome.is_once(False)
        assert holder.permissions == {*self.names}


@race(
    "Two permissions are granted to a user twice, in another order",
    "Both are granted, and neither change fails.",
    "one writer",
    "lock of the users",
)
class GrantedInAnotherOrder(_TwoPermissions):
    pass


@race(
    "Two permissions are granted to a group twice, in another order",
    "Both are granted, and neither change fails.",
    "one writer",
    "lock of the row: wsgiauth_group",
)
class GrantedToGroupInAnotherOrder(_TwoPermissions):
    def prepare(self):
        return (Group.objects.create(name="Editors"),)


class _TwoRevoked(_TwoPermissions):
    def one(self, holder):
        return holder.revoke(*self.names)

    def other(self, holder):
        return holder.revoke(*reversed(self.names))

    def check(self, outcome, holder):
        assert outcome.is_once(False)
        assert holder.permissions == frozenset()


@race(
    "Two permissions of a user are revoked twice, in another order",
    "Both are revoked, and neither change fails.",
    "one writer",
    "lock of the users",
)
class RevokedInAnotherOrder(_TwoRevoked):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        ada.grant(*self.names)
        return (ada,)


@race(
    "Two permissions of a group are revoked twice, in another order",
    "Both are revoked, and neither change fails.",
    "one writer",
    "lock of the row: wsgiauth_group",
)
class RevokedFromGroupInAnotherOrder(_TwoRevoked):
    def prepare(self):
        group = Group.objects.create(name="Editors")
        group.grant(*self.names)
        return (group,)


@race(
    "A user joins a group, and leaves it",
    "The second change finds the first one.",
    "one writer",
    "lock of the users",
)
class JoinedAndLeft(Race):
    def prepare(self):
        return insert_user(USERNAME, EMAIL), Group.objects.create(name="Editors")

    def one(self, ada, group):
        return ada.join(group)

    def other(self, ada, group):
        return ada.leave(group)

    def check(self, outcome, ada, group):
        assert (outcome.one, outcome.other) == (True, outcome.first == "one")
        assert Membership.select().count() == (outcome.first == "other")


@race(
    "A member of the staff changes an account, and loses the right to it",
    "After the loss, nothing is changed.",
    "one writer",
    "lock of the users",
)
class Demoted(Race):
    def prepare(self):
        insert_superuser("root")
        return insert_superuser("toor"), insert_user(USERNAME, EMAIL)

    def one(self, toor, ada):
        return update_user(toor, is_superuser=False)

    def other(self, toor, ada):
        return administer(toor, ada, Right.GOVERN, lambda user: user.grant("reports.publish"))

    def check(self, outcome, toor, ada):
        changed = {"one": "ForbiddenError", "other": True}[outcome.first]
        assert (outcome.one, outcome.other) == (True, changed)
        assert Permission.select().count() == (changed is True)


@race(
    "Two members of the staff demote each other",
    "One is demoted; the other no longer has the right.",
    "one writer",
    "lock of the users",
)
class EachOther(Race):
    def prepare(self):
        insert_superuser("root")
        return insert_superuser("toor"), insert_superuser("otto")

    def one(self, toor, otto):
        return demote(toor, otto)

    def other(self, toor, otto):
        return demote(otto, toor)

    def check(self, outcome, toor, otto):
        assert outcome.is_once("ForbiddenError")
        assert {rights_of(toor), rights_of(otto)} == {(True, True), (False, True)}


def demote(actor, user):
    def change(present):
        return update_user(present, is_superuser=False)

    return administer(actor, user, Right.GOVERN, change, is_removal=True)


@race(
    "A password is changed, and an API key made",
    "No API key from before the change remains, if the change revokes them.",
    "one writer",
    "lock of the users",
)
class PasswordAndKey(Race):
    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def one(self, ada):
        change_password(ada, OTHER_PASSWORD, settings=SETTINGS)
        return True

    def other(self, ada):
        return api_keys.create(ada, "Key", (), now=NOW) is not None

    def check(self, outcome, ada):
        assert (outcome.one, outcome.other) == (True, outcome.first == "other")
        assert Key.select().count() == 0
