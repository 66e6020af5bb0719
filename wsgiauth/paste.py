"""PasteDeploy: `use = egg:wsgi-accounts` in the `[filter:…]` section of an ini file."""

import os
from collections.abc import Mapping
from dataclasses import fields
from wsgiref.types import WSGIApplication

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.setting_values import parse_bool
from wsgiauth.settings import Settings


def filter_app_factory(
    app: WSGIApplication, global_config: Mapping[str, str], **settings: str
) -> AuthMiddleware:
    """Wrap `app`, with the section's options as settings (`paste.filter_app_factory`).

    Settings that the section does not have come from the process environment, such as the
    SECRET_KEY, which should not be in a file.

    Args:
        app: The application behind the filter.
        global_config: The ini file's `[DEFAULT]` section; not used.
        settings: `Settings` by their names, `mount`, and `challenge` (`on` or `off`).

    Raises:
        ConfigurationError: See `AuthMiddleware`. Also raised for an unknown option.
    """
    mount = settings.pop("mount", "/auth")
    challenge = parse_bool("challenge", settings.pop("challenge", "off"))
    unknown = settings.keys() - {each.name for each in fields(Settings)}
    if unknown:
        raise ConfigurationError(f"{', '.join(sorted(unknown))}: there is no such setting.")
    return AuthMiddleware(app, {**os.environ, **settings}, mount=mount, challenge=challenge)
