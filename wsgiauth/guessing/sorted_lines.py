"""Binary search in a file of sorted lines, which can be far larger than memory."""

from typing import BinaryIO

_BLOCK = 2048  # bytes; a range of this size or less is read at once
MAX_LINE = 256  # bytes; longer lines are not found


def has_line(lines: BinaryIO, prefix: bytes, *, start: int = 0) -> bool:
    """Return whether a line of a sorted file begins with `prefix`.

    Takes O(log n) seeks in a file of n bytes, and changes the file's position.

    Args:
        lines: A file whose lines are sorted by their bytes and end in a line feed.
        prefix: The beginning of the line. End it with a line feed to find a whole line.
        start: The position of the first line, in bytes.

    Raises:
        OSError: The file cannot be read.
    """
    low, high = start, lines.seek(0, 2)
    while high - low > _BLOCK:  # a matching line begins at `low` or later, before `high`
        middle = (low + high) // 2
        lines.seek(middle)
        position = middle + len(lines.readline(MAX_LINE))
        if lines.readline(MAX_LINE)[: len(prefix)] <= prefix and position < high:
            low = position
        else:
            high = middle + 1
    lines.seek(low)
    return b"\n" + prefix in b"\n" + lines.read(high - low + MAX_LINE)
