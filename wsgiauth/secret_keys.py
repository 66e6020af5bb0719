"""What makes a SECRET_KEY a secret, asked when settings are made."""

import re

# RFC 7518 section 3.2: a key at least as long as the hash's output, in bytes.
MINIMUM_BYTES = {"HS256": 32, "HS384": 48, "HS512": 64}

_PLACEHOLDER = re.compile(
    r"change[-_ ]?(?:me|this|it)|placeholder|insecure|example|secret[-_ ]?key|^<.*>$"
    r"|(?:your|my)[-_ ](?:\w+[-_ ])*(?:secret|key)",
    re.IGNORECASE,
)


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
    # A random key of this length with fewer than eight different characters does not happen.
    if _PLACEHOLDER.search(key) or len(set(key)) < 8:
        return "random, not a placeholder"
    return None


def _utf8_length(text: str) -> int | None:
    try:
        return len(text.encode())
    except UnicodeEncodeError:  # never the context of another error, for it holds the text
        return None
