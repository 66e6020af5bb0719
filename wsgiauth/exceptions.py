"""The exceptions of wsgiauth, all derived from `WsgiAuthError`.

Expected outcomes (a wrong password, no token) are return values, not exceptions. An exception means
an invalid setting, invalid new data, or a request that is malformed or cannot be processed.
"""

from http import HTTPStatus


class WsgiAuthError(Exception):
    """The base class of every exception of wsgiauth."""


class ConfigurationError(WsgiAuthError, ValueError):
    """A setting is missing or invalid; the message names it and states the requirement."""


class MiddlewareMissingError(WsgiAuthError, RuntimeError):
    """A guard ran without `AuthMiddleware` in front of it."""


class ValidationError(WsgiAuthError, ValueError):
    """A field of a request, or of a new account, breaks a rule.

    Attributes:
        errors: Messages for people, by field name.
        status: The HTTP status of the response.
        code: A stable, machine-readable name of the cause.
        detail: One sentence for people, in addition to the messages.
    """

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "invalid"
    detail = "The request is invalid; see `errors`."

    def __init__(self, errors: dict[str, list[str]]) -> None:
        super().__init__(" ".join(message for messages in errors.values() for message in messages))
        self.errors = errors


class TakenError(ValidationError):
    """Another user already has the username or e-mail address, in any letter case."""

    status = HTTPStatus.CONFLICT
    code = "taken"
    detail = "The username or the e-mail address is taken; see `errors`."


class LastSuperuserError(WsgiAuthError):
    """A change would leave no active superuser."""

    def __init__(self, username: str) -> None:
        super().__init__(
            f"{username} is the last active superuser: make another user a superuser first"
        )


class RequestError(WsgiAuthError):
    """A request to /auth is refused.

    Attributes:
        status: The HTTP status of the response.
        code: A stable, machine-readable name of the cause.
        detail: One sentence for people. It never repeats what the client sent.
        headers: Additional headers of the response.
    """

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        detail: str,
        *,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = headers


class RetryLaterError(RequestError):
    """A request is refused for a limited time, which `Retry-After` states."""

    def __init__(self, status: HTTPStatus, code: str, detail: str, *, seconds: int) -> None:
        super().__init__(status, code, detail, headers=(("Retry-After", str(seconds)),))
