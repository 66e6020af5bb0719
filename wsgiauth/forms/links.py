"""What the endpoints share to which the links of mails lead."""

from http import HTTPStatus

from wsgiauth.exceptions import RequestError

TOKEN = "token"  # noqa: S105 - the name of a field


def link_expired(advice: str = "Ask for a new one.") -> RequestError:
    """Return the error for a link that cannot be used any more.

    Args:
        advice: What the user can do now, as a sentence.
    """
    return RequestError(
        HTTPStatus.GONE, "link_expired", f"The link was used before or has expired. {advice}"
    )
