"""The base class of every URL below /auth, and the checks of who sent a request."""

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import ClassVar, NamedTuple, TypeVar
from wsgiref.types import WSGIEnvironment

from wsgiauth import events
from wsgiauth.access import refusal_of
from wsgiauth.accounts.models import User
from wsgiauth.authentication.federated_logins import Connected
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.second_factors import Factor
from wsgiauth.events import actors, kinds
from wsgiauth.events.actors import feature_code
from wsgiauth.exceptions import (
    InsufficientAuthenticationError,
    KeyNotAcceptedError,
    NotFoundError,
    RequestError,
    UnauthenticatedError,
)
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Answer, Problem, Scheme, Tag
from wsgiauth.openapi.callers import ACCOUNTS
from wsgiauth.openapi.problems import (
    FACTOR_DEMANDED,
    KEY_NOT_ACCEPTED,
    NO_SESSION,
    NOT_FRESH,
    TO_CONFIRM,
    TO_LOGIN,
    TO_LOGIN_OR_CONFIRM,
    UNAVAILABLE,
)
from wsgiauth.parts import KERNEL
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.cors import CrossOrigin
from wsgiauth.web.cross_origin import is_prefetch, is_same_origin
from wsgiauth.web.pages import Around
from wsgiauth.web.readers import USER_OF_PAGE
from wsgiauth.web.request import JSON, content_type, read_json
from wsgiauth.web.responses import Response
from wsgiauth.web.urls import ROUTE, Router, mount_url
from wsgiauth.web.www_authenticate import challenge

Handler = Callable[[WSGIEnvironment, Site], Response]

_Part = TypeVar("_Part")


class State(NamedTuple):
    """The state of what a link on the account page leads to, in few words.

    Example:
        state = State(_("Complete"), kind="good")
    """

    text: str
    kind: str = ""  # "good", "bad" or empty


class Overview(NamedTuple):
    """What the account page has read about its user, for the states of its links.

    Attributes:
        is_verified: Whether the email address is; None where the site sends no email.
        passkeys: The passkeys.
        factors: The second factors.
        codes_left: How many recovery codes there are.
        connected: Internal: the accounts of providers.

    Example:
        def state_of(overview: Overview) -> State | None:
            number = Badge.select().where(Badge.user == overview.user.id).count()
            return State(ngettext("One badge", "%(num)s badges", number)) if number else None
    """

    user: User
    site: Site
    is_verified: bool | None
    passkeys: Sequence[Factor] = ()
    factors: Sequence[Factor] = ()
    codes_left: int = 0
    connected: Sequence[Connected] = ()


class AccountLink(NamedTuple):
    """A link on the account page.

    Example:
        link = AccountLink(PROGRAMS, _("Badges"), _("See the badges that you have."), icon="check")
    """

    group: str  # the heading above it
    title: str
    text: str  # a sentence about the page that it leads to
    place: int = 0  # in the group, in ascending order
    icon: str = "app"  # see the macro `icon`
    # Returns the state, or None without one. It makes one statement at most; the page leaves out
    # the state of a function that fails.
    state: Callable[[Overview], State | None] | None = None


class BackLink(NamedTuple):
    """A link that leads back from a page.

    Example:
        back = BackLink("badges", _("Back to your badges"))
    """

    path: str  # below the mount; `{id}` stands for the id in the path of the page
    text: str

    def filled(self, arguments: Mapping[str, str]) -> "BackLink":
        """Return the link for a page whose path has these named parts."""
        return BackLink(self.path.format(**arguments), self.text)


LOGIN, SECURITY, PROGRAMS = _("How you log in"), _("Security"), _("Programs")
STAFF, LEAVING = _("Administration"), _("Leaving")


class Endpoint:
    """A URL below /auth. A subclass has a `Handler` named `get`, one named `post`, or both.

    `app` turns their exceptions into responses.

    Attributes:
        account_link: Its link on the account page.
        is_for_staff: Whether only the staff sees the link; call `require_staff`, too.
        is_sensitive: Whether a form needs a recent proof of identity, as by `require_fresh`.
        needs_factor: Whether only users with a second factor see the link.
        failures: Its own failures, for the OpenAPI document; those of `problems` are there anyway.
            What a form refuses, such as `THROTTLED`, is in `Form.refusals` instead.
        tag: The group of its operations in that document.
        step: The purpose of the page, unless the title of the link says it.
        back: The link of its error pages.
        hides_address: Whether the URL has a secret, which no Referer must contain.
        cross_origin: The pages of other origins that can read the answers (CORS).
        answers_any_method: Whether it answers each method as GET.
        answers_head: Whether it answers HEAD as GET, without a body.
        ignores_credentials: Whether no credentials are looked up, whatever the method, so that they
            cost no query.
        is_navigation: Whether links of emails and other sites lead a browser here. So GET and HEAD
            are for people whatever `Accept` says, and have the session of the cookie alone.

    Example:
        class NumberOfBadges(Endpoint):
            def get(self, environ: WSGIEnvironment, site: Site) -> Response:
                return json_response({"number": Badge.select().count()})
    """

    account_link: ClassVar[AccountLink | None] = None
    is_for_staff: ClassVar[bool] = False
    is_sensitive: ClassVar[bool] = False
    needs_factor: ClassVar[bool] = False
    failures: ClassVar[tuple[Problem, ...]] = ()
    tag: ClassVar[Tag] = ACCOUNTS
    step: ClassVar[str] = ""
    back: ClassVar[BackLink] = BackLink("account", _("Back to your account"))
    hides_address: ClassVar[bool] = False
    cross_origin: ClassVar[CrossOrigin | None] = None
    answers_any_method: ClassVar[bool] = False
    answers_head: ClassVar[bool] = True
    ignores_credentials: ClassVar[bool] = False
    is_navigation: ClassVar[bool] = False

    def is_offered(self, settings: Settings) -> bool:
        """Return whether a site with these settings has this URL."""
        return True

    def variant(self, settings: Settings) -> "Endpoint":
        """Return the endpoint that answers here on a site with these settings; usually `self`."""
        return self

    def link_for(self, user: User) -> AccountLink | None:
        """Return the `account_link` for this user."""
        return self.account_link

    def step_in_words(self, arguments: Mapping[str, str], user: User) -> str:
        """Return the purpose of the page for a user, in words; empty if it has none."""
        link = self.link_for(user)
        return self.step or (link.title if link else "")

    def name_in(self, arguments: Mapping[str, str]) -> str:
        """Return the name of the user or group that the page is about; empty if it has none."""
        return ""

    def around(self, environ: WSGIEnvironment, user: User, back: BackLink) -> Around:
        """Return the frame of an error page for a user. Internal."""
        return Around("member.html", f"{mount_url(environ)}/{back.path}", back.text)

    def problems(self, method: str) -> tuple[Problem | Answer, ...]:
        """Return the failures, and how browsers are led on, for the OpenAPI document.

        Args:
            method: `get` or `post`.
        """
        return (*self.failures, UNAVAILABLE)

    def security(self, method: str) -> tuple[Scheme | None, ...]:
        """Return the security schemes of which a request needs one; None: or none of them."""
        return ()

    @property
    def handlers(self) -> dict[str, Handler]:
        """The handlers by HTTP method."""
        names = ("get", "post")
        return {name.upper(): getattr(self, name) for name in names if hasattr(self, name)}


Place = tuple[Endpoint, Mapping[str, str]]  # with the named parts of the path


class SiteMap:
    """Finds endpoints by their paths, as a user sees them.

    Args:
        endpoints: By path.
        owners: The names of the features by their endpoints.
    """

    def __init__(self, endpoints: Mapping[str, Endpoint], owners: Mapping[Endpoint, str]) -> None:
        self._router = Router(endpoints)
        self._owners = owners
        self._most_parts = max(path.count("/") for path in endpoints)

    def owner(self, endpoint: Endpoint) -> str:
        """Return the name of the feature of an endpoint."""
        return self._owners.get(endpoint, KERNEL)

    def find(self, path: str, user: User, settings: Settings) -> Place | None:
        """Return the endpoint at a path, or None if it does not exist for the user."""
        found = self._router.find(path)
        if found is None or (found[0].is_for_staff and not user.is_staff):
            return None
        with feature_code(self.owner(found[0]), f"the page of {type(found[0]).__name__}"):
            return found if found[0].is_offered(settings) else None
        return None

    def nearest(self, path: str, user: User, settings: Settings) -> Place:
        """Return the endpoint at a path, or at the nearest one above it."""
        # Cut first, because a client can send hundreds of thousands of parts.
        parts = path.split("/", self._most_parts + 1)[: self._most_parts + 1]
        for count in range(len(parts), 1, -1):
            found = self.find("/".join(parts[:count]), user, settings)
            if found is not None:
                return found
        return Endpoint(), {}


class Caller(NamedTuple):
    """The user who sent a request, by a session or by an API key.

    Example:
        def is_by_key(caller: Caller) -> bool:
            return caller.session_id is None
    """

    user: User
    session_id: str | None  # None with an API key
    key_id: str  # empty with a session


def require_caller(environ: WSGIEnvironment, site: Site) -> Caller:
    """Return the user who sent a request, also by an API key.

    Raises:
        UnauthenticatedError: The client is anonymous.
        UnmetDemandError: The session lacks something that the site demands.

    Example:
        caller = require_caller(environ, site)
    """
    identity = site.identifier.identify(environ)
    if identity.lacking is not None:
        raise refusal_of(identity.lacking, environ)
    if identity.user is None:
        raise UnauthenticatedError(identity.error, accepts_keys=True)
    return Caller(identity.user, identity.session_id, identity.key_id or "")


def problems_of_session(method: str, *, is_fresh: bool = False) -> tuple[Problem | Answer, ...]:
    """Return what `require_login` or `require_fresh` answers, for the OpenAPI document.

    Example:
        class FreshBadges(Endpoint):
            def problems(self, method: str) -> tuple[Problem | Answer, ...]:
                return (*super().problems(method), *problems_of_session(method, is_fresh=True))
    """
    common = (NO_SESSION, FACTOR_DEMANDED, KEY_NOT_ACCEPTED)
    if not is_fresh:
        return (TO_LOGIN, *common)
    led_on = (TO_LOGIN_OR_CONFIRM,) if method == "get" else (TO_LOGIN, TO_CONFIRM)
    return (*led_on, NO_SESSION, NOT_FRESH, *common[1:])


def require_login(
    environ: WSGIEnvironment, site: Site, *, admits_lacking: bool = True
) -> UserSession:
    """Return the user who sent a request, and their session.

    The user becomes the actor of changes, and the owner of the forms in the response.

    Args:
        admits_lacking: Whether to accept a session that lacks something where the demand leaves the
            path of the request reachable.

    Raises:
        UnauthenticatedError: The client is anonymous.
        UnmetDemandError: The session lacks something that the site demands.
        KeyNotAcceptedError: An API key sent the request, and could exceed its permissions.

    Example:
        member = require_login(environ, site)
    """
    identity = site.identifier.identify(environ)
    if identity.lacking is not None:
        unmet = refusal_of(identity.lacking, environ)
        if not admits_lacking or environ[ROUTE] not in unmet.reachable:
            raise unmet
    if identity.key_id is not None:
        raise KeyNotAcceptedError
    session = identity.any_session
    if session is None:
        raise UnauthenticatedError(identity.error)
    actors.identify(session.user.id)
    environ[USER_OF_PAGE] = session.user  # also if the session lacks something
    return session


def require_fresh(environ: WSGIEnvironment, site: Site, *, return_to: str = "") -> UserSession:
    """Call `require_login`, and require a proof that is not older than FRESH_MINUTES.

    Args:
        return_to: The page, below the mount, to which the browser goes after the confirmation; "":
            the one that it asked for.

    Raises:
        InsufficientAuthenticationError: The proof is older.

    Example:
        member = require_fresh(environ, site, return_to="badges")
    """
    session = require_login(environ, site)
    if not site.freshness.is_fresh(session.session_id):
        raise InsufficientAuthenticationError(site.freshness.max_age, return_to=return_to)
    return session


def require_same_origin(environ: WSGIEnvironment, site: Site) -> None:
    """Raise `RequestError` (403) if a page of another site sent the request.

    Example:
        require_same_origin(environ, site)
    """
    if not is_same_origin(environ, site.settings.TRUSTED_ORIGINS):
        raise refused(
            "cross_origin", _("This request came from another site, so nothing was done.")
        )


def require_not_in_advance(environ: WSGIEnvironment) -> None:
    """Raise `RequestError` (403) if a browser fetches what its user has not opened.

    Example:
        require_not_in_advance(environ)
    """
    if is_prefetch(environ):
        raise refused(
            "prefetch", _("The browser sent this request in advance, so nothing was done.")
        )


def require_opened(environ: WSGIEnvironment, *destinations: str, admits_head: bool = False) -> None:
    """Raise `RequestError` (403) for an image or another part of a page of this site.

    Any user may have written such a part. Older browsers and programs do not say for what they
    request something.

    Args:
        destinations: The accepted values of `Sec-Fetch-Dest` (W3C Fetch Metadata).
        admits_head: Whether to accept HEAD, because GET changes nothing.

    Example:
        require_opened(environ, "document")
    """
    is_opened = environ.get("HTTP_SEC_FETCH_DEST", destinations[0]) in destinations
    is_probe = environ["REQUEST_METHOD"] == "HEAD" and not admits_head
    if is_probe or not is_opened:
        detail = _("This address was loaded as part of another page, so nothing was done.")
        raise refused("embedded", detail)


def refused(code: str, detail: str) -> RequestError:
    """Emit an event about a refused request, and return the 403."""
    events.emit(kinds.REFUSED, reason=code.replace("_", "-"))
    return RequestError(HTTPStatus.FORBIDDEN, code, detail)


def unauthorized(code: str, detail: str) -> RequestError:
    """Return the 401 for credentials that are not accepted (RFC 6750 section 3)."""
    return RequestError(HTTPStatus.UNAUTHORIZED, code, detail, headers=(challenge(None),))


def read_json_alone(environ: WSGIEnvironment) -> dict[str, object]:
    """Return the JSON object in the body, and refuse a form."""
    if content_type(environ) != JSON:
        raise RequestError(
            HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
            "unsupported_media_type",
            _("The Content-Type must be %(type)s.", type=JSON),
        )
    return read_json(environ)


def require_part(part: _Part | None) -> _Part:
    """Return a part that the URL needs, such as `Site.outbox`, or raise NotFoundError.

    Example:
        outbox = require_part(site.outbox)
    """
    if part is None:
        raise NotFoundError
    return part
