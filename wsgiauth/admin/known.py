"""The permissions that the panel offers to choose from."""

from typing import Any

from wsgiauth.accounts.groups import GroupPermission
from wsgiauth.accounts.known_permissions import asked_for

_MOST = 500  # permissions of groups


def offered_permissions() -> tuple[str, ...]:
    """Return the permissions that the site asks for, and that groups have, by name.

    Those that are only granted to single users are left out: with a million users, it would take
    too long to find them.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    rows: Any = GroupPermission.select(GroupPermission.name).distinct().limit(_MOST).tuples()
    return tuple(sorted({*asked_for(), *(name for (name,) in rows)}))
