"""Create, change, list and delete accounts: what HTTP and the command line call.

Application code can also use `User.objects`. It applies the rules for names, but it receives only
the hash of a password, and it does not protect the last superuser.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

from wsgiauth.accounts import names
from wsgiauth.accounts.models import Permission, User, refuse_names
from wsgiauth.accounts.password_rules import PasswordRules
from wsgiauth.accounts.passwords import hash_password
from wsgiauth.exceptions import LastSuperuserError, ValidationError
from wsgiauth.settings import Settings
from wsgiauth.storage import context, database

PAGE = 500  # users per query

_Result = TypeVar("_Result")


def create_user(
    username: str,
    email: str,
    password: str,
    *,
    settings: Settings,
    is_staff: bool = False,
    is_superuser: bool = False,
) -> User:
    """Create a user with all fields in one transaction, and return it.

    Args:
        username: As typed.
        email: As typed.
        password: As typed; only its hash is stored.
        settings: The source of `BCRYPT_ROUNDS` and of the rules for passwords.
        is_staff: Whether the user can use the application's administration pages.
        is_superuser: Whether the user has every permission.

    Raises:
        ValidationError: A rule is broken; `errors` holds the messages of every field, including
            those about taken names.
        RetryLaterError: The file BREACHED_PASSWORDS cannot be read.
        TakenError: Another user has the username or e-mail address; no rule is broken.
        peewee.DatabaseError: The database failed.
    """
    errors = account_errors(username, email, password, settings=settings)
    # Check before hashing, which costs a thousand times more. If two processes check at the same
    # time, the unique constraint decides.
    refuse_names({"username": username, "email": email}, errors)
    return User.objects.create(
        username=username,
        email=email,
        hashed_password=hash_password(password, rounds=settings.BCRYPT_ROUNDS),
        is_staff=is_staff,
        is_superuser=is_superuser,
    )


def account_errors(
    username: str, email: str, password: str, *, settings: Settings
) -> dict[str, list[str]]:
    """Return a message for each rule that a new account breaks, by field.

    Neither reads the database nor computes a hash.

    Raises:
        RetryLaterError: The file BREACHED_PASSWORDS cannot be read.
    """
    errors = names.name_errors({"username": username, "email": email})
    problem = PasswordRules.from_settings(settings).problem(
        password, username=username, email=email
    )
    if problem is not None:
        errors["password"] = [problem]
    return errors


def change_password(user: User, password: str, *, settings: Settings) -> None:
    """Set a new password for `user` and end all of the user's sessions.

    Args:
        user: The user whose password changes.
        password: The new password, as typed.
        settings: The source of `BCRYPT_ROUNDS` and of the rules for passwords.

    Raises:
        ValidationError: A rule is broken.
        RetryLaterError: The file BREACHED_PASSWORDS cannot be read.
        peewee.DatabaseError: The database failed.
    """
    rules = PasswordRules.from_settings(settings)
    problem = rules.problem(password, username=user.username, email=user.email)
    if problem is not None:
        raise ValidationError({"password": [problem]})
    user.hashed_password = hash_password(password, rounds=settings.BCRYPT_ROUNDS)
    user.save()


def update_user(
    user: User,
    *,
    username: str | None = None,
    email: str | None = None,
    is_active: bool | None = None,
    is_staff: bool | None = None,
    is_superuser: bool | None = None,
) -> None:
    """Change the given fields of `user`, all or none; None leaves a field as it is.

    Args:
        user: The user to change; the object has the new values afterwards.
        username, email: As typed.
        is_active: False also ends all of the user's sessions.
        is_staff, is_superuser: See `User`.

    Raises:
        ValidationError: A name breaks a rule.
        TakenError: Another user has the name.
        LastSuperuserError: The last active superuser would be demoted or deactivated.
        User.DoesNotExist: The user has been deleted.
        peewee.DatabaseError: The database failed.
    """
    fields = {
        "username": username,
        "email": email,
        "is_active": is_active,
        "is_staff": is_staff,
        "is_superuser": is_superuser,
    }

    def change() -> None:
        for field, value in fields.items():
            if value is not None:
                setattr(user, field, value)
        user.save()

    _change_locked(user, change, is_removal=is_active is False or is_superuser is False)


def delete_user(user: User) -> None:
    """Delete `user` with all sessions and permissions.

    Raises:
        LastSuperuserError: `user` is the last active superuser.
        User.DoesNotExist: The user has been deleted.
        peewee.DatabaseError: The database failed.
    """
    _change_locked(user, user.delete_instance, is_removal=True)


def find_user(name: str) -> User | None:
    """Return the user with this username or e-mail address, in any letter case, or None.

    An e-mail address contains an `@` and a username does not, so a name matches at most one user.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    # New usernames cannot begin with a dash, but older accounts may have such names.
    if names.username_problem(name) in (None, names.LEADING_DASH):
        return User.get_or_none(User.username_key == names.key(name))
    if names.email_problem(name) is None:
        return User.get_or_none(User.email_key == names.key(name))
    return None  # no account can have this name


def user_pages(
    prefix: str = "", *, limit: int | None = None
) -> Iterator[list[tuple[User, list[str]]]]:
    """Yield pages of users with their sorted permissions, the oldest account first.

    Each page takes two queries. Memory does not grow with the number of users.

    Args:
        prefix: Only users whose username or e-mail address begins with it, in any letter case.
        limit: The maximum number of users.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    if len(prefix) > names.EMAIL_MAX_LENGTH or not prefix.isprintable():
        return  # no name can begin with this prefix
    beginning = names.key(prefix)
    query = User.select().order_by(User.id)
    if beginning:
        query = query.where(
            User.username_key.startswith(beginning) | User.email_key.startswith(beginning)
        )
    last_id = 0
    while limit is None or limit > 0:
        size = PAGE if limit is None else min(limit, PAGE)
        users = list(query.where(User.id > last_id).limit(size))
        if users:
            permissions = _permissions_by_user([user.id for user in users])
            yield [(user, permissions[user.id]) for user in users]
        if len(users) < size:
            return
        last_id = users[-1].id
        limit = None if limit is None else limit - size


def _permissions_by_user(user_ids: list[int]) -> dict[int, list[str]]:
    held: dict[int, list[str]] = {user_id: [] for user_id in user_ids}
    rows = Permission.select().where(Permission.user.in_(user_ids)).order_by(Permission.name)
    for row in rows:
        held[row.user_id].append(row.name)
    return held


def _change_locked(user: User, change: Callable[[], _Result], *, is_removal: bool) -> _Result:
    """Call `change` in a transaction that locks the user's row and keeps one active superuser.

    Without a lock, two processes could each remove one of the last two superusers, because each
    still sees the other superuser. Therefore the transaction also locks the row of another
    superuser, the witness: the second process waits, and then sees the first one's change.
    SQLite's write transactions exclude each other anyway.
    """
    witness_id: int | None = None
    seen = [user.id]
    with context.using(user.origin):
        while True:
            with database.atomic():
                locked = _lock([each for each in (user.id, witness_id) if each is not None])
                if user.id not in locked:
                    raise User.DoesNotExist
                if not is_removal or not locked[user.id] or locked.get(witness_id):
                    return change()
            # Query outside the transaction: MariaDB aborts a transaction that waits for a row
            # which has changed since its first read. Each witness is tried once, so the loop ends.
            another = User.select(User.id).where(
                User.is_superuser, User.is_active, User.id.not_in(seen)
            )
            witness_id = another.order_by(User.id).limit(1).scalar()
            if witness_id is None:
                raise LastSuperuserError(user.username)
            seen.append(witness_id)


def _lock(user_ids: list[int]) -> dict[int | None, bool]:
    """Lock users in id order, to prevent deadlocks; return which are active superusers."""
    rows = User.select(User.id, User.is_active, User.is_superuser).where(User.id.in_(user_ids))
    rows = rows.order_by(User.id)
    if database.for_update:
        rows = rows.for_update()
    return {row.id: row.is_active and row.is_superuser for row in rows}
