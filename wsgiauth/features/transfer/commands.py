"""The commands that import users from CSV (RFC 4180) and export them."""

import csv
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import NamedTuple, TextIO

from wsgiauth.accounts.registration import Field, Registration
from wsgiauth.console.command import (
    Arguments,
    CommandError,
    open_database,
    open_site,
)
from wsgiauth.console.output import print_csv, print_error, print_line, with_encoding
from wsgiauth.console.parser import Parser
from wsgiauth.exceptions import ApplicationError, ValidationError
from wsgiauth.features.former_passwords.formats import Options
from wsgiauth.features.transfer.importing import BATCH, import_rows
from wsgiauth.features.transfer.rows import (
    COLUMNS,
    NAMES,
    ImportedRow,
    exported_rows,
    parse_row,
)
from wsgiauth.messages import counted
from wsgiauth.settings import Settings
from wsgiauth.settings.oidc import parse_entries

# Decoders read ahead, so their errors do not name the line: see `_utf_8_lines`.
_ERRORS = "surrogateescape"


class _Refusal(NamedTuple):
    """A line that cannot be imported."""

    line: int
    reason: str


_Row = ImportedRow | _Refusal
_Record = tuple[int, list[str]]


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    added = parser.command(
        "import",
        import_users,
        examples=("users.csv --dry-run",),
        details="It does not change existing users. Each batch of 500 lines is one transaction;"
        " if it stops, it prints the last line that it processed. A row that is refused is"
        " printed, and the exit status is 1.",
    )
    added.add_argument(
        "file",
        metavar="FILE",
        help=f"with a line of headings: {', '.join(NAMES)} and optionally"
        f" {', '.join(COLUMNS[len(NAMES) :])}; with USERNAMES=off, the username is optional, too;"
        " - reads standard input",
    )
    added.add_argument(
        "--app",
        metavar="MODULE:NAME",
        help="the AuthMiddleware of the application, such as wsgi:application: import into its"
        " database, with the fields of its registration as further columns, and call its"
        " on_registered",
    )
    kind = added.add_mutually_exclusive_group()
    kind.add_argument(
        "--pepper",
        action="store_true",
        help="the hashes are of an HMAC of the password with FORMER_PEPPER, as Flask-Security"
        " makes them",
    )
    kind.add_argument(
        "--digest",
        choices=("sha256",),
        help="bcrypt hashes are of the SHA-256 digest of the password, as Flask-Bcrypt makes them"
        " with BCRYPT_HANDLE_LONG_PASSWORDS",
    )
    added.add_argument(
        "--dry-run", action="store_true", help="report what would happen, and change nothing"
    )
    added = parser.command(
        "export",
        export_users,
        examples=("> users.csv",),
        details="Apostrophes protect against formulas; `import` restores the values. Groups are"
        " not in the file. With hashes, anyone can guess passwords without limit: protect"
        " the file like the database.",
    )
    added.add_argument(
        "--with-hashes", action="store_true", help="include the hashes of the passwords"
    )


def import_users(arguments: Arguments) -> None:
    """Create the users of a CSV file, and print a line for each refusal."""
    settings, registration = _site(arguments)
    options = _options(arguments, settings)
    if settings.REGISTRATION:
        print_error(
            "warning: REGISTRATION is on, so anyone can register the name of a user who is not"
            " imported; set REGISTRATION=off until all have an account"
        )
    planned: dict[str, int] | None = {} if arguments.dry_run else None
    verb = "Would create" if arguments.dry_run else "Created"
    created = existing = refused = 0
    last_line = 1  # of the headings
    with _opened(arguments.file) as file:
        records = _records(file)
        _, headings = next(records, (0, []))
        required = NAMES if settings.USERNAMES else ("email",)
        columns = _columns(
            headings, required, registration.fields, has_app=arguments.app is not None
        )
        stopped = ""
        try:
            parsed = _rows(records, columns, settings, registration, options)
            for batch in _batches(parsed):
                valid = [each for each in batch if isinstance(each, ImportedRow)]
                wrong = dict(each for each in batch if isinstance(each, _Refusal))
                done = import_rows(valid, planned=planned)
                wrong |= done.refused
                for line, reason in sorted(wrong.items()):
                    print_error(f"line {line}: {reason}")
                created += done.created
                existing += done.existing
                refused += len(wrong)
                last_line = batch[-1].line if batch else last_line
                if len(batch) == BATCH:
                    print_error(f"{verb} {counted(created, 'user')} up to line {last_line}")
        except BaseException:  # also Ctrl+C
            stopped = f"; stopped after line {last_line}"
            raise
        finally:
            users = counted(created, "user")
            print_line(f"{verb} {users}; {existing} existed already{stopped}.")
    if refused:
        raise CommandError(f"{counted(refused, 'line')} refused")


def export_users(arguments: Arguments) -> None:
    """Print every user as a line of CSV."""
    open_database(arguments)
    print_csv(chain([COLUMNS], exported_rows(with_hashes=arguments.with_hashes)))


def _site(arguments: Arguments) -> tuple[Settings, Registration]:
    """Open the database; return the settings and the registration of the application."""
    if arguments.app is None:
        return open_database(arguments, may_create=True), Registration()
    site = open_site(arguments)
    return site.settings, site.registration.of_application()


def _options(arguments: Arguments, settings: Settings) -> Options:
    """Return what the hashes of the file do not say about themselves."""
    if arguments.pepper and settings.FORMER_PEPPER is None:
        raise CommandError("--pepper needs FORMER_PEPPER: set it to the key of the old site")
    return Options(arguments.pepper, arguments.digest == "sha256", settings.BCRYPT_ROUNDS)


@contextmanager
def _opened(name: str) -> Iterator[TextIO]:
    """Open a file, or standard input for `-`, as UTF-8, with or without a byte order mark."""
    if name == "-":
        yield with_encoding(sys.stdin, encoding="utf-8-sig", errors=_ERRORS, newline="")
        return
    try:
        file = open(name, encoding="utf-8-sig", errors=_ERRORS, newline="")  # noqa: PTH123, SIM115 - as a user types it
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}") from None
    with file:
        yield file


def _batches(rows: Iterator[_Row]) -> Iterator[list[_Row]]:
    """Yield the rows in lists of `BATCH`, also before a line that stops the import."""
    batch: list[_Row] = []
    try:
        for row in rows:
            batch.append(row)
            if len(batch) == BATCH:
                yield batch
                batch = []
    except CommandError:
        yield batch
        raise
    yield batch


def _rows(
    records: Iterable[_Record],
    columns: list[str],
    settings: Settings,
    registration: Registration,
    options: Options,
) -> Iterator[_Row]:
    """Yield each record that is not empty as a row or as a refusal."""
    parse = partial(
        parse_row,
        options=options,
        providers={each.issuer: each.name for each in parse_entries(settings.OIDC_PROVIDERS)},
        registration=registration,
        has_usernames=settings.USERNAMES,
    )
    for line, cells in records:
        if len(cells) == len(columns):
            try:
                yield parse(line, dict(zip(columns, cells, strict=True)))
            except (ValidationError, ApplicationError) as error:
                yield _Refusal(line, str(error))
        elif cells:
            yield _Refusal(line, f"{counted(len(cells), 'value')} for {len(columns)} columns.")


def _records(file: TextIO) -> Iterator[_Record]:
    """Yield the cells of each record, with the number of its last line."""
    reader = csv.reader(_utf_8_lines(file), strict=True)
    line = 0
    try:
        for cells in reader:
            line = reader.line_num
            yield line, cells
    except csv.Error as error:
        raise CommandError(f"line {line + 1} is not CSV: {error}") from None


def _utf_8_lines(file: TextIO) -> Iterator[str]:
    """Yield the lines of a file up to one that is not in UTF-8."""
    for number, line in enumerate(file, 1):
        try:
            line.encode()
        except UnicodeEncodeError:
            raise CommandError(f"line {number} is not in UTF-8") from None
        yield line


def _columns(
    headings: list[str], names: Sequence[str], fields: Sequence[Field], *, has_app: bool
) -> list[str]:
    """Return the columns that the first line names, or raise CommandError without `names`."""
    columns = [heading.strip().lower() for heading in headings]
    known = (*COLUMNS, *(each.name for each in fields))
    required = (*names, *(each.name for each in fields if each.required))
    unknown = [name for name in columns if name not in known]
    missing = [name for name in required if name not in columns]
    if unknown:
        wrong = f"there is an unknown column {unknown[0]!r}"
    elif missing:
        wrong = f"there is no column {missing[0]}"
    elif len({*columns}) < len(columns):
        wrong = "a column is given twice"
    else:
        return columns
    advice = f"; the first line must name some of {', '.join(known)}"
    if unknown and not has_app:
        advice += "; for fields of your registration, give --app MODULE:NAME"
    raise CommandError(wrong + advice)
