"""Accounts for any WSGI application: `application = AuthMiddleware(app)`."""

import wsgiauth.drivers  # noqa: F401 - before anything else imports Peewee
from wsgiauth.accounts import delete_user, find_user, update_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.passwords import hash_password, verify_password
from wsgiauth.accounts.registration import Field
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication.id_claims import OAuthClient
from wsgiauth.authentication.password import change_password
from wsgiauth.authentication.sessions import end_sessions
from wsgiauth.features.former_passwords.people import create_user
from wsgiauth.guards import login_required, permission_required
from wsgiauth.logins import authenticate, claims, current_user, log_in, log_out, reader_language
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.settings import Settings
from wsgiauth.version import __version__ as __version__

__all__ = [
    "AuthMiddleware",
    "Field",
    "Group",
    "OAuthClient",
    "Session",
    "Settings",
    "User",
    "authenticate",
    "change_password",
    "claims",
    "create_user",
    "current_user",
    "delete_user",
    "end_sessions",
    "find_user",
    "hash_password",
    "log_in",
    "log_out",
    "login_required",
    "permission_required",
    "reader_language",
    "update_user",
    "verify_password",
]
