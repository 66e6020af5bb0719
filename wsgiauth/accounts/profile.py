"""A user's profile, as endpoints and the command line show it."""

from wsgiauth.accounts.models import User
from wsgiauth.storage.columns import utc_text


def profile(user: User, permissions: list[str] | None = None) -> dict[str, object]:
    """Return what a user can know about themselves, ready for JSON.

    Args:
        user: The user.
        permissions: The user's permissions, sorted, if they have been read already.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    return {
        "id": user.id,
        "username": user.username,
        "email": user.email,
        "is_active": user.is_active,
        "is_staff": user.is_staff,
        "is_superuser": user.is_superuser,
        "created_at": utc_text(user.created_at),
        "permissions": sorted(user.permissions) if permissions is None else permissions,
    }
