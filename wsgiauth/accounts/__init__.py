"""Create, change, find and delete accounts: what HTTP and the command line call.

Application code can also use `User.objects`. It applies the rules for names, but it receives only
the hash of a password.
"""

from datetime import datetime

from wsgiauth.accounts import names
from wsgiauth.accounts.last_superuser import change_locked
from wsgiauth.accounts.models import User
from wsgiauth.accounts.new_account import NewAccount
from wsgiauth.accounts.password_rules import PasswordRules
from wsgiauth.accounts.passwords import hash_password
from wsgiauth.exceptions import ValidationError
from wsgiauth.settings import Settings


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
    account = NewAccount(username, email, password, settings=settings)
    return account.create(is_staff=is_staff, is_superuser=is_superuser)


def hash_new_password(user: User, password: str, *, settings: Settings) -> str:
    """Return the hash of a new password for `user`, whose row does not change.

    Raises:
        ValidationError: A rule is broken.
        RetryLaterError: The file BREACHED_PASSWORDS cannot be read.
    """
    problem = password_problem(user, password, settings=settings)
    if problem is not None:
        raise ValidationError({"password": [problem]})
    return hash_password(password, rounds=settings.BCRYPT_ROUNDS)


def password_problem(user: User, password: str, *, settings: Settings) -> str | None:
    """Return why `password` cannot be the new password of `user`, for people, or None.

    Raises:
        RetryLaterError: The file BREACHED_PASSWORDS cannot be read.
    """
    rules = PasswordRules.from_settings(settings)
    return rules.problem(password, username=user.username, email=user.email)


def update_user(
    user: User,
    *,
    username: str | None = None,
    email: str | None = None,
    email_verified_at: datetime | None = None,
    is_active: bool | None = None,
    is_staff: bool | None = None,
    is_superuser: bool | None = None,
) -> bool:
    """Change the given fields of `user`, all or none; None leaves a field as it is.

    Args:
        user: The user to change; the object has the new values afterwards.
        username, email: As typed.
        email_verified_at: When the user proved the address (UTC). Another `email` alone makes it
            None.
        is_active: False also ends all of the user's logins.
        is_staff, is_superuser: See `User`.

    Returns:
        Whether anything changed.

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
        "email_verified_at": email_verified_at,
        "is_active": is_active,
        "is_staff": is_staff,
        "is_superuser": is_superuser,
    }

    def change() -> bool:
        for field, value in fields.items():
            if value is not None:
                setattr(user, field, value)
        return bool(user.save())

    return change_locked(user, change, is_removal=is_active is False or is_superuser is False)


def delete_user(user: User) -> None:
    """Delete `user` with all logins and permissions.

    Raises:
        LastSuperuserError: `user` is the last active superuser.
        User.DoesNotExist: The user has been deleted.
        peewee.DatabaseError: The database failed.
    """
    change_locked(user, user.delete_instance, is_removal=True)


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
