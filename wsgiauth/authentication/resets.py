"""Links to choose a new password: making and redeeming them.

`mail` sends them; an operator can also print one. Every function here that uses the database raises
peewee.DatabaseError if it fails.
"""

from wsgiauth import events
from wsgiauth.accounts import hash_new_password
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import RESET
from wsgiauth.authentication import factors, one_time, recovery_codes
from wsgiauth.authentication.one_time import digest, link_url
from wsgiauth.authentication.password import replace_password
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.models import utc_now

_MAILED = "mailed"  # the data of a secret that only the stored address gets


def make_reset_link(
    user: User, settings: Settings, *, mount: str, now: float, is_mailed: bool = True
) -> str:
    """Return a new link with which `user` can choose a new password.

    Args:
        user: The user; another email address ends the link.
        settings: The source of `LINK_MINUTES` and `PUBLIC_URL`.
        mount: The path of /auth on the site.
        now: Seconds since the epoch.
        is_mailed: Whether only the stored address gets it, so that its use proves the address.
    """
    secret = one_time.issue(
        RESET,
        user,
        now=now,
        lifetime=settings.LINK_MINUTES * 60,
        subject=user.email,
        data=_MAILED if is_mailed else "",
    )
    return link_url(settings, mount, RESET, secret)


def make_printed_reset_link(user: User, settings: Settings, *, mount: str, now: float) -> str:
    """Return a new link for an operator to hand over, and report it."""
    with database.atomic():
        events.emit("link_sent", user_id=user.id, reason=f"{RESET}, printed")
        return make_reset_link(user, settings, mount=mount, now=now, is_mailed=False)


def find_holder(secret: str, *, now: float) -> User | None:
    """Return the user who can choose a new password with a secret, without using it."""
    row = one_time.find(secret, RESET, now=now)
    if row is None or row.user is None or row.subject != digest(row.user.email):
        return None
    return row.user


def reset_password(
    user: User, secret: str, password: str, *, settings: Settings, now: float
) -> bool:
    """Set a new password, which ends all sessions and API keys of the user, and use the secret.

    A link that was sent also proves the address. Before its first proof, a stranger may have
    created the account, so the second factors and passkeys from that time are removed.

    Args:
        user: As `find_holder` returned it.
        secret: The secret of the link.
        password: The new password, as typed.
        settings: The source of `BCRYPT_ROUNDS` and of the rules for passwords.
        now: Seconds since the epoch.

    Returns:
        False if the secret was used, or ended, in the meantime.

    Raises:
        ValidationError: A rule is broken; the secret can still be used.
        RetryLaterError: The file BREACHED_PASSWORDS cannot be read.
    """
    hashed_password = hash_new_password(user, password, settings=settings)

    def is_redeemed(stored: User) -> bool:
        row = one_time.redeem(secret, RESET, now=now)
        if row is None or row.subject != digest(stored.email):
            return False
        if stored.email_verified_at is None and row.data == _MAILED:
            _prove_address(stored)
        return True

    replaced = replace_password(user, hashed_password, end_keys=True, is_permitted=is_redeemed)
    return replaced is not None


def _prove_address(user: User) -> None:
    user.email_verified_at = utc_now()
    user.save()  # before the factors are removed, so that the notices go to a proven address
    factors.remove(user)
    recovery_codes.remove_all(user)
