"""Patterns that make a long string easy to guess: repetitions, and runs of neighbouring keys."""

_ALPHABETS = ("abcdefghijklmnopqrstuvwxyz", "абвгдеёжзийклмнопрстуфхцчшщъыьэюя", "0123456789" * 4)
# Neighbouring keys on common keyboards: rows, slanted columns, and two rows in turn.
_KEYBOARDS = (
    *("`1234567890-=", "~!@#$%^&*()_+", "qwertyuiop[]\\", "asdfghjkl;'", "zxcvbnm,./"),
    *("1qaz", "2wsx", "3edc", "4rfv", "5tgb", "6yhn", "7ujm", "8ik,", "9ol.", "0p;/"),
    *("!qaz", "@wsx", "#edc", "$rfv", "%tgb", "^yhn", "&ujm", "*ik<", "(ol>", ")p:?"),
    *("1q2w3e4r5t6y7u8i9o0p", "q1w2e3r4t5y6u7i8o9p0", "qawsedrftgyhujikolp", "azsxdcfvgbhnjmk"),
    *("qwertzuiopü+", "asdfghjklöä#", "yxcvbnm,.-", "1qay", "asdfghjklñ", "asdfghjklç"),
    *("azertyuiop", "qsdfghjklm", "wxcvbn,;:!", "1aqw", "йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
)
# One on each line, so that no run continues in the next one.
RUNS = "\n".join(run for way in (*_ALPHABETS, *_KEYBOARDS) for run in (way, way[::-1]))
_SHORTEST_RUN = 3  # characters; shorter runs are frequent in random strings


def repeated_unit(text: str) -> str:
    """Return the shortest string whose repetition gives `text`, or `text` itself.

    The last repetition may be incomplete: "abcabcab" repeats "abc".
    """
    for period in range(1, (len(text) + 1) // 2 + 1):
        if text.startswith(text[:-period], period):
            return text[:period]
    return text


def length_without_runs(text: str) -> int:
    """Return the length of `text` in characters, with each run counted as one.

    A run is three or more neighbouring keys, letters or digits in either direction, or the same
    character three or more times.

    Args:
        text: In lower case. The running time is linear in its length.
    """
    position = length = 0
    while position < len(text):
        position += _run_length(text, position)
        length += 1
    return length


def _run_length(text: str, start: int) -> int:
    """Return the length of the run that begins at `start`, or 1 if there is none."""
    end = start + _SHORTEST_RUN
    if text[start:end] == text[start] * _SHORTEST_RUN:
        while text[end : end + 1] == text[start]:
            end += 1
        return end - start
    if end > len(text) or "\n" in text[start:end] or text[start:end] not in RUNS:
        return 1
    while end < len(text) and text[end] != "\n" and text[start : end + 1] in RUNS:
        end += 1
    return end - start
