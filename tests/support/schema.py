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
from wsgiauth.features.oauth_server.tables import (
    AppSession,
    Client,
    Consent,
    DeviceRequest,
    Grant,
)
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.provider_sessions import ProviderSession
from wsgiauth.features.terms.tables import Acceptance
from wsgiauth.mail.outbox import Mail
from wsgiauth.storage import schema
from wsgiauth.throttling.counts import AttemptCount
from wsgiauth.throttling.failed_logins import FailedLogins

# Tables come after those that they refer to.
MODELS = [User, Session, Permission, AttemptCount, Mail, OneTimeSecret, RecordedEvent, Totp]
MODELS += [Passkey, Key, Group, GroupPermission, Membership, FailedLogins, Identity]
MODELS += [ProviderSession, TrustedBrowser, FormerPassword, Client, Consent, Grant]
MODELS += [AppSession, DeviceRequest, Acceptance]
MIGRATIONS = sorted(path.stem for path in schema.MIGRATIONS.glob("[0-9]*.py"))
LAST_BEFORE_1_0 = "0012_email_domains"


def take_back_migrations(database):
    """Drop every table."""
    for model in reversed(MODELS):  # Peewee does not order those with deferred foreign keys
        model.drop_table()
    database.execute_sql("DROP TABLE wsgiauth_migration")


def record(database, *migrations):
    """Let these migrations be the applied ones, of the tables as they are."""
    database.execute_sql("DELETE FROM wsgiauth_migration")
    for name in migrations:
        insert = "INSERT INTO wsgiauth_migration (name, applied) VALUES ('{}', '2026-01-01')"
        database.execute_sql(insert.format(name))
