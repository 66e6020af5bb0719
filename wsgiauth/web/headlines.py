"""Headlines of error pages. Problem details have the name of the HTTP status instead."""

_REFUSED = "This request was refused"
_UNREADABLE = "The form could not be read"

# By the `code` of the failure.
HEADLINES = {
    "busy": "The site is busy",
    "cross_origin": _REFUSED,
    "forbidden": "You do not have permission to open this page",
    "invalid_token": "You are not logged in",
    "length_required": _UNREADABLE,
    "malformed": _UNREADABLE,
    "method_not_allowed": "This page cannot be used in this way",
    "not_found": "This page does not exist",
    "prefetch": _REFUSED,
    "throttled": "Too many attempts",
    "too_large": "The form is too long",
    "unauthenticated": "You are not logged in",
    "unavailable": "Accounts are not available at the moment",
    "unsupported_media_type": _UNREADABLE,
}
