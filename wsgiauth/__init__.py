"""Accounts for any WSGI application: `application = AuthMiddleware(app)`."""

__version__ = "0.1.0"

from wsgiauth.accounts import change_password, create_user, find_user
from wsgiauth.accounts.models import Session, User
from wsgiauth.accounts.passwords import hash_password, verify_password
from wsgiauth.guards import login_required, permission_required
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.settings import Settings

__all__ = [
    "AuthMiddleware",
    "Session",
    "Settings",
    "User",
    "change_password",
    "create_user",
    "find_user",
    "hash_password",
    "login_required",
    "permission_required",
    "verify_password",
]
