"""What is stored: users, their logins and their permissions, as Peewee models.

The rules for names live in `names`; saving a user applies them, whoever saves.
"""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import peewee

from wsgiauth import events, storage
from wsgiauth.accounts import names
from wsgiauth.accounts.objects import UserObjects
from wsgiauth.exceptions import TakenError, ValidationError
from wsgiauth.storage import Statement, context, database
from wsgiauth.storage.columns import BcryptHashField, UTCDateTimeField, as_utc, utc_now


class _Model(peewee.Model):
    class Meta:
        database = database
        only_save_dirty = True  # saving an old copy must not undo what others changed since


class User(_Model):
    """A person's account.

    Saving keeps the rules for names and ends the sessions that a change must end. Peewee's bulk
    `User.update(...)` and `User.insert(...)` go past both.

    Attributes:
        username: Unique without regard to letter case or compatibility forms; shown as written.
        email: Likewise.
        hashed_password: A bcrypt hash. Saving another one ends all of the user's sessions.
        is_active: Whether the user can log in. An inactive user is nobody: saving False ends all
            of the user's sessions.
        is_staff: Whether the user may enter the application's administration.
        is_superuser: Whether the user holds every permission.
        created_at: When the account was made (UTC).
    """

    objects: ClassVar["UserObjects[User]"]
    DoesNotExist: ClassVar[type[peewee.DoesNotExist]]

    id = peewee.BigAutoField()
    username = peewee.CharField(max_length=names.USERNAME_MAX_LENGTH)
    username_key = peewee.CharField(max_length=names.USERNAME_MAX_LENGTH, unique=True)
    email = peewee.CharField(max_length=names.EMAIL_MAX_LENGTH)
    email_key = peewee.CharField(max_length=names.EMAIL_MAX_LENGTH, unique=True)
    hashed_password = BcryptHashField(max_length=60)
    is_active = peewee.BooleanField(default=True)
    is_staff = peewee.BooleanField(default=False)
    is_superuser = peewee.BooleanField(default=False)
    created_at = UTCDateTimeField(default=utc_now)

    class Meta:
        table_name = "wsgiauth_user"

    # The database that the user was read from. Wherever the object is carried, into a thread or
    # into the request of another site in the same process, it speaks to that one.
    origin: peewee.Database | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.origin = context.database()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "origin"}

    def __str__(self) -> str:
        return str(self.username)

    def __repr__(self) -> str:
        return f"<User {self.id} {self.username!r}>"

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> "User":
        """Return the user of a row of `User.select(*CALLER)`, without Peewee's detours."""
        user: Any = cls.__new__(cls)
        number, username, email, hashed, is_active, is_staff, is_superuser, created_at = row
        user.__data__ = {
            "id": number,
            "username": username,
            "email": email,
            "hashed_password": hashed,
            "is_active": bool(is_active),  # SQLite has numbers only
            "is_staff": bool(is_staff),
            "is_superuser": bool(is_superuser),
            "created_at": as_utc(created_at),
        }
        user.__rel__ = {}
        user._dirty = set()
        user.origin = context.database()
        made: User = user
        return made

    def save(self, force_insert: bool = False, only: Any = None) -> int | bool:
        """Write what was changed; one transaction, with the sessions that the change ends.

        The arguments are those of Peewee's `Model.save`.

        Raises:
            ValidationError: A name breaks a rule; `errors` also says which other name is taken.
            TakenError: A name is another user's, and no rule is broken.
            ValueError: `hashed_password` is not a bcrypt hash.
            peewee.DatabaseError: The database failed.
        """
        changed = {each.name for each in self.dirty_fields}
        if only is not None:
            changed &= {each.name for each in only}
            only = [*only, *(field for name, field in _KEY_OF.items() if name in changed)]
        self._check_names(changed)
        is_new = force_insert or self.id is None
        try:
            with self._at_home(), database.atomic():
                saved = super().save(force_insert, only)
                # After the UPDATE, whose row lock makes a login under way wait: see
                # `sessions.start`.
                if not is_new and ("hashed_password" in changed or not self.is_active):
                    Session.delete().where(Session.user == self.id).execute()
        except peewee.IntegrityError:
            with self._at_home():
                written = {"username": self.username, "email": self.email}
                refuse_names(written, {}, owner_id=self.id)
            raise  # another constraint, or a name that has become free again
        if saved:  # or the user is gone by now
            with self._at_home():
                self._report(changed, is_new=is_new)
        return saved

    def delete_instance(self, *args: Any, **kwargs: Any) -> int:
        """Delete the user, with sessions and permissions."""
        with self._at_home():
            deleted: int = super().delete_instance(*args, **kwargs)
            if deleted:
                events.emit("user_deleted", user_id=self.id)
        return deleted

    @property
    def permissions(self) -> frozenset[str]:
        """The permissions granted to this user, read from the database each time.

        A superuser holds all others as well, without their being listed here.
        """
        with self._at_home():
            return frozenset(name for (name,) in _PERMISSIONS_OF.fetchall(self.id))

    def has_permission(self, permission: str) -> bool:
        """Return whether the user may do what `permission` (`<app>.<action>`) names.

        A superuser may do everything, an inactive user nothing.

        Raises:
            ValueError: `permission` is not of that form.
            peewee.DatabaseError: The database failed.
        """
        names.check_permission(permission)
        if not self.is_active:
            return False
        return self.is_superuser or permission in self.permissions

    def grant(self, *permissions: str) -> None:
        """Give permissions, all or none; what the user has already is left as it is.

        Raises:
            ValueError: One is not of the form `<app>.<action>`.
            User.DoesNotExist: The user is not, or no longer, in the database.
            peewee.DatabaseError: The database failed.
        """
        rows = [
            {"user": self.id, "name": names.check_permission(permission)}
            for permission in permissions
        ]
        with self._at_home():
            with database.atomic():
                # MariaDB's way to ignore what is there already ignores that the user is not, too.
                User.get_by_id(self.id)
                if rows:
                    Permission.insert_many(rows).on_conflict_ignore().execute()
            self._report_rights("granted", permissions)

    def revoke(self, *permissions: str) -> None:
        """Take permissions away, all or none; what the user does not have is left as it is.

        Raises:
            ValueError: One is not of the form `<app>.<action>`.
            peewee.DatabaseError: The database failed.
        """
        taken = [names.check_permission(permission) for permission in permissions]
        with self._at_home():
            with database.atomic():
                Permission.delete().where(
                    Permission.user == self.id, Permission.name.in_(taken)
                ).execute()
            self._report_rights("revoked", permissions)

    def _at_home(self) -> AbstractContextManager[None]:
        # Named in every case: in a thread that has no context, events would find no subscribers.
        return context.using(self.origin or storage.current())

    def _check_names(self, changed: set[str]) -> None:
        written: dict[str, str] = {
            name: getattr(self, name) for name in ("username", "email") if name in changed
        }
        errors = names.name_errors(written)
        if errors:
            with self._at_home():
                refuse_names(written, errors, owner_id=self.id)
        for name, value in written.items():
            setattr(self, f"{name}_key", names.key(value))

    def _report(self, changed: set[str], *, is_new: bool) -> None:
        flags = {"is_active", "is_staff", "is_superuser"} & changed
        if is_new:
            events.emit("registration", user_id=self.id)
            flags = {flag for flag in ("is_staff", "is_superuser") if getattr(self, flag)}
        elif "hashed_password" in changed:
            events.emit("password_changed", user_id=self.id)
        for name in () if is_new else sorted({"username", "email"} & changed):
            events.emit("names_changed", user_id=self.id, reason=name)
        for flag in sorted(flags):
            self._report_rights(flag, ["on" if getattr(self, flag) else "off"])

    def _report_rights(self, change: str, what: Iterable[str]) -> None:
        for each in what:
            events.emit("rights_changed", user_id=self.id, reason=f"{change} {each}")


class Session(_Model):
    """A login. While its row exists, its token works.

    Attributes:
        id: Random; the token's `jti` claim (RFC 7519 section 4.1.7).
        user: Whose login it is.
        created_at: When it began (UTC).
        expires_at: When it ends, in seconds since the epoch; the token's `exp` claim.
    """

    id = peewee.CharField(max_length=43, primary_key=True)
    user = peewee.ForeignKeyField(User, on_delete="CASCADE")
    created_at = UTCDateTimeField(default=utc_now)
    expires_at = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "wsgiauth_session"


class Permission(_Model):
    """One permission, `<app>.<action>`, that one user holds."""

    user_id: int
    user = peewee.ForeignKeyField(User, on_delete="CASCADE")
    name = peewee.CharField(max_length=names.PERMISSION_MAX_LENGTH)

    class Meta:
        table_name = "wsgiauth_permission"
        primary_key = peewee.CompositeKey("user", "name")


User.objects = UserObjects(User)

# What a request wants to know of its caller: all but the keys, by which users are looked up.
CALLER = (
    User.id,
    User.username,
    User.email,
    User.hashed_password,
    User.is_active,
    User.is_staff,
    User.is_superuser,
    User.created_at,
)

_KEY_OF = {"username": User.username_key, "email": User.email_key}
_TAKEN = {"username": "This username is taken.", "email": "This e-mail address is taken."}
_PERMISSIONS_OF = Statement(lambda: Permission.select(Permission.name).where(Permission.user == 0))


def refuse_names(
    written: Mapping[str, str], errors: Mapping[str, list[str]], *, owner_id: int | None = None
) -> None:
    """Raise if a rule is broken or a name is taken, with the messages about both.

    Args:
        written: A username, an e-mail address or both, by field.
        errors: Messages about broken rules, by field. A name in it is not looked up.
        owner_id: The id of the user to whom the names may belong.

    Raises:
        ValidationError: There are `errors`.
        TakenError: A name is another user's, in any letter case, and there are no `errors`.
        peewee.DatabaseError: The database failed.
    """
    others = User.select().where(User.id != (owner_id or 0))
    taken = {
        field: [_TAKEN[field]]
        for field, name in written.items()
        if field not in errors and others.where(_KEY_OF[field] == names.key(name)).exists()
    }
    if errors:
        raise ValidationError({**taken, **errors})
    if taken:
        raise TakenError(taken) from None  # the database's error, if any, repeats the row
