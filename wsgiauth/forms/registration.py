"""What the pages that create accounts share: the fields that the application asks for."""

from collections.abc import Mapping

from wsgiauth.accounts.registration import Answers, Field
from wsgiauth.exceptions import ApplicationError
from wsgiauth.forms import FormPage, Submission
from wsgiauth.throttling.attempts import Attempt


class NewAccountPage(FormPage):
    """A form that creates an account."""

    fields: tuple[Field, ...] = ()  # of the application
    values: Mapping[str, str] = {}  # what was sent in them

    @property
    def inputs(self) -> dict[str, str]:
        """All its fields: those of the application come before the password."""
        inputs = super().inputs
        last = {name: inputs.pop(name) for name in ("password",) if name in inputs}
        return {**inputs, **self.values, **last}


def read_answers(submission: Submission, attempt: Attempt) -> Answers:
    """Return the answers in the fields of the application.

    Raises:
        ApplicationError: A `check` failed. The attempt is counted, because a client can learn from
            that, too.
    """
    try:
        return submission.site.registration.read(submission.fields)
    except ApplicationError:
        attempt.begin()
        raise


def sent_values(submission: Submission) -> dict[str, str]:
    """Return what was sent in the fields of the application."""
    names, fields = submission.site.registration.names, submission.fields
    return {name: fields[name] for name in names if name in fields}  # not every form asks
