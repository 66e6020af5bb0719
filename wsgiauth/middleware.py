"""The one line that an application puts on: `AuthMiddleware(app)`.

A request comes in here and goes one of two ways: below the mount to the inner app, everywhere else
to the wrapped app, with the caller identified.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from wsgiauth import storage
from wsgiauth.app import AuthApp
from wsgiauth.connections import FAILURES
from wsgiauth.databases import file_risks
from wsgiauth.endpoints import Auth
from wsgiauth.events import Subscriber, client_address, subscribe
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.identity import NOBODY
from wsgiauth.responses import unavailable
from wsgiauth.settings import Settings

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
    - `webob.adhoc_attrs`: makes `webob.Request(environ).user` the same user.

    When the database is away, requests with credentials are answered 503; those without reach
    `app` as always.

    Args:
        app: The application to wrap.
        settings: `Settings`, a mapping of the same names, or None for the process environment.
        mount: The path below which wsgiauth answers.
        on_event: Called with each `events.Event` of this site's accounts, in the thread in which
            it happens; one that raises is logged and changes nothing. It should be quick: a login
            waits for it, and those behind it.

    Raises:
        ConfigurationError: A setting is missing or wrong, or the database cannot be used. The
            message names the setting.
    """

    def __init__(
        self,
        app: WSGIApplication,
        settings: Settings | Mapping[str, Any] | None = None,
        *,
        mount: str = "/auth",
        on_event: Subscriber | Iterable[Subscriber] = (),
    ) -> None:
        if not callable(app):
            raise ConfigurationError("app must be a WSGI application; this one cannot be called.")
        if not (isinstance(mount, str) and _MOUNT.fullmatch(mount)):
            raise ConfigurationError('mount must be a path such as "/auth".')
        subscribers = _callables(on_event)
        settings = _settings(settings)
        auth = Auth.from_settings(settings, mount)
        self._app = app
        self._mount = mount
        self._identifier = auth.identifier
        self._pages = auth.pages
        self._auth_app = AuthApp(auth)
        self._database = storage.open_database(settings.DATABASE_URL)
        subscribe(self._database, subscribers)
        for risk in settings.risks() + file_risks(self._database):
            logger.warning("%s", risk)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request, or pass it on (PEP 3333)."""
        database_before = storage.enter(self._database)
        address_before = client_address.set(environ.get("REMOTE_ADDR"))
        try:
            return self._respond(environ, start_response)
        finally:
            client_address.reset(address_before)
            storage.leave(self._database, database_before)

    def _respond(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        environ["wsgiauth.root"] = environ.get("SCRIPT_NAME", "")
        environ["wsgiauth.pages"] = self._pages
        path = environ.get("PATH_INFO", "")
        if path.startswith(self._mount) and path[len(self._mount) :][:1] in ("", "/"):
            return self._auth_app(self._below_mount(environ), start_response)
        try:
            self._identify(environ)
        except FAILURES as error:
            storage.report_failure(error)
            return unavailable(environ)(environ, start_response)
        return self._app(environ, start_response)

    def _below_mount(self, environ: WSGIEnvironment) -> WSGIEnvironment:
        return {
            **environ,
            "SCRIPT_NAME": environ.get("SCRIPT_NAME", "") + self._mount,
            "PATH_INFO": environ["PATH_INFO"][len(self._mount) :],
        }

    def _identify(self, environ: WSGIEnvironment) -> None:
        """Write into `environ` who is calling."""
        identity = self._identifier.identify(environ)
        if identity is not NOBODY:
            storage.release_connection()
        environ["wsgiauth.user"] = user = identity.user
        environ["wsgiauth.session"] = identity.session_id
        environ["wsgiauth.error"] = identity.error
        # A new dictionary each time: copies of a request share theirs.
        others = environ.get("webob.adhoc_attrs")
        environ["webob.adhoc_attrs"] = {
            **(others if isinstance(others, dict) else {}),
            "user": user,
        }
        if user is None:
            environ.pop("REMOTE_USER", None)
            environ.pop("AUTH_TYPE", None)
            return
        # PEP 3333: text in the environ is bytes, disguised as Latin-1.
        environ["REMOTE_USER"] = user.username.encode().decode("latin-1")
        environ["AUTH_TYPE"] = "Bearer"


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
