"""The base class of every URL below /auth, and the checks of who sent a request."""

from collections.abc import Callable
from http import HTTPStatus
from typing import ClassVar, NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.authentication.identity import UserSession
from wsgiauth.events import actors
from wsgiauth.exceptions import (
    InsufficientAuthenticationError,
    KeyNotAcceptedError,
    RequestError,
    UnauthenticatedError,
)
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.step_up import second_factor_missing
from wsgiauth.web.cross_origin import is_same_origin
from wsgiauth.web.responses import Response

Handler = Callable[[WSGIEnvironment, Site], Response]


class AccountLink(NamedTuple):
    """A link on the page of the account.

    Attributes:
        title: What it says.
        text: One sentence about the page that it leads to.
    """

    title: str
    text: str


class Endpoint:
    """A URL below /auth. Subclasses have a method `get`, a method `post`, or both.

    Each takes the request's environ and the `Site`, and returns a `Response`. It raises what it
    cannot answer; `app` turns exceptions into responses.

    Attributes:
        hides_address: Whether its address has a secret, which no referrer may show.
        account_link: The link to it on the page of the account, or None.
        is_for_staff: Whether only members of the staff see this link.
        needs_factor: Whether only users with a second factor see this link.
    """

    hides_address: ClassVar[bool] = False
    account_link: ClassVar[AccountLink | None] = None
    is_for_staff: ClassVar[bool] = False
    needs_factor: ClassVar[bool] = False

    def is_offered(self, settings: Settings) -> bool:
        """Return whether a site with these settings has this URL."""
        return True

    def variant(self, settings: Settings) -> "Endpoint":
        """Return what answers at this URL on a site with these settings; usually this object."""
        return self

    @property
    def handlers(self) -> dict[str, Handler]:
        """The functions that answer, by HTTP method."""
        names = ("get", "post")
        return {name.upper(): getattr(self, name) for name in names if hasattr(self, name)}


def require_login(
    environ: WSGIEnvironment, site: Site, *, admits_incomplete: bool = False
) -> UserSession:
    """Return the user who sent a request, and their session; the user is the actor of its changes.

    An API key is not enough: it would do more than its permissions.

    Args:
        environ: The request.
        site: The site.
        admits_incomplete: Whether to accept a session without the second factor that the site
            demands, unless the user has one of a type that is switched off.

    Raises:
        UnauthenticatedError: The client is anonymous.
        SecondFactorMissingError: The session lacks the second factor that the site demands.
        KeyNotAcceptedError: The request came with an API key.
    """
    identity = site.identifier.identify(environ)
    if identity.incomplete is not None:
        missing = second_factor_missing(identity.incomplete.user, site)
        if missing.is_switched_off or not admits_incomplete:
            raise missing
    if identity.key_id is not None:
        raise KeyNotAcceptedError
    login = identity.any_login
    if login is None:
        raise UnauthenticatedError(identity.error)
    actors.identify(login.user.id)
    return login


def require_fresh(
    environ: WSGIEnvironment, site: Site, *, admits_incomplete: bool = False
) -> UserSession:
    """Return the user who sent a request and proved recently who they are, and their session.

    Raises:
        InsufficientAuthenticationError: The last proof is older than FRESH_MINUTES. For the other
            errors, see `require_login`.
    """
    login = require_login(environ, site, admits_incomplete=admits_incomplete)
    if not site.freshness.is_fresh(login.session_id):
        raise InsufficientAuthenticationError(site.freshness.max_age)
    return login


def require_same_origin(environ: WSGIEnvironment, site: Site) -> None:
    """Refuse a request that another site's page sent.

    Raises:
        RequestError: 403.
    """
    if is_same_origin(environ, site.settings.TRUSTED_ORIGINS):
        return
    events.emit("refused", reason="cross-origin")
    raise RequestError(
        HTTPStatus.FORBIDDEN,
        "cross_origin",
        "This request came from another site, so nothing was done.",
    )
