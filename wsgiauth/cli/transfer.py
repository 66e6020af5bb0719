"""Commands that import accounts from a CSV file, and export them to one (RFC 4180)."""

import csv
import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import NamedTuple, TextIO

from wsgiauth.accounts.transfer import (
    BATCH,
    COLUMNS,
    REQUIRED,
    ImportedRow,
    exported_rows,
    import_rows,
    parse_row,
)
from wsgiauth.cli.command import Arguments, CommandError, open_database
from wsgiauth.cli.output import counted, printable
from wsgiauth.cli.parser import AddCommand
from wsgiauth.exceptions import ValidationError


class _Refusal(NamedTuple):
    """A line that cannot be imported."""

    line: int
    reason: str


def add_commands(add: AddCommand) -> None:
    """Add the commands of this module."""
    added = add("import", import_users, "create the users of a CSV file; run it again to resume")
    added.add_argument(
        "file",
        metavar="FILE",
        help=f"with a line of headings: {', '.join(REQUIRED)} and, if you like,"
        f" {', '.join(COLUMNS[len(REQUIRED) :])}; - reads standard input",
    )
    added.add_argument(
        "--dry-run", action="store_true", help="report what would happen, and change nothing"
    )
    added = add("export", export_users, "print all users as CSV, as `import` reads it")
    added.add_argument(
        "--with-hashes", action="store_true", help="include the hashes of the passwords"
    )


def import_users(arguments: Arguments) -> None:
    """Create the users of a CSV file, and print a line for each refusal."""
    settings = open_database(arguments, may_create=True)
    created = existing = refused = 0
    with _opened(arguments.file) as file:
        rows = _rows(file, rounds=settings.BCRYPT_ROUNDS)
        while batch := list(islice(rows, BATCH)):
            valid = [each for each in batch if isinstance(each, ImportedRow)]
            outcome = import_rows(valid, dry_run=arguments.dry_run)
            wrong = dict(each for each in batch if isinstance(each, _Refusal))
            _print_refusals(outcome.refused | wrong)
            created += outcome.created
            existing += outcome.existing
            refused += len(outcome.refused) + len(wrong)
    print(
        f"{'Would create' if arguments.dry_run else 'Created'} {counted(created, 'user')};"
        f" {existing} existed already."
    )
    if refused:
        raise CommandError(f"{counted(refused, 'line')} refused")


def export_users(arguments: Arguments) -> None:
    """Print every user as a line of CSV."""
    open_database(arguments)
    writer = csv.writer(_with_encoding(sys.stdout, encoding="utf-8"), lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in exported_rows(with_hashes=arguments.with_hashes):
        writer.writerow(row)


@contextmanager
def _opened(name: str) -> Iterator[TextIO]:
    """Open a file, or standard input for `-`, as UTF-8, with or without a byte order mark."""
    if name == "-":
        yield _with_encoding(sys.stdin, encoding="utf-8-sig", newline="")
        return
    try:
        file = open(name, encoding="utf-8-sig", newline="")  # noqa: PTH123, SIM115 - as a user types it
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}") from None
    with file:
        yield file


def _with_encoding(stream: TextIO, *, encoding: str, newline: str | None = None) -> TextIO:
    """Return a stream of the process, whose encoding is otherwise that of the locale."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding=encoding, newline=newline)
    return stream


def _rows(file: TextIO, *, rounds: int) -> Iterator[ImportedRow | _Refusal]:
    """Yield each line as a row, or as what is wrong with it."""
    reader = csv.reader(file, strict=True)
    try:
        columns = _columns(next(reader, []))
        for cells in filter(None, reader):
            yield _row(reader.line_num, columns, cells, rounds)
    except UnicodeDecodeError:
        raise CommandError("stopped, because the file is not in UTF-8") from None
    except csv.Error as error:
        raise CommandError(f"stopped after line {reader.line_num}: {error}") from None


def _row(line: int, columns: list[str], cells: list[str], rounds: int) -> ImportedRow | _Refusal:
    if len(cells) != len(columns):
        return _Refusal(line, f"{counted(len(cells), 'value')} for {len(columns)} columns.")
    try:
        return parse_row(line, dict(zip(columns, cells, strict=True)), rounds=rounds)
    except ValidationError as error:
        return _Refusal(line, str(error))


def _columns(headings: list[str]) -> list[str]:
    columns = [heading.strip().lower() for heading in headings]
    unknown = [name for name in columns if name not in COLUMNS]
    missing = [name for name in REQUIRED if name not in columns]
    if missing or unknown or len({*columns}) < len(columns):
        wrong = f"there is no column {missing[0]}" if missing else "a column is there twice"
        wrong = f"there is an unknown column {unknown[0]!r}" if unknown else wrong
        raise CommandError(f"{wrong}; the first line must name some of {', '.join(COLUMNS)}")
    return columns


def _print_refusals(refused: dict[int, str]) -> None:
    for line, reason in sorted(refused.items()):
        print(f"line {line}: {printable(reason)}", file=sys.stderr)
