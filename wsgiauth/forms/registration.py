"""Pages that create accounts, and the fields that the application adds to them."""

import re
from abc import abstractmethod
from collections.abc import Iterable, Mapping

from wsgiauth.accounts.field_kinds import TICKED
from wsgiauth.accounts.registration import Answers, FeatureField, Field
from wsgiauth.exceptions import ApplicationError, ConfigurationError
from wsgiauth.forms import FormPage, Submission
from wsgiauth.forms.proofs import PasskeyPage
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.throttling.attempts import Attempt
from wsgiauth.web.pages import Page


class NewAccountPage(FormPage):
    """A form that creates an account."""

    fields: tuple[Field, ...] = ()  # of the application
    values: Mapping[str, str] = {}  # as sent

    @classmethod
    @abstractmethod
    def is_used(cls, settings: Settings) -> bool:
        """Return whether a site with these settings asks for the fields on this page."""

    @property
    def has_consent(self) -> bool:
        """Whether a field of a feature asks for the consent, which the page then does not imply."""
        return any(isinstance(each, FeatureField) for each in self.fields)

    @property
    def inputs(self) -> dict[str, str]:
        """All its fields; the password is between the application's required and optional ones."""
        inputs, asked = super().inputs, {each.name for each in self.fields if each.required}
        required = {name: value for name, value in self.values.items() if name in asked}
        password = {name: inputs.pop(name) for name in ("password",) if name in inputs}
        return {**inputs, **required, **password, **self.values}


class NewKeyPage(NewAccountPage, PasskeyPage):
    """A form that creates an account, perhaps with a passkey instead of a password."""

    unknown_key: str = ""  # see `PresentedNewKey`; empty: no key was made in vain


def sent_username(submission: Submission, proposed: str = "") -> str | None:
    """Return the username as it was sent, or else the proposed one; None without USERNAMES."""
    sent = submission.fields.get("username")
    return None if sent is None else sent or proposed


def read_answers(submission: Submission, attempt: Attempt) -> Answers:
    """Return the answers in the fields of the application.

    If a `check` of the application fails, the attempt counts, because the client learns from that.
    """
    try:
        return submission.site.registration.read(submission.fields)
    except ApplicationError:
        attempt.begin()
        raise


def sent_values(submission: Submission) -> dict[str, str]:
    """Return the values that were sent in the fields of the application."""
    names, fields = submission.site.registration.names, submission.fields
    return {name: fields[name] for name in names if name in fields}  # not every form asks


def check_registration(samples: Iterable[Page], site: Site) -> None:
    """Raise ConfigurationError if a template does not ask for a required field of the site.

    Of the samples of one class, the last is the most usual.
    """
    fields, values = site.registration.fields, dict.fromkeys(site.registration.names, "")
    pages = {type(each): each for each in samples if isinstance(each, NewAccountPage)}
    for page in (each for each in pages.values() if each.is_used(site.settings)):
        html = site.pages.check(page.replaced(fields=fields, values=values, errors={}))
        for each in (each for each in fields if each.required):
            if not _asks_for(each, html):
                raise ConfigurationError(
                    f"TEMPLATES: {page.template} does not ask for the required field {each.name};"
                    " call registration_fields(page) of macros.html in its form."
                )


def _asks_for(field: Field, html: str) -> bool:
    """Return whether a page has a field; the checkbox of a feature can send another value."""
    attributes = {"name": field.name}
    if field.ticked != TICKED:
        attributes["value"] = field.ticked
    return all(
        re.search(rf"\b{name}=[\"']?{re.escape(value)}\b", html)
        for name, value in attributes.items()
    )
