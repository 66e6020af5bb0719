r"""Cells of CSV files, without spreadsheet formulas and with printable characters only.

Names can begin with `=`, and rows of older versions or of other writers can contain any character.
`read_cell` reverses `write_cell`. It keeps cells of other programs, except for the escapes of
`write_cell`: `'=`, `;'` and `\u{202e}`.
"""

import re

# OWASP, "CSV Injection": the beginning of a formula, also in full width. Apostrophes before it
# belong to it, so that `read_cell` removes only the apostrophe of `neutralize_formula`.
_FORMULA = re.compile("'*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")
_ESCAPE = re.compile(r"\\u\{(10[0-9a-f]{4}|[0-9a-f]{1,5})\}")


def neutralize_formula(text: str) -> str:
    """Return `text` as a cell that is no formula in a spreadsheet."""
    text = text.replace(";", ";'")  # the separator where the comma is decimal
    return f"'{text}" if _FORMULA.match(text) else text


def write_cell(text: str) -> str:
    """Return `text` as a cell that is no formula, with printable characters only."""
    text = _ESCAPE.sub(lambda found: _escape("\\") + found[0][1:], text)
    return neutralize_formula(
        "".join(each if each.isprintable() else _escape(each) for each in text)
    )


def read_cell(cell: str) -> str:
    """Return the text of a cell."""
    text = cell.replace(";'", ";")
    if text.startswith("'") and _FORMULA.match(text):
        text = text[1:]
    return _ESCAPE.sub(lambda found: _unescape(found[0], chr(int(found[1], 16))), text)


def _escape(character: str) -> str:
    return f"\\u{{{ord(character):x}}}"


def _unescape(written: str, character: str) -> str:
    return written if character.isprintable() and character != "\\" else character
