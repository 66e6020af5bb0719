"""The creation of users by code, with a password or with a hash of other software."""

from wsgiauth import accounts
from wsgiauth.accounts.former import FormerHash
from wsgiauth.accounts.models import User
from wsgiauth.exceptions import ConfigurationError, ValidationError
from wsgiauth.features.former_passwords.formats import Options, read
from wsgiauth.settings import Settings


def create_user(
    username: str | None = None,
    email: str = "",
    password: str | None = None,
    *,
    settings: Settings,
    former_hash: str | None = None,
    is_peppered: bool = False,
    is_staff: bool = False,
    is_superuser: bool = False,
    is_verified: bool = False,
) -> User:
    """Create a user with all fields in one transaction, and return it.

    Args:
        username, email, password: As typed; only the hash of the password is stored. The email
            address is always needed, and the username unless USERNAMES is off.
        settings: The source of `BCRYPT_ROUNDS` and of the rules for passwords.
        former_hash: Instead of `password`: the hash that other software made of it. The rules for
            passwords do not apply.
        is_peppered: Whether that hash is of an HMAC of the password with `FORMER_PEPPER`.
        is_staff, is_superuser: See `User`.
        is_verified: Whether you know that the user reads emails to the address; see
            `User.email_verified_by`.

    Raises:
        ValidationError: A rule is broken, or the hash cannot be used; `errors` also reports taken
            names.
        TakenError: Another user has the username or email address; no rule is broken.
        ConfigurationError: The hash needs a package that is not installed.
        TypeError: Both `password` and `former_hash` are given, or neither is; or `former_hash` is
            not a string.
    """
    return accounts.create_user(
        username,
        email,
        _credential(password, former_hash, settings, is_peppered=is_peppered),
        settings=settings,
        is_staff=is_staff,
        is_superuser=is_superuser,
        is_verified=is_verified,
    )


def read_hash(former_hash: str, *, settings: Settings, is_peppered: bool = False) -> FormerHash:
    """Return a hash of other software as it is stored.

    Raises:
        ValidationError: The hash cannot be used.
        ConfigurationError: The hash needs a package that is not installed, or FORMER_PEPPER.
        TypeError: The hash is not a string.
    """
    if not isinstance(former_hash, str):
        raise TypeError(f"former_hash must be a string, not {type(former_hash).__name__}")
    if is_peppered and settings.FORMER_PEPPER is None:
        raise ConfigurationError("FORMER_PEPPER must be set, because a hash is peppered.")
    options = Options(is_peppered, rounds=settings.BCRYPT_ROUNDS)
    try:
        return read(former_hash, options)
    except ConfigurationError:  # a ValueError, but the hash is not at fault
        raise
    except ValueError as error:
        raise ValidationError({"former_hash": [f"The hash {error}."]}) from None


def _credential(
    password: str | None, former_hash: str | None, settings: Settings, *, is_peppered: bool
) -> str | FormerHash:
    if (password is None) == (former_hash is None):
        raise TypeError("create_user() needs either a password or a former_hash")
    if former_hash is None:
        return password or ""
    return read_hash(former_hash, settings=settings, is_peppered=is_peppered)
