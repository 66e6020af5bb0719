"""Refuse names that another user or group has."""

from collections.abc import Mapping

import peewee

from wsgiauth.accounts import names
from wsgiauth.exceptions import TakenError, ValidationError

TAKEN = {
    "username": "This username is taken.",
    "email": "This e-mail address is taken.",
    "name": "This group name is taken.",
}


def refuse_names(
    model: type[peewee.Model],
    written: Mapping[str, str],
    errors: Mapping[str, list[str]],
    *,
    owner_id: int | None = None,
) -> None:
    """Raise an error if a rule is broken or a name is taken; it reports both.

    Args:
        model: `User` or `Group`.
        written: A username, an e-mail address or both, or the `name` of a group, by field.
        errors: Messages about broken rules, by field. A name in it is not looked up.
        owner_id: The id of the user or group that is allowed to have the names.

    Raises:
        ValidationError: There are `errors`.
        TakenError: Another one has a name, in any letter case, and there are no `errors`.
        peewee.DatabaseError: The database failed.
    """
    fields = model._meta.fields
    others = model.select().where(fields["id"] != (owner_id or 0))
    taken = {
        field: [TAKEN[field]]
        for field, name in written.items()
        if field not in errors and others.where(fields[f"{field}_key"] == names.key(name)).exists()
    }
    if errors:
        raise ValidationError({**taken, **errors})
    if taken:
        raise TakenError(taken) from None  # the database's error may contain the row
