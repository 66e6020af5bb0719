"""The groups that a form of the staff names, or offers to choose from."""

from typing import Any, NamedTuple

from wsgiauth.accounts.groups import Group
from wsgiauth.exceptions import ValidationError
from wsgiauth.messages import _

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
    query: Any = Group.select(Group.id, Group.name).where(Group.name_key > after)
    rows = query.order_by(Group.name_key).limit(limit).tuples()
    return [ListedGroup(*row) for row in rows]
