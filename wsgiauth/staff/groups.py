"""The groups that a form of the staff names, or offers to choose from."""

from typing import NamedTuple

from wsgiauth.accounts.groups import Group
from wsgiauth.exceptions import ValidationError
from wsgiauth.messages import _
from wsgiauth.storage.statements import Statement, given

PAGE = 50  # groups


class ListedGroup(NamedTuple):
    """A group in a list."""

    id: int
    name: str


def require_group(name: str, field: str) -> Group:
    """Return the group that a field of a form names, or raise ValidationError."""
    group = Group.objects.find(name.strip())
    if group is None:
        raise ValidationError({field: [_("There is no group with this name.")]})
    return group


def list_groups(after: str = "", limit: int = PAGE) -> list[ListedGroup]:
    """Return groups by name: at most `limit` whose `name_key` is after a given one."""
    return [ListedGroup(*row) for row in _BY_NAME.fetchall(after=after, limit=limit)]


_BY_NAME = Statement(
    lambda: (
        Group.select(Group.id, Group.name)
        .where(Group.name_key > given(Group.name_key, "after"))
        .order_by(Group.name_key)
        .limit(given(Group.id, "limit"))
    )
)
