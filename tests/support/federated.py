"""A user without a password, and their sessions that began at a provider."""

from dataclasses import replace

from tests.support.identities import account
from tests.support.logins import valid_session_ids
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.provider_sessions import ProviderLogin
from wsgiauth.storage import context
from wsgiauth.testing import logged_in


def remove_password(user):
    """Let a user have no password, whatever ends with the old one; return them."""
    User.update(hashed_password="", security_stamp=User.security_stamp).where(
        User.id == user.id
    ).execute()
    return User.get_by_id(user.id)


def connected(site, user, **changes):
    """Return the row of a provider's account that a user has connected."""
    with context.using(site.database):
        return identities.connect(user, account(**changes), site.site.tokens.now())


def logged_in_at_provider(site, user, identity, *, ago=0, sid=""):
    """Return a browser whose session began at a provider.

    Args:
        ago: How many seconds ago the user logged in there; None: the provider does not say.
    """
    with context.using(site.database):
        before, browser = valid_session_ids(), logged_in(site, user)
        (session_id,) = valid_session_ids() - before
        now = int(site.site.tokens.now())
        at = {"provider": identity.provider, "issuer": identity.issuer, "sid": sid}
        seen = account(identity.subject, **at, authenticated_at=None if ago is None else now - ago)
        login = ProviderLogin.of(seen)
        login.record(session_id, is_first=True)
        proof = {"methods": "fed", "authenticated_at": login.proven_at(now)}
        Session.update(proof).where(Session.id == session_id).execute()
    return browser


def with_providers(settings, *entries):
    """Return settings with these entries of OIDC_PROVIDERS."""
    return replace(settings, OIDC_PROVIDERS=entries, PUBLIC_URL="http://localhost")
