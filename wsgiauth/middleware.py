"""The one line that an application puts on: `AuthMiddleware(app)`.

A request comes in here and goes one of two ways: below the mount to the inner app, everywhere else
to the wrapped app, with the caller identified.
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
from wsgiauth.authentication.identity import NOBODY, Identity
from wsgiauth.challenges import ChallengingApp
from wsgiauth.endpoints import Auth
from wsgiauth.events import Subscriber, subscribe
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings
from wsgiauth.storage.connections import FAILURES
from wsgiauth.storage.context import DatabaseUses, enter, last_used, leave, use
from wsgiauth.storage.databases import file_risks
from wsgiauth.web.caching import start_private
from wsgiauth.web.failures import unavailable
from wsgiauth.web.pages import Pages

logger = logging.getLogger("wsgiauth")

_MOUNT = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+")


class AuthMiddleware:
    """Gives any WSGI application accounts.

    Requests below `mount` are answered by wsgiauth. All others reach `app` with these keys, set
    anew on every request, so that nothing in front can pass for us:

    - `wsgiauth.user`: the `User` who is calling, or None.
    - `wsgiauth.session`: the id of their login, or None.
    - `wsgiauth.error`: `invalid_token` (RFC 6750 section 3.1) when a token was presented and not
      accepted, otherwise None.
    - `wsgiauth.root`, `wsgiauth.pages`: what the guards need to answer.
    - `REMOTE_USER` and `AUTH_TYPE`: the username and `Bearer`; absent for nobody.
    - `webob.adhoc_attrs`, `bottle.request.ext.user`: make `request.user` the same user where
      requests are WebOb's or Bottle's.

    When the database is away, requests with credentials are answered 503; those without reach
    `app` as always.

    Args:
        app: The application to wrap.
        settings: `Settings`, a mapping of the same names, or None for the process environment.
        mount: The path below which wsgiauth answers.
        challenge: Whether a 401 of `app` itself becomes the challenge, or for a browser the
            redirect to the login page: see `challenges.ChallengingApp`.
        on_event: Called with each `events.Event` of this site's accounts, in the thread in which
            it happens; one that raises is logged and changes nothing. It should be quick: a login
            waits for it, and those behind it.

    Attributes:
        auth: What the settings made: see `endpoints.Auth`.
        database: The account database, as Peewee knows it.

    Raises:
        ConfigurationError: A setting is missing or wrong, or the database cannot be used. The
            message names the setting. Or `app` is an `AuthMiddleware` with the same mount; where
            that shows only in a request, the request raises it.
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
            raise ConfigurationError("app must be a WSGI application; this one cannot be called.")
        if not (isinstance(mount, str) and _MOUNT.fullmatch(mount)):
            raise ConfigurationError('mount must be a path such as "/auth".')
        if not isinstance(challenge, bool):  # "off" would turn it on
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
            identity = NOBODY
            if "HTTP_AUTHORIZATION" in environ or "HTTP_COOKIE" in environ:
                try:
                    identity = self._identify(environ)
                except FAILURES as error:
                    storage.report_failure(error)
                    return unavailable(environ)(environ, start_response)
                if self._is_pooled:
                    storage.release_connection(self.database)
                if identity.user is not None:  # bound, because a partial takes longer to call
                    start_response = MethodType(start_private, start_response)
            _tell(environ, identity)
            answer = self._app(environ, start_response)
            if (uses or self._is_pooled) and _is_streamed(answer, environ):
                return self._streamed(answer, uses)
            return answer
        finally:
            leave(entered)
            if last_used() is not self.database:
                use(self.database)  # for an answer that is only now being streamed
            if uses or self._is_pooled:
                storage.roll_back_left_open(uses)
                storage.release_connection(self.database)

    def _refuse_to_be_nested(self, environ: WSGIEnvironment) -> None:
        """Raise if an outer `AuthMiddleware` answers where this one has its login page."""
        outer = environ["wsgiauth.pages"]
        # What is in front may have forged the key; this site's application may repeat a request.
        if not isinstance(outer, Pages) or outer is self._pages:
            return
        root = environ.get("wsgiauth.root", "")
        if root + outer.mount == environ.get("SCRIPT_NAME", "") + self._mount:
            raise _nested(self._mount)

    def _streamed(self, answer: Iterable[bytes], uses: DatabaseUses) -> Iterable[bytes]:
        """Return `answer`, wrapped if it may still hold a connection or a transaction."""
        if not (self._is_pooled or storage.is_left_open(uses)):
            return answer
        own = self.database, threading.get_ident()
        ongoing = {own: self.database.has_open_transaction(), **uses}
        uses.clear()  # the answer may yet end its transaction
        return _Streamed(answer, self.database, ongoing)

    def _below_mount(self, environ: WSGIEnvironment) -> WSGIEnvironment:
        return {
            **environ,
            "SCRIPT_NAME": environ.get("SCRIPT_NAME", "") + self._mount,
            "PATH_INFO": environ["PATH_INFO"][len(self._mount) :],
        }


class _Streamed:
    """An answer that is made while it is sent, after which its connection is used no more.

    Args:
        answer: The application's.
        database: Its connection goes back to the pool, if it has one.
        uses: The databases whose forgotten transactions are rolled back.
    """

    def __init__(self, answer: Iterable[bytes], database: Database, uses: DatabaseUses) -> None:
        self._answer = answer
        self._database = database
        self._uses = uses

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._answer)

    def close(self) -> None:
        """Close the answer, as the server does with every one (PEP 3333)."""
        try:
            if hasattr(self._answer, "close"):
                self._answer.close()
        finally:
            storage.roll_back_left_open(self._uses)
            storage.release_connection(self._database)


def _refuse_to_nest(app: Any, mount: str) -> None:
    """Raise if `app` is an `AuthMiddleware` with this mount, perhaps in guards or partials."""
    while isinstance(app, functools.partial) or hasattr(app, "__wrapped__"):
        app = app.func if isinstance(app, functools.partial) else app.__wrapped__
    if isinstance(app, AuthMiddleware) and app.auth.pages.mount == mount:
        raise _nested(mount)


def _nested(mount: str) -> ConfigurationError:
    return ConfigurationError(
        f"An AuthMiddleware is inside another one with the same mount, {mount}: the outer one"
        " answers its login page, so no user can log in to the inner one. Remove one of them, or"
        " give them different mounts."
    )


def _is_streamed(answer: Iterable[bytes], environ: WSGIEnvironment) -> bool:
    """Return whether something runs while the answer is sent; a server knows its own files."""
    return not isinstance(answer, list | tuple) and type(answer) is not environ.get(
        "wsgi.file_wrapper"
    )


def _tell(environ: WSGIEnvironment, identity: Identity) -> None:
    """Write into `environ` who is calling."""
    user, environ["wsgiauth.session"], environ["wsgiauth.error"] = identity
    environ["wsgiauth.user"] = environ["bottle.request.ext.user"] = user
    attributes = {"user": user}
    if "webob.adhoc_attrs" in environ and isinstance(environ["webob.adhoc_attrs"], dict):
        # Into a new dictionary, for copies of a request share theirs.
        attributes = {**environ["webob.adhoc_attrs"], **attributes}
    environ["webob.adhoc_attrs"] = attributes
    if user is not None:
        # PEP 3333: strings in the environ are bytes, decoded as Latin-1.
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
        raise ConfigurationError("on_event must be a callable, or several.")
    return subscribers


def _settings(settings: Settings | Mapping[str, Any] | None) -> Settings:
    if settings is None:
        return Settings.from_environ()
    if isinstance(settings, Settings):
        return settings
    if isinstance(settings, Mapping):
        return Settings.from_mapping(settings)
    raise ConfigurationError("settings must be a Settings, a mapping of its names, or None.")
