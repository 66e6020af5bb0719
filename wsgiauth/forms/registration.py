"""What the pages that create accounts share: the fields that the application asks for."""

from collections.abc import Mapping

from wsgiauth.accounts.registration import Field
from wsgiauth.forms import FormPage, Submission


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


def sent_values(submission: Submission) -> dict[str, str]:
    """Return what was sent in the fields of the application."""
    names, fields = submission.site.registration.names, submission.fields
    return {name: fields[name] for name in names if name in fields}  # not every form asks
