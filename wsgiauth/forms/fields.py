"""Fields that several forms have."""

from http import HTTPStatus

from wsgiauth.exceptions import RequestError
from wsgiauth.forms import Submission

ACCOUNT_NAME = "username"


def account_name(submission: Submission) -> str:
    """Return the name that was typed, without spaces at its ends, which keyboards of phones add.

    Counts of attempts get the name from here as well: a name with spaces is no other name.
    """
    return submission.fields[ACCOUNT_NAME].strip()


TOKEN = "token"  # noqa: S105 - the name of a field


def link_expired(advice: str = "Ask for a new one.") -> RequestError:
    """Return the error for a link that cannot be used any more.

    Args:
        advice: What the user can do now, as a sentence.
    """
    return RequestError(
        HTTPStatus.GONE, "link_expired", f"The link was used before or has expired. {advice}"
    )
