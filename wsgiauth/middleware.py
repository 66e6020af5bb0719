"""The middleware that an application is wrapped in: `AuthMiddleware(app)`.

Requests below the mount go to the inner app. All others are identified and go to the wrapped app.
"""

import functools
import logging
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from types import MethodType
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from peewee import Database
from playhouse.pool import PooledDatabase

from wsgiauth import storage
from wsgiauth.app import AuthApp
from wsgiauth.authentication.identity import ANONYMOUS, Identity
from wsgiauth.challenges import ChallengingApp
from wsgiauth.endpoints import Auth
from wsgiauth.events import Subscriber, subscribe
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings
from wsgiauth.storage.connections import DATABASE_ERRORS
from wsgiauth.storage.context import DatabaseUses, enter, last_used, leave, use
from wsgiauth.storage.databases import file_risks
from wsgiauth.web.caching import start_private
from wsgiauth.web.failures import unavailable
from wsgiauth.web.pages import Pages

logger = logging.getLogger("wsgiauth")

_MOUNT = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+")


class AuthMiddleware:
    """Adds accounts to any WSGI application.

    wsgiauth answers requests below `mount`. All others reach `app` with these keys in `environ`,
    which replace any that are already there:

    - `wsgiauth.user`: the `User` who sent the request, or None.
    - `wsgiauth.session`: the id of their session, or None.
    - `wsgiauth.error`: `invalid_token` (RFC 6750 section 3.1) if a token was presented and
      rejected, otherwise None.
    - `wsgiauth.root`, `wsgiauth.pages`: for the guards.
    - `REMOTE_USER` and `AUTH_TYPE`: the username and `Bearer`; absent for anonymous clients.
    - `webob.adhoc_attrs`, `bottle.request.ext.user`: make `request.user` the same user in WebOb
      and Bottle.

    While the database is unavailable, requests with credentials get 503; those without reach `app`
    as usual.

    Args:
        app: The application to wrap.
        settings: `Settings`, a mapping of the same names, or None for the process environment.
        mount: The path below which wsgiauth answers.
        challenge: Whether to replace a 401 of `app` by the challenge or, for a browser, by a
            redirect to the login page: see `challenges.ChallengingApp`.
        on_event: Called with each `events.Event` of this site's accounts, in the thread in which
            it happens. An exception in it is logged and has no other effect. It should be fast,
            because a login waits for it.

    Attributes:
        auth: The objects that the settings configure: see `endpoints.Auth`.
        database: The account database, a Peewee `Database`.

    Raises:
        ConfigurationError: A setting is missing or wrong, or the database cannot be used; the
            message names the setting. Also raised if `app` is an `AuthMiddleware` with the same
            mount; if only a request can show that, the request raises it.
    """

    def __init__(
        self,
        app: WSGIApplication,
        settings: Settings | Mapping[str, Any] | None = None,
        *,
        mount: str = "/auth",
        challenge: bool = False,
        on_event: Subscriber | Iterable[Subscriber] = (),
    ) -> None:
        if not callable(app):
            raise ConfigurationError("app must be a WSGI application; this one is not callable.")
        if not (isinstance(mount, str) and _MOUNT.fullmatch(mount)):
            raise ConfigurationError('mount must be a path such as "/auth".')
        if not isinstance(challenge, bool):  # the string "off" is true
            raise ConfigurationError("challenge must be True or False.")
        _refuse_to_nest(app, mount)
        subscribers = _callables(on_event)
        settings = _settings(settings)
        self.auth = Auth.from_settings(settings, mount)
        self._app = ChallengingApp(app, f"{mount}/login") if challenge else app
        self._mount = mount
        self._identify = self.auth.identifier.identify
        self._pages = self.auth.pages
        self._auth_app = AuthApp(self.auth)
        self.database = storage.open_database(settings.DATABASE_URL)
        self._is_pooled = isinstance(self.database, PooledDatabase)
        subscribe(self.database, subscribers)
        for risk in settings.risks() + file_risks(self.database):
            logger.warning("%s", risk)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request, or pass it on (PEP 3333)."""
        if "wsgiauth.pages" in environ:
            self._refuse_to_be_nested(environ)
        uses: DatabaseUses = {}
        entered = enter((self.database, environ, uses))
        try:
            environ["wsgiauth.root"] = environ.get("SCRIPT_NAME", "")
            environ["wsgiauth.pages"] = self._pages
            path = environ.get("PATH_INFO", "")
            if path.startswith(self._mount) and path[len(self._mount) :][:1] in ("", "/"):
                return self._auth_app(self._below_mount(environ), start_response)
            identity = ANONYMOUS
            if "HTTP_AUTHORIZATION" in environ or "HTTP_COOKIE" in environ:
                try:
                    identity = self._identify(environ)
                except DATABASE_ERRORS as error:
                    storage.report_failure(error)
                    return unavailable(environ)(environ, start_response)
                if self._is_pooled:
                    storage.release_connection(self.database)
                if identity.user is not None:  # a bound method is faster to call than a partial
                    start_response = MethodType(start_private, start_response)
            _set_identity(environ, identity)
            answer = self._app(environ, start_response)
            if (uses or self._is_pooled) and _is_streamed(answer, environ):
                return self._streamed(answer, uses)
            return answer
        finally:
            leave(entered)
            if last_used() is not self.database:
                use(self.database)  # for a response that is still being streamed
            if uses or self._is_pooled:
                storage.roll_back_left_open(uses)
                storage.release_connection(self.database)

    def _refuse_to_be_nested(self, environ: WSGIEnvironment) -> None:
        """Raise if an outer `AuthMiddleware` is mounted at the same URL."""
        outer = environ["wsgiauth.pages"]
        # The key can be forged, or be our own if `app` sends its request through us again.
        if not isinstance(outer, Pages) or outer is self._pages:
            return
        root = environ.get("wsgiauth.root", "")
        if root + outer.mount == environ.get("SCRIPT_NAME", "") + self._mount:
            raise _nested(self._mount)

    def _streamed(self, answer: Iterable[bytes], uses: DatabaseUses) -> Iterable[bytes]:
        """Return `answer`, wrapped if it can still use a connection or a transaction."""
        if not (self._is_pooled or storage.is_left_open(uses)):
            return answer
        own = self.database, threading.get_ident()
        ongoing = {own: self.database.has_open_transaction(), **uses}
        uses.clear()  # the answer can still end its transaction
        return _Streamed(answer, self.database, ongoing)

    def _below_mount(self, environ: WSGIEnvironment) -> WSGIEnvironment:
        return {
            **environ,
            "SCRIPT_NAME": environ.get("SCRIPT_NAME", "") + self._mount,
            "PATH_INFO": environ["PATH_INFO"][len(self._mount) :],
        }


class _Streamed:
    """A streamed response body; its database connection is released when the server closes it.

    Args:
        answer: The application's response body.
        database: The account database, whose connection goes back to its pool, if it has one.
        uses: The databases whose open transactions are rolled back.
    """

    def __init__(self, answer: Iterable[bytes], database: Database, uses: DatabaseUses) -> None:
        self._answer = answer
        self._database = database
        self._uses = uses

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        """Close the application's response body, then release its connection (PEP 3333)."""
        try:
            if hasattr(self._answer, "close"):
                self._answer.close()
        finally:
            storage.roll_back_left_open(self._uses)
            storage.release_connection(self._database)


def _refuse_to_nest(app: Any, mount: str) -> None:
    """Raise if `app`, without guards and partials, is an `AuthMiddleware` with this mount."""
    while isinstance(app, functools.partial) or hasattr(app, "__wrapped__"):
        app = app.func if isinstance(app, functools.partial) else app.__wrapped__
    if isinstance(app, AuthMiddleware) and app.auth.pages.mount == mount:
        raise _nested(mount)


def _nested(mount: str) -> ConfigurationError:
    return ConfigurationError(
        f"An AuthMiddleware is inside another one with the same mount, {mount}: the outer one"
        " answers all requests below it, so no user can log in to the inner one. Remove one of"
        " them, or give them different mounts."
    )


def _is_streamed(answer: Iterable[bytes], environ: WSGIEnvironment) -> bool:
    """Return whether application code can run while the server sends the answer."""
    return not isinstance(answer, list | tuple) and type(answer) is not environ.get(
        "wsgi.file_wrapper"
    )


def _set_identity(environ: WSGIEnvironment, identity: Identity) -> None:
    user, environ["wsgiauth.session"], environ["wsgiauth.error"] = identity
    environ["wsgiauth.user"] = environ["bottle.request.ext.user"] = user
    attributes = {"user": user}
    if "webob.adhoc_attrs" in environ and isinstance(environ["webob.adhoc_attrs"], dict):
        # A new dictionary, because copies of a request share the old one.
        attributes = {**environ["webob.adhoc_attrs"], **attributes}
    environ["webob.adhoc_attrs"] = attributes
    if user is not None:
        # PEP 3333: strings in the environ are bytes decoded as Latin-1.
        name = user.username
        environ["REMOTE_USER"] = name if name.isascii() else name.encode().decode("latin-1")
        environ["AUTH_TYPE"] = "Bearer"
        return
    if "REMOTE_USER" in environ:
        del environ["REMOTE_USER"]
    if "AUTH_TYPE" in environ:
        del environ["AUTH_TYPE"]


def _callables(on_event: Subscriber | Iterable[Subscriber]) -> list[Subscriber]:
    if callable(on_event):
        return [on_event]
    subscribers = list(on_event) if isinstance(on_event, Iterable) else [on_event]
    if not all(map(callable, subscribers)):
        raise ConfigurationError("on_event must be a callable or an iterable of callables.")
    return subscribers


def _settings(settings: Settings | Mapping[str, Any] | None) -> Settings:
    if settings is None:
        return Settings.from_environ()
    if isinstance(settings, Settings):
        return settings
    if isinstance(settings, Mapping):
        return Settings.from_mapping(settings)
    raise ConfigurationError("settings must be a Settings object, a mapping or None.")
