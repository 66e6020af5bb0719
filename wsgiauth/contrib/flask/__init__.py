"""Flask: `WSGIAuth(app)` puts `AuthMiddleware` around `app.wsgi_app`; guards protect views."""

import functools
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

from flask import Flask, has_request_context, request

from wsgiauth import storage
from wsgiauth.arguments import refuse_unknown
from wsgiauth.contrib.flask.guards import (
    current_user,
    guard_blueprint,
    login_required,
    permission_required,
    refuse_unguarded,
    watch_routes,
)
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.storage.connections import AccountDatabase, discard_connection, roll_back_forgotten

__all__ = ["WSGIAuth", "current_user", "guard_blueprint", "login_required", "permission_required"]


class WSGIAuth:
    """Adds accounts to Flask apps.

    It wraps `app.wsgi_app` in `AuthMiddleware`, so that `flask run`, every server and
    `app.test_client()` pass through it, and offers `current_user` to templates. The middleware is
    in `app.extensions["wsgiauth"]`. Sessions and forms of Flask stay as they are.

    Each setting is taken from the keywords, else from `app.config`, else from the process
    environment. A None that Flask itself puts into `app.config` counts as missing.

    Args:
        app: The app; None if `init_app` gets it.
        options: `Settings`, and the arguments of `AuthMiddleware`, by their names.

    Raises:
        TypeError: There is no such argument.
        ConfigurationError: See `AuthMiddleware`. Also raised for an unknown setting, if `app` is
            not of Flask, and if Flask-SocketIO was added to it before.
    """

    def __init__(self, app: Flask | None = None, **options: Any) -> None:
        self._settings = {name: value for name, value in options.items() if name.isupper()}
        self._arguments = {name: options[name] for name in options.keys() - self._settings.keys()}
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        """Add accounts to an app, for example in its factory. Several apps can share the object.

        Raises:
            ConfigurationError: See the class.
        """
        if "socketio" in app.extensions:
            # The events of a connection keep its first environ, so that a logout is never seen.
            raise ConfigurationError(
                "Call WSGIAuth before SocketIO: in the events of a connection, current_user would"
                " otherwise stay logged in after a logout."
            )
        settings = _settings_of(app, self._settings)
        refuse_unknown(self._settings, settings)
        middleware = AuthMiddleware(app.wsgi_app, settings, **self._arguments)
        app.extensions["wsgiauth"] = middleware
        # Methods of the app that can be replaced, but are no variables to mypy.
        app.__dict__["wsgi_app"] = middleware
        app.__dict__["async_to_sync"] = _ending_connections(app.async_to_sync, middleware.database)
        has_gate = any(self._arguments.get(name) is not None for name in ("public", "require"))
        app.__dict__["request_context"] = _checking(app, app.request_context, has_gate=has_gate)
        app.context_processor(_template_values)
        watch_routes(app)


def _checking(
    app: Flask, request_context: Callable[[Any], Any], *, has_gate: bool
) -> Callable[[Any], Any]:
    """Return a `Flask.request_context` that refuses an app with a view that is open by mistake.

    The routes and Flask-SocketIO can be added after `WSGIAuth`. Flask makes this context for each
    request, and Flask-SocketIO for each event; no error handler of the app can hide the mistake.
    """
    checked = 0

    def checking_request_context(environ: Any) -> Any:
        nonlocal checked
        if has_gate and "socketio" in app.extensions:
            raise ConfigurationError(
                "Flask-SocketIO answers its connections in front of WSGIAuth, so `public` and"
                " `require` cannot protect them: use guards instead."
            )
        if checked != len(app.view_functions):
            refuse_unguarded(app)
            checked = len(app.view_functions)
        return request_context(environ)

    return checking_request_context


def _settings_of(app: Flask, given: Mapping[str, object]) -> dict[str, object]:
    configured = {
        name: "" if value is None else value  # "" is "not set"
        for name, value in app.config.items()  # also names that are perhaps misspelt
        if value is not None or name not in app.default_config
    }
    return {**os.environ, **configured, **given}


def _template_values() -> dict[str, object]:
    environ = request.environ if has_request_context() else {"wsgiauth.user": None}
    return {"current_user": environ.get("wsgiauth.user", current_user)}


def _ending_connections(
    async_to_sync: Callable[[Any], Callable[..., Any]], database: AccountDatabase
) -> Callable[[Any], Callable[..., Any]]:
    """Return a `Flask.async_to_sync` that closes the database connections of async views.

    Flask runs each call in a thread of its own, which would leave its connection open.
    """

    def ending_async_to_sync(function: Any) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            caller = threading.get_ident()

            async def ending() -> Any:
                try:
                    return await function(*args, **kwargs)
                finally:
                    if threading.get_ident() != caller:
                        _end_connection(database)

            return async_to_sync(ending)()

        return call

    return ending_async_to_sync


def _end_connection(database: AccountDatabase) -> None:
    if database.has_open_transaction():
        roll_back_forgotten(database)
    storage.release_connection(database)  # to its pool, if it has one
    discard_connection(database)
