"""The Peewee model of users; `rights` is the part of it about permissions and groups.

`User.save` applies the rules for names, which are in `names`. `User.update`, which it uses, ends
the user's logins if the change requires it.
"""

import time
from datetime import datetime
from functools import partial
from typing import Any, ClassVar

import peewee

from wsgiauth import events, storage
from wsgiauth.accounts import names
from wsgiauth.accounts.groups import UserRights
from wsgiauth.accounts.last_superuser import remove_locked
from wsgiauth.accounts.tables import ADDRESS, RESET, Objects, Session, end_secrets, revoke_keys
from wsgiauth.storage import database
from wsgiauth.storage.models import BcryptHashField, UTCDateTimeField, utc_now


class UserObjects(Objects["User"]):
    """Create and find users, as `User.objects`."""

    def create(
        self,
        *,
        username: str,
        email: str,
        hashed_password: str,
        is_active: bool = True,
        is_staff: bool = False,
        is_superuser: bool = False,
    ) -> "User":
        """Insert a user and return it.

        Args:
            username: As typed; unique without regard to letter case.
            email: As typed; unique without regard to letter case.
            hashed_password: A hash that `hash_password` returned.
            is_active, is_staff, is_superuser: See `User`.

        Raises:
            ValidationError: A name breaks a rule; `errors` holds the messages by field.
            TakenError: Another user has the name.
            ValueError: `hashed_password` is not a bcrypt hash.
            peewee.DatabaseError: The database failed.
        """
        return self._model.create(
            username=username,
            email=email,
            hashed_password=hashed_password,
            is_active=is_active,
            is_staff=is_staff,
            is_superuser=is_superuser,
        )


class User(UserRights):
    """A person's account.

    Saving applies the rules for names, and ends the user's logins if the change requires it.
    Neither saving nor deleting an object removes the last active superuser. Of Peewee's bulk
    queries, `User.update(...)` ends logins; they do nothing else of this.

    Internal attributes can change in any version. They have no underscore because queries name
    them.

    Attributes:
        username: Unique without regard to letter case or compatibility forms; shown as typed.
        email: Unique in the same way; shown as typed.
        hashed_password: A bcrypt hash. A new one ends all of the user's logins.
        is_active: Whether the user can log in. False ends all of the user's logins and API keys;
            requests of an inactive user are anonymous.
        is_staff: Whether the user can use the application's administration pages.
        is_superuser: Whether the user has every permission.
        created_at: When the account was created (UTC).
        email_verified_at: When the user proved that they read mails to `email` (UTC), or None.
            Another `email` makes it None, unless it is set at the same time.
        last_login_at: When the user last logged in (UTC), or None. Logins within an hour after it
            do not change it.
        username_key, email_key: Internal: the names as they are compared; saving sets them.
        security_stamp: Internal: the number of times that all of the user's logins were ended at
            once. Each login stores the stamp of its start, and is valid only while the two are
            equal. Only the database increments it; saving an object does not set it.
        origin: Internal: the database that the object was read from.
    """

    objects: ClassVar[UserObjects]
    DoesNotExist: ClassVar[type[peewee.DoesNotExist]]

    id: "peewee.BigAutoField[int]" = peewee.BigAutoField()
    username: "peewee.CharField[str]" = peewee.CharField(max_length=names.USERNAME_MAX_LENGTH)
    username_key: "peewee.CharField[str]" = peewee.CharField(
        max_length=names.USERNAME_MAX_LENGTH, unique=True
    )
    email: "peewee.CharField[str]" = peewee.CharField(max_length=names.EMAIL_MAX_LENGTH)
    email_key: "peewee.CharField[str]" = peewee.CharField(
        max_length=names.EMAIL_MAX_LENGTH, unique=True
    )
    hashed_password: "peewee.CharField[str]" = BcryptHashField(max_length=60)
    security_stamp: "peewee.IntegerField[int]" = peewee.IntegerField(default=0)
    is_active: "peewee.BooleanField[bool]" = peewee.BooleanField(default=True)
    is_staff: "peewee.BooleanField[bool]" = peewee.BooleanField(default=False)
    is_superuser: "peewee.BooleanField[bool]" = peewee.BooleanField(default=False)
    created_at: "peewee.DateTimeField[datetime]" = UTCDateTimeField(default=utc_now)
    email_verified_at: "peewee.DateTimeField[datetime | None]" = UTCDateTimeField(null=True)
    last_login_at: "peewee.DateTimeField[datetime | None]" = UTCDateTimeField(null=True)

    class Meta:
        table_name = "wsgiauth_user"
        # For the lists of the staff panel, whose pages read a few rows in the order of an index.
        indexes: ClassVar[tuple[object, ...]] = tuple(
            ((column, "id"), False)
            for column in (
                "is_active",
                "is_staff",
                "is_superuser",
                "email_verified_at",
                "last_login_at",
            )
        )

    def __str__(self) -> str:
        return str(self.username)

    def __repr__(self) -> str:
        return f"<User {self.id} {self.username!r}>"

    @property
    def sessions(self) -> "peewee.ModelSelect[Session]":
        """A query for the user's valid sessions, the newest first."""
        query = Session.select().join(User).where(Session.user == self.id, IS_VALID_SESSION)
        query = query.where(Session.expires_at > int(time.time()))
        query = query.order_by(Session.created_at.desc(), Session.id)
        return query.bind(self.origin or storage.current())

    @classmethod
    def update(cls, data: Any = None, /, **changes: Any) -> peewee.ModelUpdate:
        """Return Peewee's UPDATE, which increments the stamp if it must end logins.

        That is the case for a new `hashed_password`, and for an `is_active` other than True. The
        UPDATE itself increments, so that concurrent changes never arrive at the same stamp. Another
        `email` also clears `email_verified_at`.

        The arguments are those of Peewee's `Model.update`. A `security_stamp` among them replaces
        the increment: `security_stamp=User.security_stamp` keeps the logins.

        Raises:
            ValueError: `security_stamp` is a number, which could make ended logins valid again.
        """
        changes |= {getattr(field, "name", field): value for field, value in (data or {}).items()}
        if isinstance(changes.get("security_stamp"), int):
            raise ValueError("security_stamp is incremented by the database and cannot be set")
        if "hashed_password" in changes or changes.get("is_active", True) is not True:
            changes.setdefault("security_stamp", cls.security_stamp + 1)
        if "email" in changes:
            changes.setdefault("email_verified_at", None)
        return super().update(changes)

    def save(self, force_insert: bool = False, only: Any = None) -> int | bool:
        """Write the changed fields, and end the user's logins if necessary.

        The arguments are those of Peewee's `Model.save`. Of `only`, too, just the changed fields
        are written. A name or a flag that is stored already is no change.

        Returns:
            What Peewee does: something true if anything was written.

        Raises:
            ValidationError: A name breaks a rule; `errors` also reports a taken name.
            TakenError: Another user has the name; no rule is broken.
            LastSuperuserError: The last active superuser would be demoted or deactivated.
            ValueError: `hashed_password` is not a bcrypt hash.
            peewee.DatabaseError: The database failed.
        """
        if force_insert or self.id is None:
            return self._save(force_insert, only, is_new=True)
        with self._using_origin():
            write = partial(self._save_changed, only)
            return remove_locked(self, write) if self._is_removal(only) else write()

    def _is_removal(self, only: Any) -> bool:
        """Return whether saving can take away a superuser."""
        flags = {"is_active", "is_superuser"} & {each.name for each in self.dirty_fields}
        if only is not None:
            flags &= {getattr(each, "name", each) for each in only}
        return not all(getattr(self, flag) for flag in flags)

    def _save_changed(self, only: Any) -> int | bool:
        with database.atomic():
            self._leave_out_stored()
            return self._save(False, only, is_new=False)

    def _save(self, force_insert: bool, only: Any, *, is_new: bool) -> int | bool:
        changed = {each.name for each in self.dirty_fields}
        if "email" in changed and "email_verified_at" not in changed and not is_new:
            self.email_verified_at = None  # the proof was another address's
            changed.add("email_verified_at")
        if not is_new:
            vars(self)["_dirty"].discard("security_stamp")  # only the database increments it
            changed.discard("security_stamp")
        if only is not None:
            changed &= {getattr(each, "name", each) for each in only}
            only = [self._meta.fields[name] for name in sorted(changed)]
            only += [field for name, field in _KEY_OF.items() if name in changed]
            if not (only or is_new):
                return False
        self._check_names(changed)
        try:
            with self._using_origin(), database.atomic():
                old = self._stored_email() if "email" in changed and not is_new else {}
                saved = super().save(force_insert, only)
                if not is_new and {"hashed_password", "is_active"} & changed:
                    self._read_stamp()
                if saved:  # otherwise the user has been deleted
                    self._report(changed, is_new=is_new, old=old)
                if not is_new:
                    self._end_credentials(changed)
        except peewee.IntegrityError:
            with self._using_origin():
                written = {"username": self.username, "email": self.email}
                names.refuse_names(User, written, {}, owner_id=self.id)
            raise  # another constraint, or the name is no longer taken
        return saved

    def delete_instance(self, *args: Any, **kwargs: Any) -> int:
        """Delete the user with all logins, permissions and memberships.

        Returns:
            1, or 0 if the user has been deleted already.

        Raises:
            LastSuperuserError: The user is the last active superuser.
            peewee.DatabaseError: The database failed.
        """
        with self._using_origin():
            return remove_locked(self, partial(self._delete, *args, **kwargs))

    def _delete(self, *args: Any, **kwargs: Any) -> int:
        """Delete the user, whose row is locked."""
        with database.atomic():
            old = self._stored_email()
            deleted: int = super().delete_instance(*args, **kwargs)
            details = {**old, "email": old["old_email"], "username": self.username}
            events.emit("user_deleted", user_id=self.id, details=details)
        return deleted

    def _end_credentials(self, changed: set[str]) -> None:
        if "is_active" in changed:
            revoke_keys(self.id)
        if "email" in changed:  # the links would work again if the old address came back
            end_secrets(self.id, ADDRESS, RESET)

    def _check_names(self, changed: set[str]) -> None:
        written: dict[str, str] = {
            name: getattr(self, name) for name in ("username", "email") if name in changed
        }
        errors = names.name_errors(written)
        if errors:
            with self._using_origin():
                names.refuse_names(User, written, errors, owner_id=self.id)
        for name, value in written.items():
            setattr(self, f"{name}_key", names.key(value))

    def _read_stamp(self) -> None:
        # Only in the transaction that has changed the row, and so locked it: a stamp that is read
        # later can be that of another change, and a login with it would be valid.
        stamp = User.select(User.security_stamp).where(User.id == self.id)
        self.__data__["security_stamp"] = stamp.scalar()

    def _stored_email(self) -> dict[str, str]:
        """Return the stored address, and again as `unproven` if it is not verified."""
        email, verified_at = self._stored(User.email, User.email_verified_at) or ("", None)
        return {"old_email": email, "unproven": "" if verified_at else email}

    def _leave_out_stored(self) -> None:
        """Let names and flags that are stored already count as unchanged."""
        dirty: set[str] = vars(self)["_dirty"]
        columns = [self._meta.fields[name] for name in (*_KEY_OF, *_FLAGS) if name in dirty]
        stored = self._stored(*columns) if columns else None
        for column, value in zip(columns, stored or (), strict=False):
            if getattr(self, column.name) == value:
                dirty.discard(column.name)

    def _stored(self, *columns: peewee.Field) -> tuple[Any, ...] | None:
        """Return the stored values, or None if the user has been deleted."""
        # Locked, so that of two concurrent changes the second one finds the first one's values.
        stored = User.select(*columns).where(User.id == self.id).tuples()
        row: tuple[Any, ...] | None
        row = (stored.for_update() if database.for_update else stored).first()
        return row

    def _report(self, changed: set[str], *, is_new: bool, old: dict[str, str]) -> None:
        flags = changed.intersection(_FLAGS)
        if is_new:
            events.emit("registration", user_id=self.id)
            flags = {flag for flag in ("is_staff", "is_superuser") if getattr(self, flag)}
        elif "hashed_password" in changed:
            events.emit("password_changed", user_id=self.id)
        for name in () if is_new else sorted({"username", "email"} & changed):
            emails = {**old, "email": self.email, "username": self.username}
            emails["new_unproven"] = "" if self.email_verified_at else self.email
            details = emails if name == "email" else None
            events.emit("names_changed", user_id=self.id, reason=name, details=details)
        if not is_new and changed & {"email", "email_verified_at"} == {"email_verified_at"}:
            verified = "not verified" if self.email_verified_at is None else "verified"
            events.emit("names_changed", user_id=self.id, reason=f"email {verified}")
        for flag in sorted(flags):
            self._report_rights(flag, "on" if getattr(self, flag) else "off")


User.objects = UserObjects(User)

# A new password or a deactivation changes the user's stamp, and leaves the rows of the sessions
# that it ends to expire.
IS_VALID_SESSION = User.is_active & (Session.stamp == User.security_stamp)

_FLAGS = ("is_active", "is_staff", "is_superuser")
_KEY_OF = {"username": User.username_key, "email": User.email_key}
