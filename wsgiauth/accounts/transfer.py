r"""Import and export many accounts, as rows of strings with the same columns.

An import inserts a batch in one transaction; for an `on_registered` of the application, each row
has its own. To import the same rows again changes nothing, so an import that was interrupted is
simply repeated.

Cells of CSV files contain no formulas of spreadsheets, and printable characters only. Names can
begin with `=`, and rows of older versions or of other writers can contain any character.
`read_cell` returns exactly what `write_cell` was given; what other programs write stays as it is,
unless it looks like a cell of `write_cell`: `'=`, `;'` and `\u{202e}`.
"""

import re
from collections import ChainMap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple

import peewee

from wsgiauth import events
from wsgiauth.accounts import names
from wsgiauth.accounts.listing import user_pages
from wsgiauth.accounts.models import User
from wsgiauth.accounts.registration import NOTHING, Answers, Registration
from wsgiauth.accounts.tables import Permission
from wsgiauth.exceptions import ApplicationError, ValidationError
from wsgiauth.settings.kinds import parse_bool
from wsgiauth.storage import database
from wsgiauth.storage.models import BCRYPT_HASH, utc_now, utc_text

REQUIRED = ("username", "email")
FLAGS = {"is_active": True, "is_staff": False, "is_superuser": False}  # with their defaults
COLUMNS = (*REQUIRED, "hashed_password", *FLAGS, "created_at", "email_verified_at", "permissions")
BATCH = 500  # rows

# The highest cost of an imported hash, unless BCRYPT_ROUNDS is higher: four seconds for each login.
# Of cost 31, one login would keep a hash slot for more than a day.
MAX_COST = 16

_ATTEMPTS = 3  # to insert a batch while others register the same names

# OWASP, "CSV Injection": what a spreadsheet takes for a formula, also in full width. Apostrophes
# before it count, so that one more can be told from those of the value.
_FORMULA = re.compile("'*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_ESCAPE = re.compile(r"\\u\{(10[0-9a-f]{4}|[0-9a-f]{1,5})\}")


class ImportedRow(NamedTuple):
    """A row that keeps the rules."""

    line: int  # of its file
    values: dict[str, Any]  # by the column of the user
    permissions: list[str]
    answers: Answers = NOTHING

    @property
    def keys(self) -> tuple[str, str]:
        """The keys of both names."""
        return self.values["username_key"], self.values["email_key"]


class ImportedBatch(NamedTuple):
    """What became of the rows of a batch."""

    created: int
    existing: int  # with both names; they are left as they are
    refused: dict[int, str]  # what is wrong with the other rows, by line


def parse_row(
    line: int, fields: Mapping[str, str], *, rounds: int, registration: Registration
) -> ImportedRow:
    """Return the row that `fields` describe.

    Args:
        line: Of its file.
        fields: Some of `COLUMNS`, as `write_cell` writes them; empty for the default. Without a
            `hashed_password`, the user has no password until they choose one by a link. Also
            those of the application.
        rounds: The cost of the hashes of the site's own users.
        registration: What the application asks for.

    Raises:
        ValidationError: A field breaks a rule.
        ApplicationError: A `check` of the application failed.
    """
    given = {name: read_cell(value.strip()) for name, value in fields.items()}
    values: dict[str, Any] = {name: given.get(name, "") for name in REQUIRED}
    errors = names.name_errors(values)
    for name in COLUMNS[len(REQUIRED) :]:
        try:
            values[name] = _PARSERS[name](name, given.get(name, ""))
        except ValueError as error:
            errors[name] = [str(error)]
    hashed_password = values.get("hashed_password")
    if hashed_password and int(hashed_password[4:6]) > max(MAX_COST, rounds):
        errors["hashed_password"] = [f"hashed_password has a cost above {max(MAX_COST, rounds)}."]
    answers = registration.read(given)
    errors |= _named(answers.errors)
    if errors:
        raise ValidationError(errors)
    permissions = values.pop("permissions")
    values |= {f"{name}_key": names.key(values[name]) for name in REQUIRED}
    return ImportedRow(line, values, permissions, answers)


def import_rows(rows: Sequence[ImportedRow], *, planned: dict[str, int] | None) -> ImportedBatch:
    """Create the users of some rows, in one transaction.

    Args:
        rows: At most `BATCH`.
        planned: For a dry run, which changes nothing: the keys that earlier batches would have
            taken, to which those of this batch are added. None: import.
    """
    if planned is not None:
        return _sort(rows, planned)[1]
    if any(row.answers.are_passed_on for row in rows):
        created, existing, refused = zip(*map(_import_alone, rows), strict=True)
        return ImportedBatch(sum(created), sum(existing), dict(ChainMap(*refused)))
    return _import_retried(rows)


def _import_alone(row: ImportedRow) -> ImportedBatch:
    """Create the user of a row, unless the application refuses or fails."""
    try:
        return _import_retried([row])
    except ValidationError as error:
        return ImportedBatch(0, 0, {row.line: str(ValidationError(_named(error.errors)))})
    except ApplicationError as error:
        return ImportedBatch(0, 0, {row.line: str(error)})


def _import_retried(rows: Sequence[ImportedRow]) -> ImportedBatch:
    for _ in range(_ATTEMPTS - 1):
        with suppress(peewee.IntegrityError):  # one of the names was registered in between
            return _import(rows)
    return _import(rows)


def exported_rows(*, with_hashes: bool) -> Iterator[list[str]]:
    """Yield a row for each user, the oldest account first, with the cells of `COLUMNS`.

    Without `with_hashes`, the hash of the password is empty.
    """
    for page in user_pages():
        for user, permissions in page:
            yield [
                write_cell(user.username),
                write_cell(user.email),
                write_cell(user.hashed_password) if with_hashes else "",
                *("yes" if getattr(user, flag) else "no" for flag in FLAGS),
                utc_text(user.created_at),
                utc_text(user.email_verified_at) if user.email_verified_at else "",
                write_cell(" ".join(permissions)),
            ]


def neutralize_formula(text: str) -> str:
    """Return `text` as a cell that no spreadsheet takes for a formula."""
    text = text.replace(";", ";'")  # where the comma is decimal, it begins a cell, quoted or not
    return f"'{text}" if _FORMULA.match(text) else text


def write_cell(text: str) -> str:
    """Return `text` as a cell that is no formula, in which every character is printable."""
    text = _ESCAPE.sub(lambda found: _escape("\\") + found[0][1:], text)
    return neutralize_formula(
        "".join(each if each.isprintable() else _escape(each) for each in text)
    )


def read_cell(cell: str) -> str:
    """Return what was written as `cell`."""
    text = cell.replace(";'", ";")
    if text.startswith("'") and _FORMULA.match(text):
        text = text[1:]
    return _ESCAPE.sub(lambda found: _unescape(found[0], chr(int(found[1], 16))), text)


def _import(rows: Sequence[ImportedRow]) -> ImportedBatch:
    with database.atomic():
        new, batch = _sort(rows, {})
        if new:
            _insert(new)
    return batch


def _sort(
    rows: Iterable[ImportedRow], planned: dict[str, int]
) -> tuple[list[ImportedRow], ImportedBatch]:
    """Return the rows whose names are free, and what becomes of all if they are inserted."""
    rows = list(rows)
    holders = ChainMap(planned, _holders(rows))
    new, existing, refused = [], 0, {}
    for row in rows:
        by_name, by_email = (holders.get(key) for key in row.keys)
        if by_name is None and by_email is None:
            planned.update(dict.fromkeys(row.keys, -row.line))
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
    """Return the users that have names of these rows, by key; no username has an @."""
    wanted = list(zip(*(row.keys for row in rows), strict=True))
    columns = (User.username_key, User.email_key)
    found: dict[str, int] = {}
    for column, keys in zip(columns, wanted, strict=False):
        holders: Any = User.select(column, User.id).where(column.in_(keys)).tuples()
        found |= dict(holders)
    return found


def _insert(rows: Sequence[ImportedRow]) -> None:
    User.insert_many([row.values for row in rows]).execute()
    ids = _holders(rows)
    granted = [{"user": ids[row.keys[0]], "name": name} for row in rows for name in row.permissions]
    for first in range(0, len(granted), BATCH):
        Permission.insert_many(granted[first : first + BATCH]).execute()
    for row in rows:
        user_id = ids[row.keys[0]]
        events.emit("registration", user_id=user_id, reason="import")
        rights = [f"{flag} on" for flag in ("is_staff", "is_superuser") if row.values[flag]]
        rights += [f"granted {name}" for name in row.permissions]
        for right in rights:
            events.emit("rights_changed", user_id=user_id, reason=right)
        if row.answers.are_passed_on:
            row.answers.pass_on(User.get_by_id(user_id))


def _named(errors: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return messages that name their fields, for a report that shows nothing else."""
    return {name: [f"{name}: {each}" for each in found] for name, found in errors.items()}


def _escape(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def _unescape(written: str, character: str) -> str:
    return written if character.isprintable() and character != "\\" else character


def _parse_hash(_name: str, text: str) -> str:
    if text and not BCRYPT_HASH.fullmatch(text):
        raise ValueError("hashed_password must be a bcrypt hash, or empty.")
    return text


def _parse_flag(name: str, text: str) -> bool:
    value = parse_bool(text) if text else FLAGS[name]
    if not isinstance(value, bool):
        raise ValueError(f"{name} must be yes or no.")
    return value


def _parse_time(name: str, text: str) -> datetime | None:
    if not text:
        return utc_now() if name == "created_at" else None
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError(f"{name} must be a time such as 2026-11-02T09:05:00Z.") from None
    return moment.replace(microsecond=0)


def _parse_permissions(_name: str, text: str) -> list[str]:
    try:
        return [names.check_permission(each) for each in dict.fromkeys(text.split())]
    except ValueError as error:
        raise ValueError(f"permissions: {error}.") from None


_PARSERS = {
    "hashed_password": _parse_hash,
    **dict.fromkeys(FLAGS, _parse_flag),
    "created_at": _parse_time,
    "email_verified_at": _parse_time,
    "permissions": _parse_permissions,
}
