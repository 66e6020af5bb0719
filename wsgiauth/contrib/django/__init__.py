"""Django's adapter: `request.user` is a row of Django's user model, kept up to date by wsgiauth.

On the way of a request, `AuthMiddleware` identifies the user, Django's AuthenticationMiddleware
runs, and then `WSGIAuthMiddleware` replaces `request.user`.

Django imports this package before its models can be imported, so the names are imported on use.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from wsgiauth.contrib.django.backends import WSGIAuthBackend
    from wsgiauth.contrib.django.decorators import login_required, permission_required
    from wsgiauth.contrib.django.middleware import WSGIAuthMiddleware
    from wsgiauth.contrib.django.rows import connect, row_of

__all__ = [
    "WSGIAuthBackend",
    "WSGIAuthMiddleware",
    "connect",
    "login_required",
    "permission_required",
    "row_of",
]

_MODULES = {
    "WSGIAuthBackend": "backends",
    "WSGIAuthMiddleware": "middleware",
    "connect": "rows",
    "login_required": "decorators",
    "permission_required": "decorators",
    "row_of": "rows",
}


def __getattr__(name: str) -> object:
    """Import a name when it is first used (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
