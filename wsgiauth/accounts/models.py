"""The Peewee model of users; its base class `groups.UserRights` has permissions and groups."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Protocol

import peewee

from wsgiauth import events, storage
from wsgiauth.accounts import names
from wsgiauth.accounts.groups import UserRights
from wsgiauth.accounts.locks import remove_locked
from wsgiauth.accounts.tables import (
    ADDRESS,
    CODE,
    RESET,
    RESTORE,
    Session,
    UserObjects,
    end_secrets,
    end_trust,
    forget_former_password,
    revoke_keys,
)
from wsgiauth.events import kinds
from wsgiauth.exceptions import InUseError
from wsgiauth.settings import Settings
from wsgiauth.settings.checks import MAX_TAG_LENGTH
from wsgiauth.settings.oidc import trusted_issuers
from wsgiauth.storage import database
from wsgiauth.storage.models import NO_PASSWORD, BcryptHashField, UTCDateTimeField, utc_now
from wsgiauth.storage.statements import Statement, is_given, locked

# The columns of the filters, orders and figures of the staff panel.
_FILTERED_BY = (
    *("is_active", "is_staff", "is_superuser"),
    *("created_at", "email_verified_at", "last_login_at"),
)


class User(UserRights):
    """A person's account.

    Saving applies the rules for names, and ends the user's sessions if the change requires it.
    Neither saving nor deleting an object removes the last active superuser. Of Peewee's bulk
    queries, only `User.update(...)` ends sessions; none applies the other rules.

    Methods that use the database raise peewee.DatabaseError if it fails. Internal attributes can
    change in any version; they have no underscore because queries name them.

    Attributes:
        username: Unique without regard to letter case or compatibility forms; shown as typed. With
            USERNAMES=off, users have one that they do not see: None makes a random one.
        email: Unique in the same way; shown as typed.
        hashed_password: A bcrypt hash; empty: no password matches. A new hash ends all sessions of
            the user.
        is_active: Whether the user can log in. False ends all sessions of the user and revokes all
            API keys; requests of an inactive user are anonymous.
        is_staff: Whether the user can use the application's administration pages.
        is_superuser: Whether the user has every permission.
        created_at: When the account was created (UTC).
        email_verified_at: When the user proved that they read emails to `email` (UTC), or None. A
            new `email` makes it None, unless it is set at the same time.
        email_verified_by: The proof: "link" (an email of this site), "operator" (someone who
            administers the site knows the address; as good as a link), or the issuer of the
            provider that verified the address. Empty: unknown, and no better than a provider. A new
            `email_verified_at` makes it empty, unless it is set at the same time.
        last_login_at: When the user last logged in (UTC), or None. Logins within the next hour do
            not change it.
        language: The language of the user's pages and emails, such as `de`; empty: none is chosen.
            The first login stores the language that the browser asks for.
        username_key, email_key: Internal: the names as they are compared; saving sets them.
        security_stamp: Internal: the number of times that all sessions of the user were ended at
            once. A session is valid only while its own stamp equals it. Only the database
            increments it; saving an object does not set it.
        locks: Internal: MariaDB increments it to lock the user: see `locks`.
        database: Internal: the one that the object was read from.
        objects: Creates and finds users: `create`, `get`, `get_or_none`, `filter`, `all`, `count`.
    """

    _registration_reason: str | None = None  # of the event, which saving a new user emits

    objects: ClassVar[UserObjects]
    DoesNotExist: ClassVar[type[peewee.DoesNotExist]]

    id: peewee.BigAutoField[int] = peewee.BigAutoField()
    username: peewee.CharField[str] = peewee.CharField(max_length=names.USERNAME_MAX_LENGTH)
    username_key: peewee.CharField[str] = peewee.CharField(
        max_length=names.USERNAME_MAX_LENGTH, unique=True
    )
    email: peewee.CharField[str] = peewee.CharField(max_length=names.EMAIL_MAX_LENGTH)
    email_key: peewee.CharField[str] = peewee.CharField(
        max_length=names.EMAIL_MAX_LENGTH, unique=True
    )
    hashed_password: peewee.CharField[str] = BcryptHashField(max_length=60)
    security_stamp: peewee.IntegerField[int] = peewee.IntegerField(default=0)
    is_active: peewee.BooleanField[bool] = peewee.BooleanField(default=True)
    is_staff: peewee.BooleanField[bool] = peewee.BooleanField(default=False)
    is_superuser: peewee.BooleanField[bool] = peewee.BooleanField(default=False)
    created_at: peewee.DateTimeField[datetime] = UTCDateTimeField(default=utc_now)
    email_verified_at: peewee.DateTimeField[datetime | None] = UTCDateTimeField(null=True)
    email_verified_by: peewee.CharField[str] = peewee.CharField(max_length=255, default="")
    last_login_at: peewee.DateTimeField[datetime | None] = UTCDateTimeField(null=True)
    language: peewee.CharField[str] = peewee.CharField(max_length=MAX_TAG_LENGTH, default="")
    locks: peewee.IntegerField[int] = peewee.IntegerField(default=0)

    class Meta:
        table_name = "wsgiauth_user"
        indexes: ClassVar[tuple[object, ...]] = tuple(((c, "id"), False) for c in _FILTERED_BY)

    def __str__(self) -> str:
        return self.label

    def __repr__(self) -> str:
        return f"<User {self.id} {self.username!r}>"

    @property
    def label(self) -> str:
        """The name for people, which is the username, or the address with USERNAMES=off.

        Users can change both. Store `id` to refer to a user.
        """
        return str(getattr(self, label_column(self.database).name))

    @property
    def has_password(self) -> bool:
        """Whether the user has a password; without one, they log in by a provider or a passkey."""
        return self.hashed_password != NO_PASSWORD

    @property
    def sessions(self) -> peewee.ModelSelect[Session]:
        """A query for the user's valid sessions, the newest first."""
        query = Session.select().join(User).where(Session.user == self.id, IS_VALID_SESSION)
        query = query.where(Session.expires_at > int(time.time()))
        query = query.order_by(Session.created_at.desc(), Session.id)
        return query.bind(self.database or storage.current())

    @classmethod
    def update(cls, data: Any = None, /, **changes: Any) -> peewee.ModelUpdate:
        """Return Peewee's UPDATE, which increments the stamp if it must end sessions.

        A new `hashed_password` and an `is_active` other than True end sessions. The UPDATE itself
        increments, so that concurrent changes never get the same stamp. A new `email` also clears
        `email_verified_at`, and a new `email_verified_at` clears `email_verified_by`.

        The arguments are those of Peewee's `Model.update`; `security_stamp=User.security_stamp`
        keeps the sessions.

        Raises:
            ValueError: `security_stamp` is a number, which could make ended sessions valid again.
        """
        changes |= {getattr(field, "name", field): value for field, value in (data or {}).items()}
        if isinstance(changes.get("security_stamp"), int):
            raise ValueError("security_stamp is incremented by the database and cannot be set")
        if "hashed_password" in changes or changes.get("is_active", True) is not True:
            changes.setdefault("security_stamp", cls.security_stamp + 1)
        if "email" in changes:
            changes.setdefault("email_verified_at", None)
        if "email_verified_at" in changes:
            changes.setdefault("email_verified_by", "")
        return super().update(changes)

    def save(self, force_insert: bool = False, only: Any = None) -> int | bool:
        """Write the changed fields, and end the user's sessions if necessary.

        The arguments are those of Peewee's `Model.save`; of the fields in `only`, too, it writes
        only those that have changed. A name or a flag that is stored already is no change.

        Returns:
            A true value if anything was written, as Peewee does.

        Raises:
            ValidationError: A name breaks a rule; `errors` also reports a taken name.
            TakenError: Another user has the name; no rule is broken.
            LastSuperuserError: The last active superuser would be demoted or deactivated.
            ValueError: `hashed_password` is not a bcrypt hash.
        """
        if force_insert or self.id is None:
            return self._save(force_insert, only, is_new=True)
        with self._using_database():
            write = partial(self._save_changed, only)
            flags = self._changed(only) & {"is_active", "is_superuser"}
            can_remove_superuser = not all(getattr(self, flag) for flag in flags)
            return remove_locked(self, write) if can_remove_superuser else write()

    def _changed(self, only: Any) -> set[str]:
        changed = {each.name for each in self.dirty_fields}
        return changed if only is None else changed & {getattr(e, "name", e) for e in only}

    def _save_changed(self, only: Any) -> int | bool:
        with database.atomic():
            self._leave_out_stored()
            return self._save(False, only, is_new=False)

    def _save(self, force_insert: bool, only: Any, *, is_new: bool) -> int | bool:
        if not is_new:
            dirty: set[str] = vars(self)["_dirty"]
            dirty.discard("security_stamp")  # only the database increments it
            if "email" in dirty and "email_verified_at" not in dirty:
                self.email_verified_at = None
            if "email_verified_at" in dirty and "email_verified_by" not in dirty:
                self.email_verified_by = ""
        changed = self._changed(only)
        if only is not None:
            only = [self._meta.fields[name] for name in sorted(changed)]
            only += [field for name, field in _KEY_OF.items() if name in changed]
            if not (only or is_new):
                return False
        self._check_names(changed)
        try:
            with self._using_database(), database.atomic():
                old = self._stored_email() if "email" in changed and not is_new else {}
                saved = super().save(force_insert, only)
                if not is_new and {"hashed_password", "is_active"} & changed:
                    self._read_stamp()
                if is_new:
                    self._report_registration()
                elif saved:  # otherwise the user has been deleted
                    self._report_changes(changed, old)
                    self._end_credentials(changed)
        except peewee.IntegrityError:
            with self._using_database():
                written = {"username": self.username, "email": self.email}
                names.refuse_names(User, written, {}, owner_id=self.id, is_refused=True)
            raise  # another constraint, or the name is no longer taken
        return saved

    def delete_instance(self, *args: Any, **kwargs: Any) -> int:
        """Delete the user with all sessions, permissions and memberships.

        Returns:
            1, or 0 if the user has been deleted already.

        Raises:
            LastSuperuserError: The user is the last active superuser.
            InUseError: A foreign key of the application refuses it.
        """
        with self._using_database(), refusing_referenced(self.label):
            return remove_locked(self, partial(self._delete, *args, **kwargs))

    def _delete(self, *args: Any, **kwargs: Any) -> int:
        """Delete the user, whose row is locked."""
        with database.atomic():
            old = self._stored_email()
            deleted: int = super().delete_instance(*args, **kwargs)
            details = {**old, "email": old["old_email"]}
            events.emit(kinds.USER_DELETED, user_id=self.id, details=details)
        return deleted

    def _end_credentials(self, changed: set[str]) -> None:
        if "is_active" in changed:
            revoke_keys(self.id)
            end_secrets(self.id, RESTORE)
        if {"hashed_password", "is_active"} & changed:
            end_trust(self.id)
        if "hashed_password" in changed:
            forget_former_password(self.id)
        if "email" in changed:  # the links would work again if the old address came back
            end_secrets(self.id, ADDRESS, CODE, RESET)

    def _check_names(self, changed: set[str]) -> None:
        if self.username is None and not has_usernames(self.database or storage.current()):
            self.username = names.make_username()
            self.username_key = self.username
            changed = changed - {"username"}
        written: dict[str, str] = {
            name: getattr(self, name) for name in ("username", "email") if name in changed
        }
        errors = names.name_errors(written)
        if errors:
            with self._using_database():
                names.refuse_names(User, written, errors, owner_id=self.id)
        for name, value in written.items():
            setattr(self, f"{name}_key", names.key(value))

    def _read_stamp(self) -> None:
        # Only in the transaction that has changed the row, and so locked it: a stamp that is read
        # later can be that of another change, and a session with it would be valid.
        (self.__data__["security_stamp"],) = _STAMP.fetchone(id=self.id) or (None,)

    def _stored_email(self) -> dict[str, str]:
        """Return the stored names, the address also as `unproven` if it is, and the language."""
        columns = (User.username, User.email, User.email_verified_at, User.email_verified_by)
        stored = self._stored(*columns, User.language) or ("", "", None, "", "")
        username, email, verified_at, verified_by, language = stored
        return {
            "username": username,
            "old_email": email,
            "unproven": "" if verified_at else email,
            "verified_at": verified_at.isoformat() if verified_at else "",
            "verified_by": verified_by,
            "language": language,
        }

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
        query = locked(User.select(*columns).where(User.id == self.id))
        row: tuple[Any, ...] | None = query.tuples().first()
        return row

    def _report_registration(self) -> None:
        events.emit(kinds.REGISTRATION, user_id=self.id, reason=self._registration_reason)
        for flag in ("is_staff", "is_superuser"):
            if getattr(self, flag):
                self._report_rights(flag, "on")

    def _report_changes(self, changed: set[str], old: dict[str, str]) -> None:
        if "hashed_password" in changed:
            events.emit(kinds.PASSWORD_CHANGED, user_id=self.id)
        if "email" in changed:
            details = {**old, "email": self.email, "username": self.username}
            details["new_unproven"] = "" if self.email_verified_at else self.email
            events.emit(kinds.NAMES_CHANGED, user_id=self.id, reason="email", details=details)
        if "language" in changed:
            events.emit(kinds.LANGUAGE_CHANGED, user_id=self.id, reason=self.language)
        if "username" in changed:
            events.emit(kinds.NAMES_CHANGED, user_id=self.id, reason="username")
        if "email_verified_at" in changed and "email" not in changed:
            verified = "not verified" if self.email_verified_at is None else "verified"
            events.emit(kinds.NAMES_CHANGED, user_id=self.id, reason=f"email {verified}")
        for flag in sorted(changed.intersection(_FLAGS)):
            self._report_rights(flag, "on" if getattr(self, flag) else "off")


User.objects = UserObjects(User)


def label_column(database: Any = None) -> peewee.CharField[str]:
    """Return the column of `User.label`, for queries; None is the current database."""
    return User.username if has_usernames(database) else User.email


def has_usernames(database: Any = None) -> bool:
    """Return whether people have usernames (`USERNAMES`) on the site of a database."""
    return getattr(database or storage.current_or_none(), "has_usernames", True)


# A new password or a deactivation changes the user's stamp; the rows of the ended sessions stay
# until they expire.
IS_VALID_SESSION = User.is_active & (Session.stamp == User.security_stamp)

_STAMP = Statement(lambda: User.select(User.security_stamp).where(is_given(User.id)))

# Values of `email_verified_by`. Neither can be an issuer, which is a URL.
PROVEN_BY_LINK = "link"  # the user has opened an emailed link
PROVEN_BY_OPERATOR = "operator"  # an operator can change every account anyway
PROVEN_HERE = frozenset({PROVEN_BY_LINK, PROVEN_BY_OPERATOR})

_FLAGS = ("is_active", "is_staff", "is_superuser")
_KEY_OF = {"username": User.username_key, "email": User.email_key}


@contextmanager
def refusing_referenced(label: str) -> Iterator[None]:
    """Raise InUseError if rows of the application keep a user from being deleted.

    Around the transaction, because a deferred foreign key, such as Django's, fails at its commit.
    """
    try:
        yield
    except peewee.IntegrityError as error:
        raise InUseError(label) from error


def is_proven_here(user: User) -> bool:
    """Return whether an emailed link of this site, or an operator, has proven the address.

    If a provider verified the address wrongly, someone else has created the account. An unknown
    proof counts as little.
    """
    return user.email_verified_at is not None and user.email_verified_by in PROVEN_HERE


class Proven(Protocol):
    """A user, or a row of a list, with the proof of the email address."""

    @property
    def email_verified_at(self) -> datetime | None:
        """See `User`."""

    @property
    def email_verified_by(self) -> str:
        """See `User`."""


def is_proven(user: Proven, settings: Settings) -> bool:
    """Return whether the address is proven for others, who can take it for the user's own.

    A provider with `link=verified` counts, too, as long as OIDC_PROVIDERS has it. Any other
    provider could have verified the address for a stranger.
    """
    proofs = PROVEN_HERE | trusted_issuers(settings.OIDC_PROVIDERS)
    return user.email_verified_at is not None and user.email_verified_by in proofs


def verified_by_operator(user: User, email: str | None = None) -> dict[str, Any]:
    """Return the changes for `update_user` if an operator knows that the user reads an address.

    `email` is the address if it is a new one. A proof by this site stays as it is.
    """
    if email in (None, user.email) and is_proven_here(user):
        return {}
    return {"email_verified_at": utc_now(), "email_verified_by": PROVEN_BY_OPERATOR}
