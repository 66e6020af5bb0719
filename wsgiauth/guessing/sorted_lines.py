"""Bisection in a sorted file of lines, which may be far larger than memory."""

from typing import BinaryIO

_BLOCK = 2048  # bytes that are read at once, when no more remain to be searched
MAX_LINE = 256  # bytes; in a longer line nothing is found


def has_line(lines: BinaryIO, prefix: bytes, *, start: int = 0) -> bool:
    """Return whether a line of a sorted file begins with `prefix`.

    Seeks as many times as the logarithm of the file's size demands, and changes the position.

    Args:
        lines: A file whose lines are sorted by their bytes and end in a line feed.
        prefix: What the line begins with. End it with a line feed to find a whole line.
        start: Where the first line begins, in bytes.

    Raises:
        OSError: The file cannot be read.
    """
    low, high = start, lines.seek(0, 2)
    while high - low > _BLOCK:  # the wanted line, if any, begins at `low` or after, before `high`
        middle = (low + high) // 2
        lines.seek(middle)
        position = middle + len(lines.readline(MAX_LINE))
        if lines.readline(MAX_LINE)[: len(prefix)] <= prefix and position < high:
            low = position
        else:
            high = middle + 1
    lines.seek(low)
    return b"\n" + prefix in b"\n" + lines.read(high - low + MAX_LINE)
