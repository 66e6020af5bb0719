"""The Peewee models: users, their sessions and their permissions.

`User.save` applies the rules for names, which are in `names`.
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
        only_save_dirty = True  # saving a stale object must not undo later changes


class User(_Model):
    """A person's account.

    Saving applies the rules for names, and ends sessions if the change requires it. Peewee's bulk
    `User.update(...)` and `User.insert(...)` do neither.

    Attributes:
        username: Unique without regard to letter case or compatibility forms; shown as typed.
        email: Unique in the same way; shown as typed.
        hashed_password: A bcrypt hash. Saving a new one ends all of the user's sessions.
        is_active: Whether the user can log in. Saving False ends all of the user's sessions;
            requests of an inactive user are anonymous.
        is_staff: Whether the user can use the application's administration pages.
        is_superuser: Whether the user has every permission.
        created_at: When the account was created (UTC).
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

    # The database that the user was read from. The object keeps using it when it is passed to
    # another thread, or to a request of another site in the same process.
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
        """Return the user of a row of `User.select(*CALLER)`, without Peewee's overhead."""
        user: Any = cls.__new__(cls)
        number, username, email, hashed, is_active, is_staff, is_superuser, created_at = row
        user.__data__ = {
            "id": number,
            "username": username,
            "email": email,
            "hashed_password": hashed,
            "is_active": bool(is_active),  # SQLite stores booleans as numbers
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
        """Write the changed fields, and end sessions if necessary, in one transaction.

        The arguments are those of Peewee's `Model.save`.

        Raises:
            ValidationError: A name breaks a rule; `errors` also reports a taken name.
            TakenError: Another user has the name; no rule is broken.
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
            with self._using_origin(), database.atomic():
                saved = super().save(force_insert, only)
                # Delete after the UPDATE, because its row lock makes a concurrent login wait: see
                # `sessions.start`.
                if not is_new and ("hashed_password" in changed or not self.is_active):
                    Session.delete().where(Session.user == self.id).execute()
        except peewee.IntegrityError:
            with self._using_origin():
                written = {"username": self.username, "email": self.email}
                refuse_names(written, {}, owner_id=self.id)
            raise  # another constraint, or the name is no longer taken
        if saved:  # otherwise the user has been deleted
            with self._using_origin():
                self._report(changed, is_new=is_new)
        return saved

    def delete_instance(self, *args: Any, **kwargs: Any) -> int:
        """Delete the user with all sessions and permissions."""
        with self._using_origin():
            deleted: int = super().delete_instance(*args, **kwargs)
            if deleted:
                events.emit("user_deleted", user_id=self.id)
        return deleted

    @property
    def permissions(self) -> frozenset[str]:
        """The permissions granted to this user, read from the database on each access.

        A superuser has every permission, but only the granted ones are listed here.
        """
        with self._using_origin():
            return frozenset(name for (name,) in _PERMISSIONS_OF.fetchall(self.id))

    def has_permission(self, permission: str) -> bool:
        """Return whether the user has `permission`, which has the form `<app>.<action>`.

        An active superuser has every permission; an inactive user has none.

        Raises:
            ValueError: `permission` has another form.
            peewee.DatabaseError: The database failed.
        """
        names.check_permission(permission)
        if not self.is_active:
            return False
        return self.is_superuser or permission in self.permissions

    def grant(self, *permissions: str) -> None:
        """Grant all given permissions or none; those already granted are left unchanged.

        Raises:
            ValueError: A permission does not have the form `<app>.<action>`.
            User.DoesNotExist: The user is not in the database.
            peewee.DatabaseError: The database failed.
        """
        rows = [
            {"user": self.id, "name": names.check_permission(permission)}
            for permission in permissions
        ]
        with self._using_origin():
            with database.atomic():
                # MariaDB's INSERT IGNORE would also ignore that the user does not exist.
                User.get_by_id(self.id)
                if rows:
                    Permission.insert_many(rows).on_conflict_ignore().execute()
            self._report_rights("granted", permissions)

    def revoke(self, *permissions: str) -> None:
        """Revoke all given permissions or none; those not granted are ignored.

        Raises:
            ValueError: A permission does not have the form `<app>.<action>`.
            peewee.DatabaseError: The database failed.
        """
        taken = [names.check_permission(permission) for permission in permissions]
        with self._using_origin():
            with database.atomic():
                Permission.delete().where(
                    Permission.user == self.id, Permission.name.in_(taken)
                ).execute()
            self._report_rights("revoked", permissions)

    def _using_origin(self) -> AbstractContextManager[None]:
        # Always set a database: in a thread without a context, events would find no subscribers.
        return context.using(self.origin or storage.current())

    def _check_names(self, changed: set[str]) -> None:
        written: dict[str, str] = {
            name: getattr(self, name) for name in ("username", "email") if name in changed
        }
        errors = names.name_errors(written)
        if errors:
            with self._using_origin():
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
    """A login. Its token is valid only while this row exists.

    Attributes:
        id: Random; the token's `jti` claim (RFC 7519 section 4.1.7).
        user: The user who logged in.
        created_at: When the session began (UTC).
        expires_at: When it ends, in seconds since the epoch; the token's `exp` claim.
    """

    id = peewee.CharField(max_length=43, primary_key=True)
    user = peewee.ForeignKeyField(User, on_delete="CASCADE")
    created_at = UTCDateTimeField(default=utc_now)
    expires_at = peewee.BigIntegerField(index=True)

    class Meta:
        table_name = "wsgiauth_session"


class Permission(_Model):
    """A permission, `<app>.<action>`, that is granted to one user."""

    user_id: int
    user = peewee.ForeignKeyField(User, on_delete="CASCADE")
    name = peewee.CharField(max_length=names.PERMISSION_MAX_LENGTH)

    class Meta:
        table_name = "wsgiauth_permission"
        primary_key = peewee.CompositeKey("user", "name")


User.objects = UserObjects(User)

# The columns that a request needs: all but the keys, which are only for look-ups.
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
    """Raise an error if a rule is broken or a name is taken; it reports both.

    Args:
        written: A username, an e-mail address or both, by field.
        errors: Messages about broken rules, by field. A name in it is not looked up.
        owner_id: The id of the user who is allowed to have the names.

    Raises:
        ValidationError: There are `errors`.
        TakenError: Another user has a name, in any letter case, and there are no `errors`.
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
        raise TakenError(taken) from None  # the database's error may contain the row
