"""Tools for tests of your application: users, groups, logged-in clients, emails and webhooks.

`pytest_plugin` offers them as fixtures. `application` is always the `AuthMiddleware` (in Flask,
`app.wsgi_app`), and `user` one of its users; None: the user `ada`, who is created if missing. Every
function raises TypeError for other objects.
"""

from wsgiauth.testing.apps import AppClient, app_client
from wsgiauth.testing.documents import client_documents
from wsgiauth.testing.factors import Authenticator, add_authenticator, recovery_codes
from wsgiauth.testing.features import check_feature
from wsgiauth.testing.hooks import Sent, webhooks
from wsgiauth.testing.logins import api_key, bearer, logged_in
from wsgiauth.testing.mails import Mails, mailbox
from wsgiauth.testing.people import make_group, make_user, provider_account
from wsgiauth.testing.settings import make_settings

__all__ = [
    "AppClient",
    "Authenticator",
    "Mails",
    "Sent",
    "add_authenticator",
    "api_key",
    "app_client",
    "bearer",
    "check_feature",
    "client_documents",
    "logged_in",
    "mailbox",
    "make_group",
    "make_settings",
    "make_user",
    "provider_account",
    "recovery_codes",
    "webhooks",
]
