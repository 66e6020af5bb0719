"""Every table of the account database, and its schema before the first migration."""

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import (
    FormerPassword,
    GroupPermission,
    Key,
    Membership,
    OneTimeSecret,
    Permission,
    Session,
    TrustedBrowser,
)
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.features.factors.totp import Totp
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.provider_sessions import ProviderSession
from wsgiauth.mail.outbox import Mail
from wsgiauth.storage import schema
from wsgiauth.throttling.counts import AttemptCount
from wsgiauth.throttling.failed_logins import FailedLogins

# Tables come after those that they refer to.
MODELS = [User, Session, Permission, AttemptCount, Mail, OneTimeSecret, RecordedEvent, Totp]
MODELS += [Passkey, Key, Group, GroupPermission, Membership, FailedLogins, Identity]
MODELS += [ProviderSession, TrustedBrowser, FormerPassword]
MIGRATIONS = sorted(path.stem for path in schema.MIGRATIONS.glob("[0-9]*.py"))


def take_back_migrations(database):
    """Drop every table."""
    for model in reversed(MODELS):  # Peewee does not order those with deferred foreign keys
        model.drop_table()
    database.execute_sql("DROP TABLE wsgiauth_migration")
