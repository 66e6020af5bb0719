"""Making and changing accounts: the one way in for HTTP and the command line.

Code may also take `User.objects`, which holds the rules for names but sees only the hash of a
password.
"""

from wsgiauth import names
from wsgiauth.exceptions import ValidationError
from wsgiauth.models import User, refuse_names
from wsgiauth.passwords import hash_password
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
    """Create a user, rights and all, in one transaction, and return it.

    Args:
        username: As the user writes it.
        email: Likewise.
        password: As typed; only its hash is kept.
        settings: `BCRYPT_ROUNDS`, and the rules for passwords.
        is_staff: Whether the user may enter the application's administration.
        is_superuser: Whether the user holds every permission.

    Raises:
        ValidationError: A rule is broken; `errors` holds every field's messages, those about
            taken names included.
        RetryLaterError: The file BREACHED_PASSWORDS cannot be read.
        TakenError: The username or e-mail is another user's, and no rule is broken.
        peewee.DatabaseError: The database failed.
    """
    errors = account_errors(username, email, password, settings=settings)
    # Looked up before the hash is computed, which costs a thousand times more. When two processes
    # look at once, the constraint decides.
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
    """Return the rules that a new account breaks, as messages by field.

    Needs neither the database nor a hash.

    Raises:
        RetryLaterError: The file BREACHED_PASSWORDS cannot be read.
    """
    errors = names.name_errors({"username": username, "email": email})
    problem = settings.password_rules.problem(password, username=username, email=email)
    if problem is not None:
        errors["password"] = [problem]
    return errors


def change_password(user: User, password: str, *, settings: Settings) -> None:
    """Give `user` another password and end all of the user's sessions.

    Args:
        user: Whose password it is.
        password: The new one, as typed.
        settings: `BCRYPT_ROUNDS`, and the rules for passwords.

    Raises:
        ValidationError: A rule is broken.
        RetryLaterError: The file BREACHED_PASSWORDS cannot be read.
        peewee.DatabaseError: The database failed.
    """
    rules = settings.password_rules
    problem = rules.problem(password, username=user.username, email=user.email)
    if problem is not None:
        raise ValidationError({"password": [problem]})
    user.hashed_password = hash_password(password, rounds=settings.BCRYPT_ROUNDS)
    user.save()


def find_user(name: str) -> User | None:
    """Return the user whose username or e-mail this is, in any letter case, or None.

    A username has no `@` and an e-mail has one, so that a name can only be either.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    # New usernames cannot begin with a dash; those of older accounts are still found.
    if names.username_problem(name) in (None, names.LEADING_DASH):
        return User.get_or_none(User.username_key == names.key(name))
    if names.email_problem(name) is None:
        return User.get_or_none(User.email_key == names.key(name))
    return None  # what no user can be called is not asked of the database
