"""The import of the users of parsed rows.

A batch is one transaction; with an `on_registered` of the application, each row is one. A second
import of the same rows changes nothing, so an operator repeats an interrupted import.
"""

from collections import ChainMap
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import peewee

from wsgiauth import events
from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import FormerPassword, Permission
from wsgiauth.events import kinds
from wsgiauth.exceptions import ApplicationError, ValidationError
from wsgiauth.features.providers.identities import Identity, add
from wsgiauth.features.transfer.rows import ImportedRow, identity_cell, named_errors
from wsgiauth.storage import database
from wsgiauth.storage.models import utc_now

BATCH = 500  # rows

_ATTEMPTS = 3  # to insert a batch while others register the same names


class ImportedBatch(NamedTuple):
    """The outcome of a batch."""

    created: int
    existing: int  # with both names; they stay as they are
    refused: dict[int, str]  # the errors of the other rows, by line


def import_rows(rows: Sequence[ImportedRow], *, planned: dict[str, int] | None) -> ImportedBatch:
    """Create the users of at most `BATCH` rows; a dry run only adds their keys to `planned`."""
    if planned is not None:
        return _divide(rows, planned)[1]
    if any(row.answers.are_passed_on for row in rows):
        created, existing, refused = zip(*map(_import_alone, rows), strict=True)
        return ImportedBatch(sum(created), sum(existing), dict(ChainMap(*refused)))
    return _import_retried(rows)


def _import_alone(row: ImportedRow) -> ImportedBatch:
    """Create the user of a row, unless the application refuses or fails."""
    try:
        return _import_retried([row])
    except ValidationError as error:
        return ImportedBatch(0, 0, {row.line: str(ValidationError(named_errors(error.errors)))})
    except ApplicationError as error:
        return ImportedBatch(0, 0, {row.line: str(error)})


def _import_retried(rows: Sequence[ImportedRow]) -> ImportedBatch:
    for _ in range(_ATTEMPTS - 1):
        with suppress(peewee.IntegrityError):  # one of the names was registered in between
            return _import(rows)
    return _import(rows)


def _import(rows: Sequence[ImportedRow]) -> ImportedBatch:
    with database.atomic():
        new, batch = _divide(rows, {})
        if new:
            _insert(new)
    return batch


def _divide(
    rows: Iterable[ImportedRow], planned: dict[str, int]
) -> tuple[list[ImportedRow], ImportedBatch]:
    """Return the rows whose names are free, and the outcome if they are inserted.

    Args:
        rows: The rows, in the order of the file.
        planned: The lines of new rows, by their keys, as negative numbers: beside the ids of
            users, which are positive, they tell which row has a key. This call adds its new rows.
    """
    rows = list(rows)
    holders = ChainMap(planned, _holders(rows), _identity_holders(rows))
    new, existing, refused = [], 0, {}
    for row in rows:
        by_name, by_email = (holders.get(key) for key in row.keys)
        if row.has_made_username:  # the address alone says who it is
            by_name = by_email
        connected = [each for key, each in row.identity_keys.items() if key in holders]
        if by_name is None and by_email is None and connected:
            cells = [identity_cell(each.issuer, each.subject) for each in connected]
            refused[row.line] = f"identities: connected to another user: {' '.join(cells)}."
        elif by_name is None and by_email is None:
            planned.update(dict.fromkeys((*row.keys, *row.identity_keys), -row.line))
            new.append(row)
        elif by_name == by_email:
            existing += 1
        else:
            taken = {"username": by_name, "email": by_email}
            refused[row.line] = " ".join(
                names.TAKEN[name] for name, holder in taken.items() if holder
            )
    return new, ImportedBatch(len(new), existing, refused)


def _holders(rows: Iterable[ImportedRow]) -> dict[str, int]:
    """Return the users that have names of these rows, by key. No username has an @."""
    wanted = list(zip(*(row.keys for row in rows), strict=True))
    columns = (User.username_key, User.email_key)
    found: dict[str, int] = {}
    for column, keys in zip(columns, wanted, strict=False):
        holders: Any = User.select(column, User.id).where(column.in_(keys)).tuples()
        found |= dict(holders)
    return found


def _identity_holders(rows: Iterable[ImportedRow]) -> dict[str, int]:
    """Return the users that have accounts of providers of these rows, by key."""
    wanted = [key.partition(" ")[2] for row in rows for key in row.identity_keys]
    found: dict[str, int] = {}
    for first in range(0, len(wanted), BATCH):
        ids = wanted[first : first + BATCH]
        holders: Any = Identity.select(Identity.id, Identity.user).where(Identity.id.in_(ids))
        found |= {f"identity {number}": holder for number, holder in holders.tuples()}
    return found


def _insert(rows: Sequence[ImportedRow]) -> None:
    User.insert_many([row.values for row in rows]).execute()
    ids = _holders(rows)
    former = [row.former.row(ids[row.keys[0]]) for row in rows if row.former.scheme]
    if former:
        FormerPassword.insert_many(former).execute()
    granted = [{"user": ids[row.keys[0]], "name": name} for row in rows for name in row.permissions]
    for first in range(0, len(granted), BATCH):
        Permission.insert_many(granted[first : first + BATCH]).execute()
    for row in rows:
        user_id = ids[row.keys[0]]
        events.emit(kinds.REGISTRATION, user_id=user_id, reason="import")
        rights = [f"{flag} on" for flag in ("is_staff", "is_superuser") if row.values[flag]]
        rights += [f"granted {name}" for name in row.permissions]
        for right in rights:
            events.emit(kinds.RIGHTS_CHANGED, user_id=user_id, reason=right)
        for account in row.identities:
            if not add(User(id=user_id), account, utc_now().timestamp(), is_new_user=True):
                raise peewee.IntegrityError("an account of a provider was connected meanwhile")
        if row.answers.are_passed_on:
            row.answers.pass_on(User.get_by_id(user_id))
