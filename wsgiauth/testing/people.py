"""Users and groups of the application that is tested."""

from collections.abc import Iterable
from typing import Any

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.passwords import hash_password
from wsgiauth.logins import check_user
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.storage import context
from wsgiauth.testing.settings import ROUNDS

# The hash of a random password that was not kept.
_UNKNOWN_PASSWORD = "$2b$04$/iia7kV1vLTIpNQ3P/W99OrZR1wXHo5Ij1l7BdPbLwjQLL3WDrYqy"  # noqa: S105


def make_user(
    application: AuthMiddleware,
    username: str = "ada",
    *,
    password: str | None = None,
    permissions: Iterable[str] = (),
    groups: Iterable[str] = (),
    **fields: Any,
) -> User:
    """Create a user of `application` and return it.

    Args:
        username: The name; the email address is this name at example.org, unless `fields` has one.
        password: The password, for tests that log in with it; None for an unknown one.
        permissions: The permissions to grant.
        groups: The names of the groups to join; missing ones are created, without permissions.
        fields: Other fields of `User`, such as `is_staff=True`.

    Raises:
        ValidationError, TakenError: See `User.save`.
        ValueError: bcrypt cannot represent the password, or a permission is malformed.
    """
    hashed = _UNKNOWN_PASSWORD if password is None else hash_password(password, rounds=ROUNDS)
    with context.using(require_middleware(application).database):
        user = User.objects.create(
            **{"email": f"{username}@example.org", **fields},
            username=username,
            hashed_password=hashed,
        )
        user.grant(*permissions)
        for name in groups:
            user.join(make_group(application, name))
    return user


def make_group(application: AuthMiddleware, name: str, permissions: Iterable[str] = ()) -> Group:
    """Return the group of `application` with this name, created if missing.

    Args:
        name: The name.
        permissions: The permissions to grant.

    Raises:
        ValidationError: See `Group.save`.
        ValueError: A permission is malformed.
    """
    with context.using(require_middleware(application).database):
        group = Group.objects.find(name) or Group.objects.create(name=name)
        group.grant(*permissions)
    return group


def present_user(application: AuthMiddleware, user: User | None) -> User | None:
    """Return the user as they are now, because the application may have changed them."""
    if user is None:
        user = User.objects.get_or_none(username="ada") or make_user(application)
    check_user(user)
    return User.objects.get_or_none(id=user.id)


def require_middleware(application: object) -> AuthMiddleware:
    """Return `application`, or raise a TypeError that says what to pass."""
    if not isinstance(application, AuthMiddleware):
        raise TypeError(
            "application must be the AuthMiddleware itself, not what it wraps or what wraps it, and"
            f' not {application!r}. With Flask, use app.extensions["wsgiauth"].'
        )
    return application
