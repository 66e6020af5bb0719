"""Accounts for any WSGI application: `application = AuthMiddleware(app)`."""

from wsgiauth.accounts import create_user, find_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.passwords import hash_password, verify_password
from wsgiauth.authentication.models import Session
from wsgiauth.authentication.password import change_password
from wsgiauth.guards import login_required, permission_required
from wsgiauth.logins import log_in, log_out
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.settings import Settings
from wsgiauth.version import __version__ as __version__

__all__ = [
    "AuthMiddleware",
    "Group",
    "Session",
    "Settings",
    "User",
    "change_password",
    "create_user",
    "find_user",
    "hash_password",
    "log_in",
    "log_out",
    "login_required",
    "permission_required",
    "verify_password",
]
