"""Codes as people type and paste them: in many scripts, and with the sentence around them."""

import re
import unicodedata

_MAX_LENGTH = 1000  # characters of a code with the text around it, as in `maxlength` on pages
# A hyphen of Japanese keyboards, and the sign that word processors put for a hyphen.
_HYPHENS = "\N{KATAKANA-HIRAGANA PROLONGED SOUND MARK}\N{MINUS SIGN}"
_NUMBER = re.compile("[0-9]+(?:[ -]+[0-9]+)*")
_GROUPS = re.compile("(?<![0-9A-Z-])[0-9A-Z]{4}(?:-[0-9A-Z]{4})+(?![0-9A-Z-])")


def digits_in(typed: str, length: int) -> str:
    """Return the only number of `length` digits in a string, or "".

    A string with several of them is no code, so that one attempt compares one code.
    """
    return _only({_joined(each) for each in _NUMBER.findall(_in_ascii(typed))}, length)


def letters_in(typed: str, length: int) -> str:
    """Return the code of `length` digits and capital letters in a string, or "".

    Within a sentence, it is found in the form in which we show it: groups of four between hyphens.
    """
    text = _in_ascii(typed).upper()
    if len(_joined(text)) == length:
        return _joined(text)
    return _only({_joined(each) for each in _GROUPS.findall(text)}, length)


def _only(found: set[str], length: int) -> str:
    codes = [each for each in found if len(each) == length]
    return codes[0] if len(codes) == 1 else ""


def _joined(code: str) -> str:
    return code.replace(" ", "").replace("-", "")


def _in_ascii(typed: str) -> str:
    """Return a string with ASCII digits, letters, spaces and hyphens, without invisible marks.

    A string that is too long becomes empty.
    """
    if len(typed) > _MAX_LENGTH:
        return ""
    return "".join(map(_plain, unicodedata.normalize("NFKC", typed)))


def _plain(character: str) -> str:
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    category = unicodedata.category(character)
    if category == "Pd" or character in _HYPHENS:
        return "-"
    if character.isspace():
        return " "
    return "" if category == "Cf" else character  # invisible
