r"""Cells of CSV files, which contain no formulas of spreadsheets, and printable characters only.

Names can begin with `=`, and rows of older versions or of other writers can contain any character.
`read_cell` returns exactly what `write_cell` was given; what other programs write stays as it is,
unless it looks like a cell of `write_cell`: `'=`, `;'` and `\u{202e}`.
"""

import re

# OWASP, "CSV Injection": what a spreadsheet takes for a formula, also in full width. Apostrophes
# before it count, so that one more can be told from those of the value.
_FORMULA = re.compile("'*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_ESCAPE = re.compile(r"\\u\{(10[0-9a-f]{4}|[0-9a-f]{1,5})\}")


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


def _escape(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def _unescape(written: str, character: str) -> str:
    return written if character.isprintable() and character != "\\" else character
