"""Detects an `AuthMiddleware` inside another one with the same mount.

`middleware` asks once when it is created, and once more for each request of an outer middleware,
because only a request shows what is hidden in other middleware.
"""

import functools
from typing import Any
from wsgiref.types import WSGIEnvironment

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.site import Site


def unwrapped(app: Any) -> object:
    """Return the WSGI callable inside guards, decorators and partials."""
    while isinstance(app, functools.partial) or hasattr(app, "__wrapped__"):
        app = app.func if isinstance(app, functools.partial) else app.__wrapped__
    return app


def refuse_nested(environ: WSGIEnvironment, site: Site) -> None:
    """Raise if a middleware with the same URL has already handled this request.

    Args:
        environ: The request, with the outer middleware's `wsgiauth.site` and `wsgiauth.root`.
        site: The site of the inner middleware.

    Raises:
        ConfigurationError: The inner middleware can never be reached.
    """
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
        " them, or give them different mounts."
    )
