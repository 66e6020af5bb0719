"""The ways into an account, the last of which its owner cannot remove.

These are the password, passkeys, and accounts of providers. The link of an email is none: the
mailbox may be the very thing that the user has lost.
"""

from http import HTTPStatus

from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import identities, passkeys, provider_sessions
from wsgiauth.authentication.identities import Identity
from wsgiauth.authentication.passkeys import Passkey
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.settings.oidc import parse_entries
from wsgiauth.storage import database
from wsgiauth.storage.models import NO_PASSWORD


def has_way_in(user: User, settings: Settings) -> bool:
    """Return whether a user can log in on a site with these settings."""
    if user.has_password or _has_passkey(user, settings):
        return True
    issuers = {each.issuer for each in parse_entries(settings.OIDC_PROVIDERS)}
    return any(row.issuer in issuers for row in identities.rows_of(user))


def count_stranded(settings: Settings) -> int:
    """Return how many active users have accounts of providers, but no way in.

    Users who have neither an account of a provider nor a password wait for a link to choose one.
    """
    issuers = [each.issuer for each in parse_entries(settings.OIDC_PROVIDERS)]
    usable = Identity.select(Identity.user).where(Identity.issuer.in_(issuers))
    stranded = (
        User.select(User.id)
        .join(Identity)
        .where(User.is_active, User.hashed_password == NO_PASSWORD, User.id.not_in(usable))
    )
    if settings.PASSKEYS:
        usable_keys = Passkey.select(Passkey.user).where(
            Passkey.relying_party == passkeys.host_of(settings)
        )
        stranded = stranded.where(User.id.not_in(usable_keys))
    return int(stranded.distinct().count())


def _has_passkey(user: User, settings: Settings) -> bool:
    """Return whether a user has a passkey of the host of PUBLIC_URL; others do not work there."""
    keys = passkeys.list_passkeys(user) if settings.PASSKEYS else []
    return any(each.relying_party == passkeys.host_of(settings) for each in keys)


def disconnect(
    user: User, handle: str, settings: Settings, *, except_session: str | None = None
) -> str:
    """Disconnect an account of a provider from a user, and revoke its sessions.

    Args:
        user: The user.
        handle: Names it in the list of the user.
        settings: Say which ways there are.
        except_session: The session that goes on; None: none does.

    Returns:
        What the provider calls it.

    Raises:
        ValidationError: The user has no such account of a provider.
        RequestError: 409 `last_way_in`; nothing has changed.
    """
    with database.atomic():
        owner = lock_user(user.id)
        rows = [] if owner is None else identities.rows_of(owner)
        row = next((each for each in rows if each.handle == handle), None)
        if owner is None or row is None:
            raise ValidationError({"disconnect": [_("This account is not connected any more.")]})
        provider_sessions.revoke_by(row, except_id=except_session)
        identities.remove(row)
        require_way_in(owner, settings)
    return row.name


def require_way_in(user: User, settings: Settings) -> None:
    """Refuse a removal after which the user could not log in; call this in its transaction.

    Raises:
        RequestError: 409 `last_way_in`.
    """
    if not has_way_in(user, settings):
        raise RequestError(
            HTTPStatus.CONFLICT,
            "last_way_in",
            _(
                "This is the only way to log in to the account. Set a password or add another way"
                " first."
            ),
        )
