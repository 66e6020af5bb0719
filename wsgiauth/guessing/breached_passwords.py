"""A local copy of the passwords of known breaches: the file that BREACHED_PASSWORDS names.

The format is the one in which Have I Been Pwned publishes them: a line for each password, with its
SHA-1 in upper-case hexadecimal digits, a colon and a count, sorted by the hash. The file has tens
of gigabytes, so it is never read as a whole.
"""

import hashlib
import os
import re
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

from wsgiauth.guessing.sorted_lines import MAX_LINE, has_line

_LINE = re.compile(rb"[0-9A-F]{40}:[0-9]{1,20}\r?\n?")
_SAMPLES = 64  # lines that are looked at when the process starts


def is_breached(password: str, file: str | os.PathLike[str]) -> bool:
    """Return whether `password` is in the file.

    The file is opened for each password, so that it can be replaced while the process runs.

    Args:
        password: As typed.
        file: In the published format. About thirty small reads find a password in it.

    Raises:
        OSError: The file cannot be read.
    """
    # The published format leaves no choice of the hash. It protects nothing here.
    digest = hashlib.sha1(password.encode(), usedforsecurity=False).hexdigest().upper()
    with Path(file).open("rb", buffering=MAX_LINE) as lines:
        return has_line(lines, f"{digest}:".encode())


def file_problem(file: str | os.PathLike[str]) -> str | None:
    """Return what is wrong with the file, to follow the words "it", or None.

    Looks at the first line, the last, and some between. A file that is damaged elsewhere, or ends
    too early, is not recognised.
    """
    try:
        if not Path(file).is_file():  # reading a pipe would wait
            return "does not exist or is no file"
        with Path(file).open("rb", buffering=MAX_LINE) as lines:
            sample = _sample(lines)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    if not all(map(_LINE.fullmatch, sample)):
        return "has a line of another form"
    if any(later < earlier for earlier, later in pairwise(sample)):
        return "is not sorted by the hash"
    return None


def _sample(lines: BinaryIO) -> list[bytes]:
    """Return the first line, and those that begin after positions spread over the file."""
    size = lines.seek(0, 2)
    lines.seek(0)
    sample = [lines.readline(MAX_LINE)]
    for position in range(_SAMPLES):
        lines.seek(position * max(0, size - MAX_LINE) // _SAMPLES)
        lines.readline(MAX_LINE)
        sample.append(lines.readline(MAX_LINE) or sample[-1])
    lines.seek(max(0, size - MAX_LINE))
    return [*sample, *lines.read().splitlines(keepends=True)[-1:]]
