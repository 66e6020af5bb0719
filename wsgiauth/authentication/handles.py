"""Handles: the ids that name an API key, an app or a passkey in lists and forms; no credentials."""

import re

_HANDLE = re.compile("[0-9A-Za-z]{1,64}")


def is_handle(text: object) -> bool:
    """Return whether `text` has the form of a handle, and so can be part of a query."""
    return isinstance(text, str) and _HANDLE.fullmatch(text) is not None
