"""Codes as people type them: keyboards write digits and hyphens in many ways."""

import unicodedata

_MAX_LENGTH = 100  # characters; no code is longer, with all separators
# A hyphen of Japanese keyboards, and the sign that word processors put for a hyphen.
_HYPHENS = "\N{KATAKANA-HIRAGANA PROLONGED SOUND MARK}\N{MINUS SIGN}"


def plain(code: str) -> str:
    """Return a code in ASCII digits and letters, without spaces, hyphens and invisible marks.

    Digits of any script and full-width letters become ASCII. A string that is too long for a code
    becomes empty.
    """
    if len(code) > _MAX_LENGTH:
        return ""
    return "".join(map(_plain, unicodedata.normalize("NFKC", code)))


def _plain(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    is_mark = unicodedata.category(character) in ("Pd", "Cf")  # a hyphen, or invisible
    return "" if is_mark or character.isspace() or character in _HYPHENS else character
