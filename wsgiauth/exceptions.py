"""The exceptions of the kernel, all derived from `WsgiAuthError`.

Expected outcomes (a wrong password, no token) are return values, not exceptions.
"""

from collections.abc import Iterable, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import NamedTuple

from wsgiauth.messages import _

# The public ones. The others are internal, and only become responses.
__all__ = [
    "ApplicationError",
    "ClaimsError",
    "ConfigurationError",
    "InUseError",
    "LastSuperuserError",
    "MiddlewareMissingError",
    "RetryLaterError",
    "TakenError",
    "ValidationError",
    "WsgiAuthError",
]

# RFC 9470 section 3: the session is valid, but its proof is not enough for the request.
INSUFFICIENT_AUTHENTICATION = "insufficient_user_authentication"
# RFC 6750 section 3.1: the API key is valid, but cannot be used for the request.
INSUFFICIENT_SCOPE = "insufficient_scope"


class WsgiAuthError(Exception):
    """The base class of every exception of wsgiauth."""


class ConfigurationError(WsgiAuthError, ValueError):
    """A setting is missing or invalid; the message names it and states the requirement.

    Attributes:
        problems: The mistakes, a sentence each; the message has one on each line.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


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
    detail: str = _("The request is invalid; see `errors`.")

    def __init__(self, errors: dict[str, list[str]]) -> None:
        super().__init__(" ".join(message for messages in errors.values() for message in messages))
        self.errors = errors


class TakenError(ValidationError):
    """Another user has the username or email address, or another group the name, in any case."""

    status = HTTPStatus.CONFLICT
    code = "taken"
    detail: str = _("The username or the email address is taken; see `errors`.")

    def __init__(self, errors: dict[str, list[str]]) -> None:
        super().__init__(errors)
        if "name" in errors:  # of a group
            self.detail = _("The group name is taken; see `errors`.")
        elif "username" not in errors:
            self.detail = _("The email address is taken; see `errors`.")


class ApplicationError(WsgiAuthError):
    """A function of the application failed, such as `on_registered`; nothing has changed.

    The message names the function, for developers; `__cause__` is its exception, if it raised one.
    Both are logged already.

    Attributes:
        status: The HTTP status of the response.
        code: A stable, machine-readable name of the cause.
        detail: One sentence for people.
    """

    status = HTTPStatus.INTERNAL_SERVER_ERROR
    code = "application_error"
    detail: str = _("An error occurred on this site. Its operator can find the details in the log.")


class ClaimsError(ApplicationError):
    """The application's `claims` function failed, or its result cannot be in a token.

    No session has begun or changed.
    """

    detail: str = _(
        "An error occurred on this site while you were logging in. Its operator can find the"
        " details in the log."
    )


class LastSuperuserError(WsgiAuthError):
    """A change would leave no active superuser."""

    def __init__(self, label: str) -> None:
        super().__init__(
            f"{label} is the last active superuser: make another user a superuser first"
        )


class InUseError(WsgiAuthError):
    """A user cannot be deleted, because a foreign key of the application refuses it."""

    def __init__(self, label: str) -> None:
        super().__init__(
            f"{label} cannot be deleted: data of the application refers to the account; delete"
            " that data first, or deactivate the account"
        )


class Again(NamedTuple):
    """A login at a provider that a button of a page begins again."""

    provider: str  # the name of its entry
    title: str
    destination: str  # a safe `next`, or empty
    remember: bool


class RequestError(WsgiAuthError):
    """A request to /auth is refused.

    Attributes:
        status: The HTTP status of the response.
        code: A stable, machine-readable name of the cause.
        detail: One sentence for people. It never repeats input of the client.
        headers: Additional headers of the response.
        pages: Internal: links for the user: their texts, by the path below the mount.
        again: Internal: the login that a button begins again, or None.
        errors: Internal: other mistakes in the fields of a form: messages, by field name.

    Example:
        error = RequestError(HTTPStatus.CONFLICT, "no_badges_left", _("All badges are given."))
    """

    errors: Mapping[str, list[str]] = MappingProxyType({})
    members: Mapping[str, object] = MappingProxyType({})
    pages: Mapping[str, str] = MappingProxyType({})
    again: Again | None = None

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


class NotFoundError(RequestError):
    """The path leads to nothing, or to nothing that the user is allowed to know about.

    Example:
        def find_badge(number: int) -> Badge:
            found = Badge.get_or_none(Badge.id == number)
            if found is None:
                raise NotFoundError
            return found
    """

    def __init__(self) -> None:
        detail = _("Check the address. The content may have been deleted.")
        super().__init__(HTTPStatus.NOT_FOUND, "not_found", detail)


class ForbiddenError(RequestError):
    """The user does not have the right for a change or a page.

    Example:
        error = ForbiddenError(_("You cannot give badges."))
    """

    def __init__(self, detail: str) -> None:
        super().__init__(HTTPStatus.FORBIDDEN, "forbidden", detail)


class UnauthenticatedError(RequestError):
    """A request needs a user who is logged in.

    Attributes:
        error: `invalid_token` (RFC 6750 section 3.1) if a token was presented and rejected.
        accepts_keys: Whether an API key would be accepted.

    Example:
        error = UnauthenticatedError("invalid_token")
    """

    def __init__(self, error: str | None, *, accepts_keys: bool = False) -> None:
        detail = _("Log in to open this page.")
        super().__init__(HTTPStatus.UNAUTHORIZED, error or "unauthenticated", detail)
        self.error = error
        self.accepts_keys = accepts_keys


class InsufficientAuthenticationError(RequestError):
    """A request needs a recent proof of the user's identity (RFC 9470).

    Attributes:
        max_age: How old the proof can be, in seconds.
        return_to: The page, below the mount, that follows the confirmation; "": the one that the
            browser asked for.

    Example:
        try:
            member = require_fresh(environ, site)
        except InsufficientAuthenticationError as error:
            print(f"The last proof is older than {error.max_age} seconds.")
    """

    def __init__(self, max_age: int, *, return_to: str = "") -> None:
        detail = _("Confirm that it is you, then try again.")
        super().__init__(HTTPStatus.UNAUTHORIZED, INSUFFICIENT_AUTHENTICATION, detail)
        self.max_age = max_age
        self.return_to = return_to


class UnmetDemandError(RequestError):
    """A session lacks something that the site, or a guard, demands; see `authentication.demands`.

    Attributes:
        page: The page, below the mount, on which the user meets the demand.
        is_final: Whether the user cannot meet it there; then the page is not offered.
        says_unsent: Whether the page says that a form was not processed; see `failures.RESEND`.
        reachable: What the session reaches nevertheless: paths below the mount, as the routes of
            endpoints have them.

    Example:
        error = UnmetDemandError(
            HTTPStatus.FORBIDDEN, "badges_required", _("Take a badge."), page="/badges"
        )
    """

    def __init__(
        self,
        status: HTTPStatus,
        code: str,
        detail: str,
        *,
        page: str,
        is_final: bool = False,
        says_unsent: bool = False,
        reachable: Iterable[str] = (),
        members: Mapping[str, object] = MappingProxyType({}),
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(status, code, detail, headers=headers)
        self.page: str = page
        self.is_final: bool = is_final
        self.says_unsent: bool = says_unsent
        self.reachable: frozenset[str] = frozenset(reachable)
        self.members = members


class KeyNotAcceptedError(RequestError):
    """A request needs a session, and came with an API key (RFC 6750 section 3.1).

    Example:
        if require_caller(environ, site).session_id is None:
            raise KeyNotAcceptedError
    """

    def __init__(self) -> None:
        detail = _("An API key cannot be used here. Log in instead.")
        super().__init__(HTTPStatus.FORBIDDEN, INSUFFICIENT_SCOPE, detail)


class RetryLaterError(RequestError):
    """A request is refused for a limited time, which `Retry-After` states."""

    def __init__(self, status: HTTPStatus, code: str, detail: str, *, seconds: int) -> None:
        super().__init__(status, code, detail, headers=(("Retry-After", str(seconds)),))
