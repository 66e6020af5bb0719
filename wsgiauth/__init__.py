"""Accounts for any WSGI application: `application = AuthMiddleware(app)`."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from wsgiauth.guards import login_required, permission_required
    from wsgiauth.middleware import AuthMiddleware
    from wsgiauth.models import User
    from wsgiauth.passwords import hash_password, verify_password
    from wsgiauth.settings import Settings

__version__ = "0.1.0"

__all__ = [
    "AuthMiddleware",
    "Settings",
    "User",
    "hash_password",
    "login_required",
    "permission_required",
    "verify_password",
]

_HOMES = {
    "AuthMiddleware": "middleware",
    "Settings": "settings",
    "User": "models",
    "hash_password": "passwords",
    "login_required": "guards",
    "permission_required": "guards",
    "verify_password": "passwords",
}


def __getattr__(name: str) -> Any:
    # Imported when they are asked for: pytest loads this package, for its plugin, in every run.
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"wsgiauth.{_HOMES[name]}"), name)
