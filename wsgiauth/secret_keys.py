"""What makes a SECRET_KEY a secret, asked when settings are made.

A key that a generator made is not refused: at most one in five million is, of each length that is
accepted, whether written in hexadecimal digits, in Base64 or in URL-safe Base64. The rules, and how
many of the keys that are most at risk break them by chance:

- Fewer than eight different characters: C(16, 7) * (7/16)**32 = 4e-8 of 32 hexadecimal digits.
- One character in half of the places: 16 * C(32, 16) / 16**16 = 5e-10 of them.
- Three quarters of the characters equal those one period before, which is too short for a key.
  Fewest are compared if the period is half of the length: 16 * C(16, 12) / 16**12 = 1e-10 of them.
- Two thirds belong to runs of neighbouring keys, letters or digits: fewer still.
- A placeholder: each has a letter that is no hexadecimal digit. "my_key", the shortest, stands at
  one of 60 places in 60 / 32**6 = 6e-8 of 64 characters of Base64, in any letter case, and with
  other characters between its words in 5e-8. The others have seven letters or more: 2e-9 each.
"""

import re
from collections import Counter

from wsgiauth.guessing.patterns import length_without_runs

# RFC 7518 section 3.2: a key at least as long as the hash's output, in bytes.
MINIMUM_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}

_PLACEHOLDER = re.compile(
    r"(?:change|replace)[-_ ]?(?:me|this|it)|(?:do[-_ ]?not|don'?t)[-_ ](?:use|share|commit|deploy)"
    r"|not[-_ ](?:for|in)[-_ ]prod|not[-_ ](?:so[-_ ])?(?:a[-_ ])?secret|keep[-_ ]?it[-_ ]?secret"
    r"|development|placeholder|insecure|example|testing|default|password|keyboard[-_ ]?cat"
    r"|secret[-_ ]?key|(?:super|top|very|dev|test)[-_ ]?secret|secret[-_ ](?:here|goes)"
    r"|(?:your|my)[-_ ](?:[^\W_]+[-_ ])*(?:secret|key)|(?:dev|test|dummy|sample|local)[-_ ]key"
    r"|^<[\w .,-]*>$|(?:replace|generate|insert)[-_ ](?:a|an|with|your|real)[-_ ]"
    r"|put[-_ ]your[-_ ]|fixmefixme|\btodo: |random[-_ ]string|signing[-_ ]?key",
    re.IGNORECASE,
)
_FEWEST_CHARACTERS = 8
_MOST_COMPARED = 512  # characters; comparing takes quadratic time


def unmet_demand(key: object, algorithm: str) -> str | None:
    """Return what `key` would have to be to sign with `algorithm`, or None if it is that.

    Args:
        key: The secret.
        algorithm: One of `MINIMUM_BYTES`.
    """
    if not isinstance(key, str):
        return "a text"
    length = _utf8_length(key)
    if length is None:
        return "text that UTF-8 can encode"
    minimum = MINIMUM_BYTES[algorithm]
    if length < minimum:
        return f"at least {minimum} bytes for {algorithm}"
    if _PLACEHOLDER.search(key) or _is_predictable(key, minimum):
        return "random, not a placeholder"
    return None


def _is_predictable(key: str, minimum: int) -> bool:
    occurrences = Counter(key)
    return (
        len(occurrences) < _FEWEST_CHARACTERS
        or occurrences.most_common(1)[0][1] * 2 >= len(key)
        or _is_nearly_periodic(key, minimum)
        or length_without_runs(key.lower()) * 3 <= len(key)
    )


def _is_nearly_periodic(key: str, minimum: int) -> bool:
    """Return whether three quarters of the characters equal those one short period before."""
    key = key[:_MOST_COMPARED]
    for period in range(1, min(len(key) // 2 + 1, minimum)):  # a longer period is itself a key
        repeated = sum(map(str.__eq__, key[period:], key))
        if repeated * 4 >= (len(key) - period) * 3:
            return True
    return False


def _utf8_length(text: str) -> int | None:
    try:
        return len(text.encode())
    except UnicodeEncodeError:  # never the context of another error, for it holds the text
        return None
