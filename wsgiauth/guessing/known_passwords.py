"""Look up a password in two lists: the common passwords that are shipped, and BREACHED_PASSWORDS.

BREACHED_PASSWORDS has the format of Have I Been Pwned: one line for each password, with its SHA-1
in upper-case hexadecimal digits, a colon and a count, sorted by the hash. The file has tens of
gigabytes.
"""

import hashlib
import os
import re
from contextlib import suppress
from functools import cache
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

MAX_LENGTH = 32  # characters of the longest common password

_COMMON = Path(__file__).parents[1] / "data" / "common_passwords.txt"
_LINE = rb"[0-9A-F]{40}:[0-9]{1,20}\r?\n?"
_SAMPLES = 64  # lines that are checked when the process starts
_BLOCK = 2048  # bytes; a range of this size or less is read at once
_MAX_LINE = 256  # bytes; longer lines are not found


def is_common(password: str) -> bool:
    """Return whether `password`, as returned by `names.key`, is in the shipped list."""
    # A line feed in the password would match across two lines.
    if len(password) > MAX_LENGTH or "\n" in password:
        return False
    return has_line(BytesIO(_common_passwords()), password.encode() + b"\n")


def is_breached(password: str, file: str | os.PathLike[str]) -> bool:
    """Return whether `password`, as typed, is in the file; raise OSError if it cannot be read.

    Opens the file for each password, so that it can be replaced while the process runs.
    """
    # The published format prescribes SHA-1, which protects nothing here.
    digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
    with Path(file).open("rb", buffering=_MAX_LINE) as lines:
        return has_line(lines, f"{digest}:".encode())


def file_problem(file: str | os.PathLike[str]) -> str | None:
    """Return what is wrong with the file, as the end of a sentence about it, or None.

    Checks the first line, the last line and a sample of the others. Other damage, and a file that
    ends too early, are not detected.
    """
    try:
        with suppress(FileNotFoundError, NotADirectoryError, ValueError):
            Path(file).stat()  # raises other errors, which since Python 3.14 `is_file` does not
        if not Path(file).is_file():  # opening a pipe would block
            return "does not exist or is not a file"
        with Path(file).open("rb", buffering=_MAX_LINE) as lines:
            sample = _sample(lines)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not all(re.fullmatch(_LINE, line) for line in sample):
        return "has a line in another format"
    if any(later < earlier for earlier, later in pairwise(sample)):
        return "is not sorted by the hash"
    return None


def has_line(lines: BinaryIO, prefix: bytes) -> bool:
    """Return whether a line of a file begins with `prefix`, by binary search.

    Args:
        lines: Sorted by their bytes; each ends in a line feed.
        prefix: The beginning of the line. End it with a line feed to find a whole line.
    """
    low, high = 0, lines.seek(0, 2)
    while high - low > _BLOCK:  # a matching line begins at `low` or later, before `high`
        middle = (low + high) // 2
        lines.seek(middle)
        position = middle + len(lines.readline(_MAX_LINE))
        if lines.readline(_MAX_LINE)[: len(prefix)] <= prefix and position < high:
            low = position
        else:
            high = middle + 1
    lines.seek(low)
    return b"\n" + prefix in b"\n" + lines.read(high - low + _MAX_LINE)


@cache
def _common_passwords() -> bytes:
    """Return the sorted lines as bytes; a set of strings would take ten times the memory."""
    _, _, passwords = _COMMON.read_bytes().partition(b"\n\n")
    return passwords


def _sample(lines: BinaryIO) -> list[bytes]:
    """Return the first and the last line, and lines from evenly spread positions."""
    size = lines.seek(0, 2)
    lines.seek(0)
    sample = [lines.readline(_MAX_LINE)]
    for position in range(_SAMPLES):
        lines.seek(position * max(0, size - _MAX_LINE) // _SAMPLES)
        lines.readline(_MAX_LINE)
        sample.append(lines.readline(_MAX_LINE) or sample[-1])
    lines.seek(max(0, size - _MAX_LINE))
    return [*sample, *lines.read().splitlines(keepends=True)[-1:]]
