"""The list of common passwords that is shipped with wsgiauth."""

from functools import cache
from io import BytesIO
from pathlib import Path

from wsgiauth.guessing.sorted_lines import has_line

MAX_LENGTH = 32  # characters of the longest password in the list

_FILE = Path(__file__).parents[1] / "data" / "common_passwords.txt"


def is_common(password: str) -> bool:
    """Return whether `password` is in the list.

    Args:
        password: As returned by `names.key`.
    """
    # A line feed in the password would match across two lines.
    if len(password) > MAX_LENGTH or "\n" in password:
        return False
    return has_line(BytesIO(_passwords()), password.encode() + b"\n")


@cache
def _passwords() -> bytes:
    """Return the sorted lines as bytes; a set of strings would take ten times the memory."""
    _, _, passwords = _FILE.read_bytes().partition(b"\n\n")
    return passwords
