"""The `start_response` for logged-in users, which keeps responses out of shared caches."""

from collections.abc import Callable
from types import TracebackType
from wsgiref.types import StartResponse

_Header = tuple[str, str]
_ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None] | None

# The request headers that identify a user.
_SELECTING = ("Authorization", "Cookie")

_PRIVATE = ("Cache-Control", "private")
_ADDED = (_PRIVATE, ("Vary", ", ".join(_SELECTING)))
_DECIDING = frozenset({"cache-control", "vary"})
_LENGTHS = frozenset(map(len, _DECIDING))  # compared first, because it takes half as long


def start_private(
    start_response: StartResponse,
    status: str,
    headers: list[_Header],
    exc_info: _ExcInfo = None,
) -> Callable[[bytes], object]:
    """Start a response (PEP 3333) that shared caches must not store.

    If the application sets Cache-Control, its headers stay. Otherwise, add
    `Cache-Control: private` (RFC 9111 section 5.2.2.7), and list in Vary the request headers that
    identify users (RFC 9110 section 12.5.5). Every status needs them, because a 304 must have the
    headers of its 200 (RFC 9110 section 15.4.5).

    Not defended: a cache that is configured to ignore Cache-Control.
    """
    for name, _ in headers:
        if len(name) in _LENGTHS and name.lower() in _DECIDING:
            headers = _merged_headers(headers)
            break
    else:  # the usual case, without a second pass
        headers = [*headers, *_ADDED]
    if exc_info is None:
        return start_response(status, headers)
    return start_response(status, headers, exc_info)


def _merged_headers(headers: list[_Header]) -> list[_Header]:
    if any(name.lower() == "cache-control" for name, _ in headers):
        return headers
    # Some caches read only one Vary header.
    vary = ",".join(value for name, value in headers if name.lower() == "vary")
    others = [header for header in headers if header[0].lower() != "vary"]
    return [*others, _PRIVATE, ("Vary", _merged(vary))]


def _merged(vary: str) -> str:
    fields = [field.strip() for field in vary.split(",") if field.strip()]
    if "*" in fields:
        return "*"
    known = {field.lower() for field in fields}
    return ", ".join([*fields, *(name for name in _SELECTING if name.lower() not in known)])
