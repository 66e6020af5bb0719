"""What a link to /auth/verify can be for: one class for each purpose of a one-time secret."""

from abc import ABC, abstractmethod
from typing import ClassVar

from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.forms import Refusal, Submission
from wsgiauth.web.pages import Page
from wsgiauth.web.responses import Response


class LinkPurpose(ABC):
    """Answers /auth/verify for the secrets of one purpose.

    `verify` has found the secret, which can be used and is not used yet. Each method can ask for a
    login with `endpoint.require_login`.

    Attributes:
        purpose: That of the secrets.
    """

    purpose: ClassVar[str]

    @abstractmethod
    def act(self, submission: Submission, secret: OneTimeSecret) -> Response:
        """Use the secret, and answer as the client prefers (`submission.wants_json`).

        Raises:
            ValidationError: A field is wrong. The form is shown again.
            RequestError: The form is refused: `link_expired()` if another client was faster.
            peewee.DatabaseError: The database failed.
        """

    @abstractmethod
    def page(self, submission: Submission, secret: OneTimeSecret, refusal: Refusal) -> Page:
        """Return the page that says what the link does, with a form of one button.

        It changes nothing, because mail scanners and previews open links.

        Raises:
            RequestError: The link cannot be used.
            peewee.DatabaseError: The database failed.
        """
