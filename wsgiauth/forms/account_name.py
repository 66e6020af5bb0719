"""The field for the name of an account, in forms that find the account by it."""

from wsgiauth.forms import Submission

ACCOUNT_NAME = "username"


def account_name(submission: Submission) -> str:
    """Return the name that was typed, without spaces at its ends, which keyboards of phones add.

    Counts of attempts get the name from here as well: a name with spaces is no other name.
    """
    return submission.fields[ACCOUNT_NAME].strip()
