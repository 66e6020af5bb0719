"""Accounts for any WSGI application: `application = AuthMiddleware(app)`."""

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
