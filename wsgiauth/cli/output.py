"""Print tables and counts, without control characters that a terminal would interpret."""

from collections.abc import Sequence


class Table:
    """A table that is printed a few rows at a time.

    The first rows set the widths of the columns; a wider cell shifts the cells to its right.

    Args:
        columns: The headings.
    """

    def __init__(self, columns: Sequence[str]) -> None:
        self._columns = columns
        self._widths: list[int] = []

    def print(self, rows: Sequence[Sequence[str]]) -> None:
        """Print rows; the first call prints the headings above them."""
        if not self._widths:
            columns = zip(self._columns, *rows, strict=True)
            self._widths = [max(map(len, column)) for column in columns]
            self._print_row(self._columns)
        for row in rows:
            self._print_row(row)

    def _print_row(self, row: Sequence[str]) -> None:
        cells = (cell.ljust(width) for cell, width in zip(row, self._widths, strict=True))
        print(printable("  ".join(cells).rstrip()))


def printable(text: str) -> str:
    """Return `text` with control and other non-printable characters escaped."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def yes_or_no(value: object) -> str:
    """Return "yes" if `value` is true, otherwise "no"."""
    return "yes" if value else "no"


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural if the number is not 1."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
