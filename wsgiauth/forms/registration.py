"""What the pages that create accounts share: the fields that the application asks for."""

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping

from wsgiauth.accounts.registration import Answers, Field
from wsgiauth.exceptions import ApplicationError, ConfigurationError
from wsgiauth.forms import FormPage, Submission
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.throttling.attempts import Attempt
from wsgiauth.web.pages import Page


class NewAccountPage(FormPage):
    """A form that creates an account."""

    fields: tuple[Field, ...] = ()  # of the application
    values: Mapping[str, str] = {}  # what was sent in them

    @classmethod
    @abstractmethod
    def is_used(cls, settings: Settings) -> bool:
        """Return whether a site with these settings asks for the fields on this page."""

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


def check_registration(samples: Iterable[Page], site: Site) -> None:
    """Raise ConfigurationError if a template does not ask for a required field of the site.

    No account could be created with such a page.

    Args:
        samples: Examples of all pages, of which the last of each class is the most usual.
        site: The source of the fields.
    """
    fields, values = site.registration.fields, dict.fromkeys(site.registration.names, "")
    pages = {type(each): each for each in samples if isinstance(each, NewAccountPage)}
    for page in (each for each in pages.values() if each.is_used(site.settings)):
        html = site.pages.check(page.replaced(fields=fields, values=values, errors={}))
        for name in (each.name for each in fields if each.required):
            if not re.search(rf"\bname=[\"']?{name}\b", html):
                raise ConfigurationError(
                    f"TEMPLATES: {page.template} does not ask for the required field {name};"
                    " call registration_fields(page) of macros.html in its form."
                )
