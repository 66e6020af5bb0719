"""Identification: from the headers of a request to a user; also writes the cookies.

On the way of a request, `middleware` calls this module, which calls `sessions`.
"""

import logging
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import NamedTuple
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.models import User
from wsgiauth.authentication.demands import Demand, DemandError
from wsgiauth.authentication.sessions import Sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.events.actors import is_outage, report
from wsgiauth.exceptions import ApplicationError
from wsgiauth.parts import KERNEL
from wsgiauth.settings import Settings
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.web.cookies import (
    HOST_PREFIX,
    OwnCookie,
    TaggedCookie,
    cookie_value,
    has_rivals,
    is_tag,
    shared_prefix,
    tagged_cookies,
)
from wsgiauth.web.cross_origin import SAFE_METHODS, is_same_origin
from wsgiauth.web.readers import LANGUAGE_OF_USER, USER_OF_PAGE

# A browser keeps at most this many cookies of a kind, and this many characters of all kinds; the
# oldest go. Proxies refuse a header longer than `MAX_COOKIE_HEADER`, which would log the user out.
# A session cookie takes up to 4,096 characters, and cookies of the application need room. This is
# enough for one cookie with the longest `next`.
MOST_OF_A_KIND = 5
MOST_CHARACTERS = 3072

BEARER = "bearer"
LACKING = (
    "wsgiauth.lacking"  # in an environ: the session that `log_in` began, if it lacks something
)
COOKIE = "Cookie"  # as AUTH_TYPE; no registered scheme of HTTP (RFC 3875 section 4.1.1)

_SESSION = OwnCookie("", 0, is_shared=True)

_PAUSE = 60  # seconds between two lines about cookies that differ, in the log of a process
_MOST_READ = 2 * MOST_OF_A_KIND  # of a kind: requests at the same time can add more
_MOST_DELETED = 30  # headers of one response
_KIND = re.compile("(-[a-z]+-)[0-9a-f]{16}=")

logger = logging.getLogger("wsgiauth")


class CredentialKind(NamedTuple):
    """A kind of credentials that are not a session; a feature adds it."""

    scheme: str  # of the Authorization header, in lower case (RFC 9110 section 11.1)
    # Takes the credentials and the time in seconds since the epoch. Returns the user and the id of
    # the API key; None if the credentials are not valid.
    find: Callable[[str, int], tuple[User, str] | None]
    prefix: str = ""  # of the credentials, if other kinds have the same scheme
    is_ambient: bool = False  # whether browsers send them by themselves
    feature: str = KERNEL  # the name of its feature, which wsgiauth knows

    def conflicts_with(self, other: "CredentialKind") -> bool:
        """Return whether the same credentials can be of both kinds."""
        if self.scheme != other.scheme or self.scheme != BEARER:
            return self.scheme == other.scheme
        return self.prefix.startswith(other.prefix) or other.prefix.startswith(self.prefix)


class UserSession(NamedTuple):
    """A session's user and id.

    Example:
        member: UserSession = require_login(environ, site)
    """

    user: User
    session_id: str


class LackingSession(NamedTuple):
    """A session that lacks something, so that the client is anonymous to the application."""

    user: User
    session_id: str
    demand: Demand  # the first that it does not meet


class Identity(NamedTuple):
    """The user, and the session or the API key, that a request's credentials prove."""

    user: User | None = None  # active; None if the client is anonymous
    session_id: str | None = None
    # `invalid_token` (RFC 6750) if a token was presented and rejected; the `error` of the demand if
    # the session lacks something.
    error: str | None = None
    key_id: str | None = None
    lacking: LackingSession | None = None

    @property
    def session(self) -> UserSession | None:
        """The session that lacks nothing, if there is one."""
        if self.user is None or self.session_id is None:
            return None
        return UserSession(self.user, self.session_id)

    @property
    def any_session(self) -> UserSession | None:
        """The session that can be revoked, also if it lacks something, if there is one."""
        if self.lacking is not None:
            return UserSession(self.lacking.user, self.lacking.session_id)
        return self.session


ANONYMOUS = Identity()
_REJECTED = Identity(error="invalid_token")

# The values of an `Identity`. A plain tuple, because every request makes one.
_Caller = tuple[User | None, str | None, str | None, str | None, LackingSession | None]


class Identifier:
    """Reads the credentials of a request, and writes the login cookie."""

    def __init__(
        self,
        settings: Settings,
        tokens: Tokens,
        sessions: Sessions,
        credential_kinds: Iterable[CredentialKind] = (),
    ) -> None:
        kinds = tuple(credential_kinds)
        self._tokens = tokens
        self._plain_name = settings.COOKIE_NAME
        self._domain = settings.COOKIE_DOMAIN
        self._host_name = HOST_PREFIX + settings.COOKIE_NAME
        self._shared_name = shared_prefix(self._domain) + settings.COOKIE_NAME
        # Without the prefix, other hosts of the domain could set the cookies over plain http.
        self._always_secure = settings.COOKIE_SECURE == "on" or self._domain is not None
        self._trusted_origins = settings.TRUSTED_ORIGINS
        self._prefixed = [(each.prefix, each) for each in kinds if each.scheme == BEARER]
        self._schemes = {each.scheme: each for each in kinds if each.scheme != BEARER}
        self._sessions = sessions
        self._reported_at = -float(_PAUSE)

    def identify(self, environ: WSGIEnvironment) -> Identity:
        """Return the user of a request, and their session or API key.

        A session that lacks something is anonymous, but reads pages in the language of its user.
        The forms of a page in the response belong to the user of a session that lacks nothing.

        A bearer token (RFC 6750 section 2.1), valid or not, takes precedence over the cookie. So do
        the credentials of a `CredentialKind`. Credentials that browsers send by themselves, as the
        cookie, are ignored if another site sent the request with an unsafe method, or to open a
        WebSocket. Tokens in the query string or in forms are ignored.
        """
        identity = Identity(*self.find_caller(environ))
        owner = identity.user if identity.lacking is None else identity.lacking.user
        environ[LANGUAGE_OF_USER] = "" if owner is None else owner.language
        if identity.user is not None and identity.session_id is not None:
            environ[USER_OF_PAGE] = identity.user
        return identity

    def identify_anyway(self, environ: WSGIEnvironment) -> Identity:
        """Return the same, with a demand that fails as one that is not met.

        For what needs no admission, such as a logout.
        """
        try:
            return self.identify(environ)
        except DemandError as error:
            environ[LANGUAGE_OF_USER] = error.user.language
            lacking = LackingSession(error.user, error.session_id, error.demand)
            return Identity(error=error.demand.error, lacking=lacking)

    def language_of_user(self, environ: WSGIEnvironment) -> str:
        """Return the language of the user who sent a request; "" without, or without a database."""
        if LANGUAGE_OF_USER not in environ and "wsgiauth.user" in environ:  # of the application
            user: User | None = environ["wsgiauth.user"]
            return "" if user is None else user.language
        if LANGUAGE_OF_USER not in environ:
            environ[LANGUAGE_OF_USER] = ""  # stays if the database fails
            with suppress(*DATABASE_ERRORS, ApplicationError):
                self.identify_anyway(environ)
        language: str = environ[LANGUAGE_OF_USER]
        return language

    def number_of_user(self, environ: WSGIEnvironment) -> int:
        """Return the number of the user whose session sent a request, if it is known, or 0."""
        user = _user_of_page(environ)
        return 0 if user is None else user.id

    def label_of_user(self, environ: WSGIEnvironment) -> str:
        """Return the label of the user whose session sent a request, if it is known, or ""."""
        user = _user_of_page(environ)
        return "" if user is None else user.label

    def find_caller(self, environ: WSGIEnvironment, with_groups: bool = False) -> _Caller:
        """Return the values of `identify` as a tuple; see `Sessions.find` for `with_groups`."""
        authorization = environ.get("HTTP_AUTHORIZATION")
        token = None if authorization is None else bearer_token(authorization)
        if token is None:
            if authorization is not None and self._schemes:
                scheme, _, credentials = _parts_of(authorization)
                kind = self._schemes.get(scheme.lower())
                if kind is not None:
                    return self._read(environ, kind, credentials.strip(" "))
            cookie = environ.get("HTTP_COOKIE")
            token = self._own_cookie(environ, cookie) if cookie is not None else None
            if token is None:
                if cookie is not None and self.has_rival_cookies(environ):
                    self._report_rivals(environ)
                return ANONYMOUS
        else:
            for prefix, kind in self._prefixed:
                if token.startswith(prefix):
                    return self._read(environ, kind, token)
        return self._find_session(token, with_groups)

    def session_token(self, environ: WSGIEnvironment) -> str | None:
        """Return the token from which `identify` takes the session, valid or not, or None."""
        token = bearer_token(environ.get("HTTP_AUTHORIZATION", ""))
        return self._own_cookie(environ, environ.get("HTTP_COOKIE", "")) if token is None else token

    def lacking_session(self, token: str) -> LackingSession | None:
        """Return the session of a token if it lacks something that the site demands."""
        return self._find_session(token)[-1] if self._sessions.admission.demands else None

    def _find_session(self, token: str, with_groups: bool = False) -> _Caller:
        found = self._sessions.find(token, with_groups)
        if found is None:
            return _REJECTED
        user, session_id, unmet = found
        if unmet is not None:
            return None, None, unmet.error, None, LackingSession(user, session_id, unmet)
        return user, session_id, None, None, None

    def _read(self, environ: WSGIEnvironment, kind: CredentialKind, credentials: str) -> _Caller:
        if kind.is_ambient and not self._admits_ambient(environ):
            return ANONYMOUS
        try:
            found = kind.find(credentials, int(self._tokens.now()))
            if found is None:
                return _REJECTED
            user, key_id = found
            if not (isinstance(user, User) and isinstance(key_id, str)):
                raise TypeError("it returned no user with the id of an API key")
        except Exception as error:
            if is_outage(error):
                raise
            report("the credentials of %s failed: 500", kind.feature)
            raise ApplicationError(f"the credentials of {kind.feature} failed") from error
        return user, None, None, key_id, None

    def login_cookie(
        self, environ: WSGIEnvironment, token: str, max_age: int | None
    ) -> tuple[str, str]:
        """Return the header that stores `token` for `max_age` seconds; None: until closed."""
        return self._set_cookie(environ, _SESSION, token, max_age)

    def expired_cookie(self, environ: WSGIEnvironment) -> tuple[str, str]:
        """Return the header that deletes the cookie from the browser."""
        return self._set_cookie(environ, _SESSION, "", 0)

    def expired_former_cookie(self, environ: WSGIEnvironment) -> tuple[tuple[str, str], ...]:
        """Return the header that deletes a login cookie from before COOKIE_DOMAIN, if there is one.

        Its session would count again if COOKIE_DOMAIN was removed after a logout.
        """
        if self._domain is None or f"{self._host_name}=" not in environ.get("HTTP_COOKIE", ""):
            return ()
        return (self._set_cookie(environ, _SESSION._replace(is_shared=False), "", 0),)

    def own_cookie(
        self, environ: WSGIEnvironment, kind: OwnCookie, value: str, tag: str = ""
    ) -> tuple[str, str]:
        """Return the header that stores another cookie; an empty value deletes it."""
        age = kind.lifetime if value else 0
        return self._set_cookie(environ, kind, value, age, tag)

    def one_more_cookie(
        self, environ: WSGIEnvironment, kind: OwnCookie, cookie: TaggedCookie
    ) -> tuple[tuple[str, str], ...]:
        """Return the headers that store one more tagged cookie, and delete the oldest."""
        number, room = 1, MOST_CHARACTERS - self._size(environ, kind, cookie)
        deleted = []
        for each, other in self._tagged_cookies(environ)[:_MOST_DELETED]:
            size = self._size(environ, other, each)
            is_same = other.suffix == kind.suffix
            if size > room or (is_same and number == MOST_OF_A_KIND):
                deleted.append(self.own_cookie(environ, other, "", each.tag))
                continue
            room -= size
            number += is_same
        return (self.own_cookie(environ, kind, cookie.value, cookie.tag), *deleted)

    def sent_cookie(self, environ: WSGIEnvironment, kind: OwnCookie, tag: str = "") -> str:
        """Return the value of another cookie, or an empty string; see `identify`."""
        if kind.is_tagged and not is_tag(tag):
            return ""
        return self._own_cookie(environ, environ.get("HTTP_COOKIE", ""), kind, tag) or ""

    def sent_cookies(self, environ: WSGIEnvironment, kind: OwnCookie) -> list[TaggedCookie]:
        """Return the tagged cookies of a kind that a request has, the newest first."""
        start = self._name_of(environ, kind)
        sent = tagged_cookies(environ.get("HTTP_COOKIE", ""), start)[:_MOST_READ]
        return sent if sent and self._admits_ambient(environ) else []

    def _tagged_cookies(self, environ: WSGIEnvironment) -> list[tuple[TaggedCookie, OwnCookie]]:
        """Return the tagged cookies of all kinds, the newest first."""
        kinds = {OwnCookie(each, 0) for each in _KIND.findall(environ.get("HTTP_COOKIE", ""))}
        sent = [(each, kind) for kind in kinds for each in self.sent_cookies(environ, kind)]
        return sorted(sent, reverse=True)

    def has_rival_cookies(self, environ: WSGIEnvironment) -> bool:
        """Return whether a request has login cookies with different values, and is anonymous."""
        return has_rivals(environ.get("HTTP_COOKIE", ""), self.cookie_name(environ))

    def cookie_name(self, environ: WSGIEnvironment) -> str:
        """Return the name of the login cookie, which has a prefix over https."""
        return self._shared_name if self._is_https(environ) else self._plain_name

    def _name_of(self, environ: WSGIEnvironment, kind: OwnCookie) -> str:
        secure_name = self._shared_name if kind.is_shared else self._host_name
        return (secure_name if self._is_https(environ) else self._plain_name) + kind.suffix

    def _is_https(self, environ: WSGIEnvironment) -> bool:
        return self._always_secure or environ["wsgi.url_scheme"] == "https"

    def _own_cookie(
        self, environ: WSGIEnvironment, header: str, kind: OwnCookie = _SESSION, tag: str = ""
    ) -> str | None:
        value = cookie_value(header, self._name_of(environ, kind) + tag)
        return value if value is None or self._admits_ambient(environ) else None

    def _size(self, environ: WSGIEnvironment, kind: OwnCookie, cookie: TaggedCookie) -> int:
        return len(f"{self._name_of(environ, kind)}{cookie.tag}={cookie.value}; ")

    def _report_rivals(self, environ: WSGIEnvironment) -> None:
        """Log once a minute, because the browser sends the cookies with each request."""
        now = self._tokens.now()
        if 0 <= now - self._reported_at < _PAUSE:
            return
        self._reported_at = now
        logger.warning(
            "a request with two cookies called %s and different values is anonymous: another site"
            " of this domain may have set one of them",
            self.cookie_name(environ),
        )

    def _admits_ambient(self, environ: WSGIEnvironment) -> bool:
        """Return whether credentials that browsers send by themselves count."""
        # A WebSocket begins with GET, and browsers let pages of any site open one.
        is_safe = environ["REQUEST_METHOD"] in SAFE_METHODS and "HTTP_UPGRADE" not in environ
        return is_safe or is_same_origin(environ, self._trusted_origins)

    def _set_cookie(
        self,
        environ: WSGIEnvironment,
        kind: OwnCookie,
        value: str,
        max_age: int | None,
        tag: str = "",
    ) -> tuple[str, str]:
        name = self._name_of(environ, kind) + tag
        secure = "; Secure" if self._is_https(environ) else ""
        domain = f" Domain={self._domain};" if self._domain and kind.is_shared else ""
        age = "" if max_age is None else f" Max-Age={max_age};"
        cookie = f"{name}={value};{age}{domain} Path=/; HttpOnly; SameSite=Lax{secure}"
        return "Set-Cookie", cookie


def set_caller(
    environ: WSGIEnvironment,
    user: User | None = None,
    session_id: str | None = None,
    error: str | None = None,
    key_id: str | None = None,
    *,
    auth_type: str | None = None,
) -> None:
    """Set the keys of `environ` that name the caller; see `middleware.AuthMiddleware`.

    `auth_type` names a credential other than the one that `identify` has read.
    """
    environ["wsgiauth.user"] = environ["bottle.request.ext.user"] = user
    environ["wsgiauth.session"] = session_id
    environ["wsgiauth.key"] = key_id
    environ["wsgiauth.error"] = error
    attributes = {"user": user}
    if "webob.adhoc_attrs" in environ and isinstance(environ["webob.adhoc_attrs"], dict):
        # A new dictionary, because copies of a request share the old one.
        attributes = {**environ["webob.adhoc_attrs"], **attributes}
    environ["webob.adhoc_attrs"] = attributes
    # An application that reads REMOTE_USER cannot know the limits of a key.
    if user is not None and key_id is None:
        # PEP 3333: strings in the environ are bytes decoded as Latin-1.
        name = user.username
        environ["REMOTE_USER"] = name if name.isascii() else name.encode().decode("latin-1")
        environ["AUTH_TYPE"] = auth_type or _auth_type(environ)
        return
    if "REMOTE_USER" in environ:
        del environ["REMOTE_USER"]
    if "AUTH_TYPE" in environ:
        del environ["AUTH_TYPE"]


def _auth_type(environ: WSGIEnvironment) -> str:
    if "HTTP_COOKIE" in environ and bearer_token(environ.get("HTTP_AUTHORIZATION", "")) is None:
        return COOKIE
    return "Bearer"


def bearer_token(authorization: str) -> str | None:
    """Return the token in an Authorization header, or None if the scheme is not Bearer.

    The scheme is matched in any letter case (RFC 9110 section 11.1). The token can be empty or
    malformed; `Tokens` verifies it.
    """
    if authorization.startswith("Bearer "):  # the usual spelling
        return authorization[7:].strip(" \t")
    scheme, _, credentials = _parts_of(authorization)
    return credentials.strip(" ") if scheme.lower() == BEARER else None


def _parts_of(authorization: str) -> tuple[str, str, str]:
    return authorization.replace("\t", " ").strip(" ").partition(" ")


def _user_of_page(environ: WSGIEnvironment) -> User | None:
    user: User | None = environ.get("wsgiauth.user")  # of the application
    if user is not None:
        return user if environ["wsgiauth.session"] else None
    page_user: User | None = environ.get(USER_OF_PAGE)
    return page_user
