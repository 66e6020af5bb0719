"""The errors that wsgiauth raises, one tree under `WsgiAuthError`.

Expected outcomes (a wrong password, no token) are values, not exceptions. What stands here is a
broken contract: a bad setting, a rule broken by new data, a request that cannot be understood.
"""

from http import HTTPStatus


class WsgiAuthError(Exception):
    """The root of every error raised by wsgiauth."""


class ConfigurationError(WsgiAuthError, ValueError):
    """A setting is missing or wrong; the message names it and says what would be right."""


class MiddlewareMissingError(WsgiAuthError, RuntimeError):
    """A guard ran without `AuthMiddleware` in front of it."""


class ValidationError(WsgiAuthError, ValueError):
    """A field of a request, or of a new account, breaks a rule.

    Attributes:
        errors: Messages for a person, by field name.
        status: The HTTP status that says so.
        code: A stable, machine-readable name of the cause.
        detail: One sentence for a person, beside the messages.
    """

    status = HTTPStatus.UNPROCESSABLE_ENTITY
    code = "invalid"
    detail = "The request is invalid; see `errors`."

    def __init__(self, errors: dict[str, list[str]]) -> None:
        super().__init__(" ".join(message for messages in errors.values() for message in messages))
        self.errors = errors


class TakenError(ValidationError):
    """A username or e-mail belongs to another user already, in some letter case."""

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
    """A request to /auth is refused before it reaches its purpose.

    Attributes:
        status: The HTTP status of the answer.
        code: A stable, machine-readable name of the cause.
        detail: One sentence for a person. Never repeats what the client sent.
        headers: Headers that the answer carries beside its own.
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
    """A request is refused for now; the answer's `Retry-After` says until when."""

    def __init__(self, status: HTTPStatus, code: str, detail: str, *, seconds: int) -> None:
        super().__init__(status, code, detail, headers=(("Retry-After", str(seconds)),))
