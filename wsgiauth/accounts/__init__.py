"""Create, change, find and delete accounts, for HTTP and the command line.

Functions of this package raise peewee.DatabaseError if the database fails. A check of a new
password raises RetryLaterError if the file BREACHED_PASSWORDS cannot be read.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

import peewee

from wsgiauth.accounts import names
from wsgiauth.accounts.former import FormerHash, store
from wsgiauth.accounts.locks import change_locked, lock_users
from wsgiauth.accounts.models import PROVEN_BY_OPERATOR, User
from wsgiauth.accounts.passwords import hash_password, password_problem
from wsgiauth.accounts.registration import NOTHING, Answers
from wsgiauth.exceptions import ValidationError
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import NO_PASSWORD, UTCDateTimeField, utc_now
from wsgiauth.storage.statements import Statement, is_given

_BY_USERNAME = Statement(lambda: User.select().where(is_given(User.username_key)))
_BY_EMAIL = Statement(lambda: User.select().where(is_given(User.email_key)))

_COLUMNS: Sequence[peewee.Field] = cast(Any, User)._meta.sorted_fields
_NO_USER: Sequence[object] = [
    utc_now() if isinstance(column, UTCDateTimeField) else column.adapt("0") for column in _COLUMNS
]


class NewAccount:
    """The names of a new user, and the password or None, as typed.

    With USERNAMES=off, None as the username makes a random one. The rules are checked once, here.
    Only the methods read the database or compute a hash.

    Attributes:
        errors: A message for each broken rule, by field.
        answers: The values of the application's own fields.
    """

    def __init__(
        self,
        username: str | None,
        email: str,
        password: str | None,
        *,
        settings: Settings,
        answers: Answers = NOTHING,
        language: str = "",
    ) -> None:
        self._language = language
        self._names = _names(username, email, settings)
        self._password = password
        self._rounds = settings.BCRYPT_ROUNDS
        self.errors = names.name_errors(self._names)
        if password is not None:
            problem = password_problem(password, settings, username=username or "", email=email)
            if problem is not None:
                self.errors["password"] = [problem]
        self.errors |= answers.errors
        self.answers = answers

    @property
    def is_telling(self) -> bool:
        """Whether `check` tells if a name is taken, or the application has checked a value."""
        return self.answers.are_telling or not self._names.keys() <= self.errors.keys()

    def has_email(self, email: str) -> bool:
        """Return whether the account has this email address: see `names.is_same_mailbox`."""
        return names.is_same_mailbox(self._names["email"], email)

    def check(self) -> None:
        """Raise ValidationError or TakenError, as `names.refuse_names` does."""
        names.refuse_names(User, self._names, self.errors)

    def hash_password(self) -> str:
        """Check the account, and return the hash of the password or `NO_PASSWORD`."""
        self.check()  # before hashing, which costs a thousand times more
        if self._password is None:
            return NO_PASSWORD
        return hash_password(self._password, rounds=self._rounds)

    def register(
        self,
        hashed_password: str,
        follow_up: Callable[[User], object],
        *,
        reason: str | None = None,
    ) -> User:
        """Insert the user, and call `Answers.pass_on` and `follow_up` in the same transaction.

        `reason` is that of the event `registration`.
        """
        if self.answers.are_passed_on:
            return self._register(hashed_password, follow_up, reason)
        return repeated_after_conflict(self._register)(hashed_password, follow_up, reason)

    def _register(
        self, hashed_password: str, follow_up: Callable[[User], object], reason: str | None
    ) -> User:
        with database.atomic():
            user = self.insert(hashed_password, reason=reason)
            self.answers.pass_on(user)
            follow_up(user)
        return user

    @repeated_after_conflict
    def insert(
        self, hashed_password: str | FormerHash, *, reason: str | None = None, **fields: object
    ) -> User:
        """Insert the user; of two processes that checked a name, one then raises TakenError.

        Args:
            hashed_password: See `User`, or a hash of other software.
            reason: Of the event `registration`.
            fields: Further fields of `User`.
        """
        fields |= {**self._names, "language": self._language, "_registration_reason": reason}
        if isinstance(hashed_password, str):
            return User.create(**fields, hashed_password=hashed_password)
        with database.atomic():
            user = User.create(**fields, hashed_password=hashed_password.hashed_password)
            store(hashed_password, user)
        return user


def check_names(written: Mapping[str, str], errors: Mapping[str, list[str]] | None = None) -> None:
    """Raise ValidationError or TakenError if a new user cannot have these names, by field.

    ValidationError also reports `errors`, the messages about other fields.
    """
    names.refuse_names(User, written, {**(errors or {}), **names.name_errors(written)})


def _names(username: str | None, email: str, settings: Settings) -> dict[str, str]:
    """Return the names of a new user, by field."""
    if username is None and not settings.USERNAMES:
        return {"email": email}
    return {"username": username or "", "email": email}


def create_user(
    username: str | None,
    email: str,
    password: str | FormerHash | None,
    *,
    settings: Settings,
    is_staff: bool = False,
    is_superuser: bool = False,
    is_verified: bool = False,
) -> User:
    """Create a user with all fields in one transaction, and return it.

    Args:
        username, email, password: As typed; only the hash of the password is stored. A hash of
            other software is stored as it is, without the rules for passwords. None: the user has
            no password, and logs in another way. A username is needed unless USERNAMES is off.
        settings: The source of `BCRYPT_ROUNDS` and of the rules for passwords.
        is_staff, is_superuser: See `User`.
        is_verified: Whether you know that the user reads emails to the address; see
            `User.email_verified_by`.

    Raises:
        ValidationError: A rule is broken; `errors` also reports taken names.
        TakenError: Another user has the username or email address; no rule is broken.
    """
    former = password if isinstance(password, FormerHash) else None
    typed = password if isinstance(password, str) else None
    account = NewAccount(username, email, typed, settings=settings)
    hashed_password = account.hash_password()
    return account.insert(
        hashed_password if former is None else former,
        is_staff=is_staff,
        is_superuser=is_superuser,
        email_verified_at=utc_now() if is_verified else None,
        email_verified_by=PROVEN_BY_OPERATOR if is_verified else "",
    )


def hash_new_password(user: User, password: str, *, settings: Settings) -> str:
    """Return the hash of a new password for `user`, or raise ValidationError."""
    problem = password_problem(password, settings, username=user.username, email=user.email)
    if problem is not None:
        raise ValidationError({"password": [problem]})
    return hash_password(password, rounds=settings.BCRYPT_ROUNDS)


def update_user(
    user: User,
    *,
    username: str | None = None,
    email: str | None = None,
    email_verified_at: datetime | None = None,
    email_verified_by: str | None = None,
    is_active: bool | None = None,
    is_staff: bool | None = None,
    is_superuser: bool | None = None,
    language: str | None = None,
) -> bool:
    """Change the given fields of `user`, all or none; None leaves a field as it is.

    Args:
        user: The user to change; the object has the new values afterwards.
        username, email: As typed.
        is_active, is_staff, is_superuser, language, email_verified_at, email_verified_by: See
            `User`.

    Returns:
        Whether anything changed.

    Raises:
        ValidationError: A name breaks a rule.
        TakenError: Another user has the name.
        LastSuperuserError: The last active superuser would be demoted or deactivated.
        User.DoesNotExist: The user has been deleted.
    """
    fields = {
        "username": username,
        "email": email,
        "email_verified_at": email_verified_at,
        "email_verified_by": email_verified_by,
        "is_active": is_active,
        "is_staff": is_staff,
        "is_superuser": is_superuser,
        "language": language,
    }

    def change() -> bool:
        for field, value in fields.items():
            if value is not None:
                setattr(user, field, value)
        return bool(user.save())

    return change_locked(user, change, is_removal=is_active is False or is_superuser is False)


def delete_user(user: User) -> None:
    """Delete `user` with all sessions and permissions.

    Rows of the application that refer to the user are deleted, or refuse it, as their foreign keys
    say.

    Raises:
        LastSuperuserError: `user` is the last active superuser.
        InUseError: A foreign key of the application refuses it; nothing has changed.
        User.DoesNotExist: The user has been deleted.
    """
    if not user.delete_instance():
        raise User.DoesNotExist


def find_user(name: str) -> User | None:
    """Return the user with this username or email address, in any letter case, or None.

    A name matches at most one user, because email addresses contain an `@`, and usernames do not.

    The work is the same for a name without a user, so that the time of a failed login does not
    reveal who has an account. Peewee's `get_or_none` builds the query again for its exception.
    """
    # New usernames cannot begin with a dash, but older accounts may have such names.
    if names.username_problem(name) in (None, names.LEADING_DASH):
        row = _BY_USERNAME.fetchone(username_key=names.key(name))
    elif names.email_problem(name) is None:
        row = _BY_EMAIL.fetchone(email_key=names.key(name))
    else:
        return None  # no account can have this name
    user = _read(row or _NO_USER)
    return user if row else None


def _read(row: Sequence[object]) -> User:
    """Return the user of a row with all columns, as Peewee reads it."""
    user: Any = User(__no_default__=True)
    values = zip(_COLUMNS, row, strict=True)
    user.__data__ = {column.name: column.python_value(value) for column, value in values}
    return cast(User, user)


def lock_user(user_id: int) -> User | None:
    """Lock a user until the transaction ends, and return them as stored, or None.

    Lock before other reads of the transaction: on MariaDB, they then see every change that was
    committed before the lock.

    Example:
        with database.atomic():
            stored = lock_user(user.id)
            if stored is not None and stored.is_active:
                Badge.create(user=stored, name="early")
    """
    return next(iter(lock_users(User, [user_id])), None)
