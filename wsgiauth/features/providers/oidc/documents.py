"""JSON objects that a provider sends, read strictly: software that reads them loosely disagrees."""

import json

Document = dict[str, object]


def parse_document(octets: bytes) -> Document | None:
    """Return a JSON object (RFC 8259), or None for anything else.

    An object with two members of one name is refused, because it says two things.
    """
    try:
        parsed = json.loads(
            octets.decode(), object_pairs_hook=_without_doubles, parse_constant=_refused
        )
    except (ValueError, RecursionError):  # not chained, because it has the document
        return None
    return parsed if isinstance(parsed, dict) else None


def optional(document: Document, name: str) -> object:
    """Return a member that can be absent, or None; null and "" say as little."""
    value = document.get(name)
    return None if value == "" else value


def strings(value: object) -> list[str]:
    """Return the strings of a list; those of another value are none."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _without_doubles(pairs: list[tuple[str, object]]) -> Document:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError
    return members


def _refused(constant: str) -> None:
    raise ValueError  # NaN and Infinity are not JSON
