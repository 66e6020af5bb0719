"""What the endpoints share to which the links of mails lead."""

from http import HTTPStatus
from typing import Any

from wsgiauth.exceptions import RequestError

TOKEN = "token"  # noqa: S105 - the name of a field

_EXAMPLE = "Zr2kq0bq3ZyYTTe1GQkVjL3Fh4vXn6s8mWc5oPdAiUE"

TOKEN_FIELD: dict[str, Any] = {
    "type": "string",
    "description": "The field `token` in the link of the mail.",
    "minLength": 1,
    "examples": [_EXAMPLE],
}
TOKEN_PARAMETER: dict[str, Any] = {
    "name": TOKEN,
    "in": "query",
    "description": "The secret of the link.",
    "schema": {"type": "string"},
    "example": _EXAMPLE,
}


def link_expired(advice: str = "Ask for a new one.") -> RequestError:
    """Return the error for a link that cannot be used any more.

    Args:
        advice: What the user can do now, as a sentence.
    """
    return RequestError(
        HTTPStatus.GONE, "link_expired", f"The link was used before or has expired. {advice}"
    )
