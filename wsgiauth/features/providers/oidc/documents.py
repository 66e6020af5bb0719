"""JSON objects and base64, read strictly, because lenient readers disagree on the content."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable

Document = dict[str, object]

_MAX_DEPTH = 100  # of objects and lists in each other; Python's own bound depends on its version


def parse_json(octets: bytes) -> object:
    """Return a JSON value (RFC 8259) whose objects have no two members of one name, or None."""
    try:
        parsed = json.loads(
            octets.decode(), object_pairs_hook=_without_doubles, parse_constant=_refused
        )
    except (ValueError, RecursionError):
        return None
    return None if _is_deep(parsed) else parsed


def parse_document(octets: bytes) -> Document | None:
    """Return a JSON object without two members of one name, or None."""
    parsed = parse_json(octets)
    return parsed if isinstance(parsed, dict) else None


def optional(document: Document, name: str) -> object:
    """Return an optional member; None if it is absent, null or empty."""
    value = document.get(name)
    return None if value == "" else value


def strings(value: object) -> list[str]:
    """Return the strings of a list; no strings for any other value."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def encoded(octets: bytes) -> str:
    """Return base64 for URLs, without padding."""
    return urlsafe_b64encode(octets).rstrip(b"=").decode()


def decoded(segment: str) -> bytes:
    """Return the bytes of characters of base64 for URLs; nothing for an impossible length."""
    padding = -len(segment) % 4
    return b"" if padding == 3 else urlsafe_b64decode(segment + "=" * padding)


def _is_deep(value: object) -> bool:
    level: list[object] = [value]
    for _ in range(_MAX_DEPTH + 1):
        level = [child for each in level for child in _children(each)]
    return bool(level)


def _children(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _without_doubles(pairs: list[tuple[str, object]]) -> Document:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _refused(constant: str) -> None:
    raise ValueError  # NaN and Infinity are not JSON
