"""A user's profile, as endpoints and the command line show it."""

from wsgiauth.accounts.models import User
from wsgiauth.storage.models import utc_text


def profile(user: User) -> dict[str, object]:
    """Return what a user can know about themselves, ready for JSON.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    groups = [group.name for group in user.groups]
    return {**summary(user, sorted(user.permissions)), "groups": groups}


def summary(user: User, permissions: list[str]) -> dict[str, object]:
    """Return a profile without groups, ready for JSON, from what has been read already.

    Args:
        user: The user.
        permissions: The user's permissions, sorted.
    """
    return {
        "id": user.id,
        "username": user.username,
        "email": user.email,
        "email_verified": user.email_verified_at is not None,
        "is_active": user.is_active,
        "is_staff": user.is_staff,
        "is_superuser": user.is_superuser,
        "created_at": utc_text(user.created_at),
        "permissions": permissions,
    }
