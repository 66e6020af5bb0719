"""Fields that several forms have, and what goes with them."""

from http import HTTPStatus

from wsgiauth.exceptions import RequestError
from wsgiauth.forms import Submission

ACCOUNT_NAME = "username"
TOKEN = "token"  # noqa: S105 - the name of a field


def account_name(submission: Submission) -> str:
    """Return the name that was typed, without spaces at its ends, which keyboards of phones add.

    Attempts are counted by the same name, because a name with spaces is no other name.
    """
    return submission.fields[ACCOUNT_NAME].strip()


def link_expired(advice: str = "Ask for a new one.") -> RequestError:
    """Return the error for a link that cannot be used any more, with a sentence of advice."""
    return RequestError(
        HTTPStatus.GONE, "link_expired", f"The link was used before or has expired. {advice}"
    )
