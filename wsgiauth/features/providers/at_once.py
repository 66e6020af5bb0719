"""Accounts that a login at a provider creates without a page: `register=at_once`.

A browser comes back from a provider by GET. What permits the change is the form of this site that
began the login: its cookie is in this browser, and its `state` is used up.
"""

from wsgiauth.accounts import find_user
from wsgiauth.accounts.models import User
from wsgiauth.features.providers.oidc import Provider
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.unclaimed import (
    create_account,
    is_creation_open,
    proposed_username,
    verified_address,
)
from wsgiauth.forms import Submission
from wsgiauth.web.cross_origin import is_top_level


def register_at_once(
    submission: Submission, provider: Provider, account: ProviderAccount
) -> User | None:
    """Create a user for an account that no user has; return None if something must be asked.

    Raises:
        ValidationError, RequestError, ApplicationError: See `unclaimed.create_account`.
    """
    email = verified_address(account)
    username = proposed_username(account) if submission.site.settings.USERNAMES else None
    if not email or username == "" or not _is_open(submission, provider):
        return None
    if find_user(email) is not None:
        return None
    return create_account(submission, None, account, username, email)


def _is_open(submission: Submission, provider: Provider) -> bool:
    environ, site = submission.environ, submission.site
    return (
        provider.entry.register == "at_once"
        and is_creation_open(site, provider)
        and not site.registration.fields  # TERMS_VERSION adds one
        and not site.settings.TERMS_URL  # the page says that a new account accepts them
        and is_top_level(environ)
        and site.identifier.identify_anyway(environ).any_session is None
    )
