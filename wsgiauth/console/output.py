"""The only module that prints for commands, and escapes unprintable characters.

Users and clients choose names and other values. A terminal would obey control characters (C0, C1),
and bidirectional ones would hide the real text.
"""

import csv
import io
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from textwrap import indent
from typing import TextIO


class Table:
    """A table whose rows are printed a few at a time; the first ones set the column widths."""

    def __init__(self, headings: Sequence[str]) -> None:
        self._headings = headings
        self._widths: list[int] = []

    def print(self, rows: Sequence[Sequence[str]]) -> None:
        """Print rows; the first call prints the headings above them."""
        if not self._widths:
            columns = zip(self._headings, *rows, strict=True)
            self._widths = [max(map(len, column)) for column in columns]
            self._print_row(self._headings)
        for row in rows:
            self._print_row(row)

    def _print_row(self, row: Sequence[str]) -> None:
        cells = (cell.ljust(width) for cell, width in zip(row, self._widths, strict=True))
        print_line("  ".join(cells).rstrip())


def print_line(text: str) -> None:
    """Print one line.

    Example:
        print_line("2 badges")
    """
    print(printable(text))


def print_change(is_changed: bool, state: str, *, done: str = "") -> None:
    """Print the new state, or the sentence `done` instead, or that nothing changed."""
    print_line((done or state) if is_changed else f"Nothing changed: {state}")


def print_error(text: str) -> None:
    """Print one line to standard error.

    Example:
        print_error("warning: there are no badges")
    """
    print(printable(text), file=sys.stderr)


def print_text(text: str) -> None:
    """Print the operator's own text unescaped; it must have no value of a user or a client."""
    print(text, end="")


def print_pieces(pieces: Iterable[str]) -> None:
    """Print a JSON document in ASCII, which comes in pieces.

    Example:
        print_pieces(["[", "]"])
    """
    for piece in pieces:
        print(piece, end="")


def print_json_line(document: object) -> None:
    """Print a document in one line, as ASCII.

    Example:
        print_json_line({"badges": ["early"]})
    """
    print(json.dumps(document))


def print_list(
    pages: Iterable[Sequence[Mapping[str, object]]], columns: Mapping[str, str], *, as_json: bool
) -> None:
    """Print pages of documents as one JSON list, or as a table with headings for some keys.

    Example:
        print_list([[{"name": "early", "users": 2}]], {"badge": "name"}, as_json=False)
    """
    if as_json:
        _print_json_list(chain.from_iterable(pages))
        return
    table = Table(list(columns))
    remaining = iter(pages)
    for page in chain([next(remaining, ())], remaining):  # without a page, only the headings
        table.print([[_cell(each[key]) for key in columns.values()] for each in page])


def _print_json_list(documents: Iterable[object]) -> None:
    separator = "["
    for document in documents:
        print(separator)
        print(indent(json.dumps(document, indent=2), "  "), end="")
        separator = ","
    print("[]" if separator == "[" else "\n]")


def _cell(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(value)
    if isinstance(value, bool):
        return yes_or_no(value)
    return "" if value is None else str(value)


def print_csv(rows: Iterable[Sequence[str]]) -> None:
    """Print rows as CSV (RFC 4180), in UTF-8 whatever the locale is."""
    file = with_encoding(sys.stdout, encoding="utf-8")
    csv.writer(file, lineterminator="\n").writerows(rows)


def with_encoding(
    stream: TextIO, *, encoding: str, errors: str | None = None, newline: str | None = None
) -> TextIO:
    """Return a stream of the process with an encoding, whatever the locale is."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(encoding=encoding, errors=errors, newline=newline)
    return stream


def printable(text: str) -> str:
    """Return `text` with control and other non-printable characters escaped."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def yes_or_no(value: object) -> str:
    """Return "yes" if `value` is true, otherwise "no"."""
    return "yes" if value else "no"
