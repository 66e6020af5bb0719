"""The list of common passwords that is shipped with wsgiauth."""

from functools import cache
from io import BytesIO
from pathlib import Path

from wsgiauth.guessing.sorted_lines import has_line

MAX_LENGTH = 32  # characters of the longest password in the list

_FILE = Path(__file__).parents[1] / "data" / "common_passwords.txt"


def is_common(password: str) -> bool:
    """Return whether the list has `password`.

    Args:
        password: As `names.key` folds it.
    """
    # A line feed would end a line of the list.
    if len(password) > MAX_LENGTH or "\n" in password:
        return False
    return has_line(BytesIO(_passwords()), password.encode() + b"\n")


@cache
def _passwords() -> bytes:
    """Return the sorted lines, as they are: as strings they would take ten times the memory."""
    _, _, passwords = _FILE.read_bytes().partition(b"\n\n")
    return passwords
