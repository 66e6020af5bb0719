"""Look up a password in a local list of breached passwords, the file BREACHED_PASSWORDS.

The file has the format of Have I Been Pwned: one line for each password, with its SHA-1 in
upper-case hexadecimal digits, a colon and a count, sorted by the hash. It has tens of gigabytes, so
it is never read as a whole.
"""

import hashlib
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from wsgiauth.guessing.sorted_lines import MAX_LINE, has_line

_LINE = re.compile(rb"[0-9A-F]{40}:[0-9]{1,20}\r?\n?")
_SAMPLES = 64  # lines that are checked when the process starts


def is_breached(password: str, file: str | os.PathLike[str]) -> bool:
    """Return whether `password` is in the file.

    Opens the file for each password, so that it can be replaced while the process runs.

    Args:
        password: As typed.
        file: In the published format. A look-up takes about thirty small reads.

    Raises:
        OSError: The file cannot be read.
    """
    # The published format prescribes SHA-1, which protects nothing here.
    digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
    with Path(file).open("rb", buffering=MAX_LINE) as lines:
        return has_line(lines, f"{digest}:".encode())


def file_problem(file: str | os.PathLike[str]) -> str | None:
    """Return what is wrong with the file, as the end of a sentence about it, or None.

    Checks the first line, the last line and a sample of the others. Other damage, and a file that
    ends too early, are not detected.
    """
    try:
        if not Path(file).is_file():  # opening a pipe would block
            return "does not exist or is not a file"
        with Path(file).open("rb", buffering=MAX_LINE) as lines:
            sample = _sample(lines)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not all(map(_LINE.fullmatch, sample)):
        return "has a line in another format"
    if any(later < earlier for earlier, later in pairwise(sample)):
        return "is not sorted by the hash"
    return None


def _sample(lines: BinaryIO) -> list[bytes]:
    """Return the first and the last line, and lines from evenly spread positions."""
    size = lines.seek(0, 2)
    lines.seek(0)
    sample = [lines.readline(MAX_LINE)]
    for position in range(_SAMPLES):
        lines.seek(position * max(0, size - MAX_LINE) // _SAMPLES)
        lines.readline(MAX_LINE)
        sample.append(lines.readline(MAX_LINE) or sample[-1])
    lines.seek(max(0, size - MAX_LINE))
    return [*sample, *lines.read().splitlines(keepends=True)[-1:]]
