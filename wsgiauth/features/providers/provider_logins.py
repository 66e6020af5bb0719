"""Logins by an account of a provider: the end of those that a password begins, too."""

from http import HTTPStatus

from wsgiauth import events
from wsgiauth.accounts.models import User
from wsgiauth.authentication.methods import has_second_factor
from wsgiauth.exceptions import ProviderError, RequestError
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.identities import Identity
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.provider_sessions import ProviderLogin
from wsgiauth.forms import Submission
from wsgiauth.forms.handover import hand_over, start_browser_session
from wsgiauth.forms.proofs import ask_for_second_step
from wsgiauth.messages import _
from wsgiauth.web.responses import Response


def log_in(submission: Submission, identity: Identity, account: ProviderAccount) -> Response:
    """Start the session of the user who has an identity, or ask for their second factor first.

    Args:
        submission: Of the browser in which the provider has logged the user in.
        identity: The row of the account, with its user.
        account: What the provider says of it.

    Raises:
        RequestError: The user is deactivated, or has just changed.
        RetryLaterError: The user logs in too often.
    """
    site, user = submission.site, identity.user
    require_active(user)
    site.throttle.login_without_password(user).begin()
    identities.record_login(identity, account, site.tokens.now())
    login = ProviderLogin.of(account)
    if needs_second_step(submission, user, account):
        return ask_for_second_step(submission, user, methods=account.methods, origin=login)
    issued = start_browser_session(submission, user, methods=account.methods, origin=login)
    if issued is None:
        events.emit("login_failed", user_id=user.id, reason="changed meanwhile")
        detail = _("Your account has just changed. Log in again.")
        raise ProviderError(HTTPStatus.BAD_REQUEST, "changed meanwhile", detail)
    return hand_over(submission, issued)


def needs_second_step(submission: Submission, user: User, account: ProviderAccount) -> bool:
    """Return whether a user has a second factor that this login has not proven."""
    is_proven = has_second_factor(account.methods)
    return not is_proven and submission.site.factors.is_needed_by(user)


def require_active(user: User) -> None:
    """Refuse a deactivated user. The provider has proven who they are, so the answer says it."""
    if user.is_active:
        return
    events.emit("login_failed", user_id=user.id, reason="inactive")
    raise RequestError(
        HTTPStatus.FORBIDDEN,
        "inactive",
        _("This account is deactivated. Ask the administrators of this site for help."),
    )
