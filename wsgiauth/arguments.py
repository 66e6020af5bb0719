"""Checks the arguments of `AuthMiddleware`, which come from an application's source."""

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeGuard

from wsgiauth.accounts import names
from wsgiauth.challenges import ANONYMOUS
from wsgiauth.events import Subscriber
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings import Settings

_MOUNT = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+")


def is_mount(mount: object) -> TypeGuard[str]:
    """Return whether `mount` is a path below which wsgiauth can answer."""
    return isinstance(mount, str) and _MOUNT.fullmatch(mount) is not None


def check_arguments(app: object, mount: object, challenge: object, send_mail: object) -> None:
    """Raise ConfigurationError if one of them is of the wrong type or form."""
    if not callable(app):
        raise ConfigurationError("app must be a WSGI application; this one is not callable.")
    if not is_mount(mount):
        raise ConfigurationError('mount must be a path such as "/auth".')
    if not isinstance(challenge, bool) and challenge != ANONYMOUS:  # the string "off" is true
        raise ConfigurationError(f'challenge must be True, False or "{ANONYMOUS}".')
    if not (send_mail is None or callable(send_mail)):
        raise ConfigurationError("send_mail must be a callable.")


def list_permissions(permissions: object) -> list[str]:
    """Return the permissions that the application declares.

    Raises:
        ConfigurationError: The argument is no list of permissions; the message names the wrong one.
    """
    if isinstance(permissions, str | bytes) or not isinstance(permissions, Iterable):
        raise ConfigurationError('permissions must be a list, such as ("reports.publish",).')
    declared = list(permissions)
    for each in declared:
        if not (isinstance(each, str) and names.is_permission(each)):
            raise ConfigurationError(
                f'permissions: each must have the form "<app>.<action>", such as'
                f' "reports.publish", not {each!r}.'
            )
    return declared


def read_settings(settings: Settings | Mapping[str, Any] | None) -> Settings:
    """Return the settings; None reads the process environment.

    Raises:
        ConfigurationError: A setting is invalid, or the argument is of another type.
    """
    if settings is None:
        return Settings.for_server(os.environ)
    if isinstance(settings, Settings):
        return settings
    if isinstance(settings, Mapping):
        return Settings.for_server(settings)
    raise ConfigurationError("settings must be a Settings object, a mapping or None.")


def list_subscribers(on_event: Subscriber | Iterable[Subscriber]) -> list[Subscriber]:
    """Return the subscribers, of which there may be one or several.

    Raises:
        ConfigurationError: One of them is not callable.
    """
    if callable(on_event):
        return [on_event]
    subscribers = list(on_event) if isinstance(on_event, Iterable) else [on_event]
    if not all(map(callable, subscribers)):
        raise ConfigurationError("on_event must be a callable or an iterable of callables.")
    return subscribers
