"""The check of SECRET_KEY: settings reject a key that is too short or predictable.

Of random keys, at most one in five million is rejected, for each accepted length, in hexadecimal
digits, Base64 and URL-safe Base64. These are the rules for predictable keys, each with the
probability that a random key matches it, for the kind of key with the highest risk:

- Fewer than eight different characters: C(16, 7) * (7/16)**32 = 4e-8 for 32 hexadecimal digits.
- One character at half of the positions: 16 * C(32, 16) / 16**16 = 5e-10 for the same.
- Three quarters of the characters repeat with a period that is too short for a key. The fewest
  characters are compared if the period is half the length: 16 * C(16, 12) / 16**12 = 1e-10.
- Two thirds of the characters are runs of adjacent keys, letters or digits: less than that.
- A placeholder. Each has a letter that is not a hexadecimal digit. The shortest is "my_key": in 64
  characters of Base64 it has 60 possible positions, 60 / 32**6 = 6e-8 in any letter case, and 5e-8
  with other characters between its words. The others have seven letters or more: 2e-9 each.
"""

import re
from collections import Counter

from wsgiauth.guessing.patterns import length_without_runs

# In bytes. RFC 7518 section 3.2: a key must be at least as long as the hash's output.
MINIMUM_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}
ALGORITHMS = tuple(MINIMUM_BYTES)

_PLACEHOLDER = (
    r"(?:change|replace)[-_ ]?(?:me|this|it)|(?:do[-_ ]?not|don'?t)[-_ ](?:use|share|commit|deploy)"
    r"|not[-_ ](?:for|in)[-_ ]prod|not[-_ ](?:so[-_ ])?(?:a[-_ ])?secret|keep[-_ ]?it[-_ ]?secret"
    r"|development|placeholder|insecure|example|testing|default|password|keyboard[-_ ]?cat"
    r"|secret[-_ ]?key|(?:super|top|very|dev|test)[-_ ]?secret|secret[-_ ](?:here|goes)"
    r"|(?:your|my)[-_ ](?:[^\W_]+[-_ ])*(?:secret|key)|(?:dev|test|dummy|sample|local)[-_ ]key"
    r"|^<[\w .,-]*>$|(?:replace|generate|insert)[-_ ](?:a|an|with|your|real)[-_ ]"
    r"|put[-_ ]your[-_ ]|fixmefixme|\btodo: |random[-_ ]string|signing[-_ ]?key"
)
_FEWEST_CHARACTERS = 8
_MOST_COMPARED = 512  # characters; comparing takes quadratic time


def unmet_requirement(key: str, algorithm: str | None) -> str | None:
    """Return the requirement that `key` does not meet, or None.

    `algorithm` is one of `ALGORITHMS`, or None for a key that signs no tokens.
    """
    try:
        length = len(key.encode())
    except UnicodeEncodeError:
        return "encodable as UTF-8"
    minimum = MINIMUM_BYTES[algorithm or "HS256"]
    if length < minimum:
        return f"at least {minimum} bytes" + (f" for {algorithm}" if algorithm else "")
    if re.search(_PLACEHOLDER, key, re.IGNORECASE) or _is_predictable(key, minimum):
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
    """Return whether three quarters of the characters repeat with a short period."""
    key = key[:_MOST_COMPARED]
    for period in range(1, min(len(key) // 2 + 1, minimum)):  # a longer period could be a key
        repeated = sum(map(str.__eq__, key[period:], key))
        if repeated * 4 >= (len(key) - period) * 3:
            return True
    return False
