"""The checks of the arguments of `AuthMiddleware`, and of nested ones with the same mount.

An `AuthMiddleware` that is hidden in other middleware is found only by a request.
"""

import functools
import inspect
import logging
import os
from collections.abc import Iterable, Mapping
from typing import Any
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import names
from wsgiauth.accounts.registration import require_function
from wsgiauth.challenges import ANONYMOUS
from wsgiauth.events import Subscriber
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings, class_for
from wsgiauth.settings.kinds import declarations
from wsgiauth.settings.misspelt import misspelt_settings
from wsgiauth.site import Site
from wsgiauth.web.urls import is_mount

logger = logging.getLogger("wsgiauth")


def check_arguments(
    app: object,
    mount: object,
    challenge: object,
    send_mail: object,
    claims: object,
    personal_data: object,
    id_claims: object,
) -> None:
    """Raise ConfigurationError if an argument is invalid."""
    if not callable(app) or inspect.iscoroutinefunction(app):
        problem = "asynchronous" if callable(app) else "not callable"
        raise ConfigurationError(f"app must be a WSGI application; this one is {problem}.")
    if not is_mount(mount):
        raise ConfigurationError('mount must be a path such as "/auth".')
    if not isinstance(challenge, bool) and challenge != ANONYMOUS:  # the string "off" is true
        raise ConfigurationError(f'challenge must be True, False or "{ANONYMOUS}".')
    functions = {
        "send_mail": send_mail,
        "claims": claims,
        "personal_data": personal_data,
        "id_claims": id_claims,
    }
    for name, function in functions.items():
        if function is not None:
            require_function(function, name)


def checked_permissions(permissions: Iterable[str]) -> list[str]:
    """Return the permissions that the application declares, or raise ConfigurationError."""
    if isinstance(permissions, str) or not isinstance(permissions, Iterable):
        raise ConfigurationError('permissions must be a list, such as ("reports.publish",).')
    declared = list(permissions)
    for each in declared:
        if not names.is_permission(each):
            raise ConfigurationError(
                f'permissions: each must have the form "<app>.<action>", such as'
                f' "reports.publish", not {each!r}.'
            )
    return declared


def read_settings(settings: Settings | Mapping[str, object] | None) -> Settings:
    """Return the settings, or raise ConfigurationError; None reads the process environment.

    Names that are probably misspelt are logged first, because they can cause the error.
    """
    if isinstance(settings, Settings):
        return settings
    if not (settings is None or isinstance(settings, Mapping)):
        raise ConfigurationError("settings must be Settings, a mapping of their names, or None.")
    mapping = os.environ if settings is None else settings
    for risk in misspelt_settings(mapping):
        logger.warning("%s", risk)
    return Settings.for_server(mapping)


def refuse_unknown(names: Iterable[str], mapping: Mapping[str, object]) -> None:
    """Raise ConfigurationError for a name that is no setting of a mapping, or of its FEATURES."""
    unknown = set(names) - declarations(class_for(mapping, Settings)).keys()
    if unknown:
        raise ConfigurationError(
            f"{', '.join(sorted(unknown))}: wsgiauth has no setting with this name."
        )


def checked_subscribers(on_event: Subscriber | Iterable[Subscriber]) -> list[Subscriber]:
    """Return the subscribers, or raise ConfigurationError if one is no function."""
    if callable(on_event) or not isinstance(on_event, Iterable):
        on_event = [on_event]
    subscribers = list(on_event)
    for each in subscribers:
        require_function(each, "on_event")
    return subscribers


def unwrapped(app: Any) -> object:
    """Return the WSGI callable inside guards, decorators and partials."""
    while isinstance(app, functools.partial) or hasattr(app, "__wrapped__"):
        app = app.func if isinstance(app, functools.partial) else app.__wrapped__
    return app


def refuse_nested(environ: WSGIEnvironment, site: Site) -> None:
    """Raise ConfigurationError if an outer middleware with the URL of `site` sent this request."""
    outer = environ["wsgiauth.site"]
    # The key can be forged, or be our own if `app` sends its request through us again.
    if not isinstance(outer, Site) or outer is site:
        return
    root = environ.get("wsgiauth.root", "")
    if root + outer.pages.mount == environ.get("SCRIPT_NAME", "") + site.pages.mount:
        raise nested_error(site.pages.mount)


def nested_error(mount: str) -> ConfigurationError:
    """Return the error for two middlewares that are both mounted at `mount`."""
    return ConfigurationError(
        f"An AuthMiddleware is inside another one with the same mount, {mount}: the outer one"
        " answers all requests below it, so no user can log in to the inner one. Remove one of"
        " them, or give them different mounts. WSGIAuth of Flask adds one, too."
    )
