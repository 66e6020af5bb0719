"""The failures that the URLs for programs of other apps answer with (RFC 6749 section 5.2)."""

from collections.abc import Collection
from http import HTTPStatus

from wsgiauth.exceptions import ApplicationError
from wsgiauth.openapi.answers import Problem
from wsgiauth.openapi.problems import RETRY_AFTER
from wsgiauth.web.responses import Header, Response, json_response

INVALID_REQUEST, INVALID_CLIENT, INVALID_GRANT, UNAUTHORIZED_CLIENT = (
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
)

CLIENT_THROTTLED = Problem(
    "ClientThrottled",
    429,
    {
        "throttled": "Too many attempts, new accounts or emails: this request was not tried."
        " `Retry-After` says when to try again."
    },
    headers={"Retry-After": RETRY_AFTER},
)


class OAuthError(Exception):
    """A request of an app is refused.

    Attributes:
        error: One of the standard's codes.
        description: For developers, in English, without input of the client.
    """

    def __init__(
        self,
        error: str,
        description: str,
        *,
        status: HTTPStatus = HTTPStatus.BAD_REQUEST,
        headers: tuple[Header, ...] = (),
    ) -> None:
        super().__init__(error)
        self.error, self.description = error, description
        self.status, self.headers = status, headers

    def response(self) -> Response:
        """Return the answer."""
        document = {"error": self.error, "error_description": self.description}
        return json_response(document, status=self.status, headers=self.headers)


def server_error(error: ApplicationError) -> OAuthError:
    """Return the answer after a function of the application or of a feature has failed."""
    description = "an error occurred on this site; its operator can find it in the log"
    return OAuthError("server_error", description, status=error.status)


def resource_problem(services: Collection[str]) -> str:
    """Return the description of the error that `resource` is none of the services."""
    if not services:
        return "this site has no services: SERVICES is empty"
    return "resource must be one service of this site"
