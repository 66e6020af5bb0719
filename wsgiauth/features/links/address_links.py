"""Links that prove an email address.

The address is stored with the secret of its link. The link proves only this address, and only for
the user who asked, so it proves nothing for another user who opens it (CVE-2026-32700).
"""

from typing import NamedTuple

from wsgiauth.accounts import lock_user, update_user
from wsgiauth.accounts.models import PROVEN_BY_LINK, User
from wsgiauth.accounts.tables import ADDRESS, OneTimeSecret, end_secrets
from wsgiauth.authentication import one_time
from wsgiauth.authentication.one_time import digest, link_url
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.models import utc_now


class AddressProof(NamedTuple):
    """The address that a link proves for the user who asked for it."""

    user: User
    email: str


def make_address_link(user: User, email: str, settings: Settings, *, mount: str, now: float) -> str:
    """Return a new link that proves `email` for `user`."""
    lifetime = settings.LINK_MINUTES * 60
    secret = one_time.issue(
        ADDRESS, user, now=now, lifetime=lifetime, subject=user.email, data=email
    )
    return link_url(settings, mount, "verify", secret)


def read_address_proof(secret: OneTimeSecret) -> AddressProof | None:
    """Return the proof of a secret; None if its user has another address meanwhile."""
    user = secret.user
    if user is None or secret.subject != digest(user.email):
        return None
    return AddressProof(user, secret.data)


def prove_address(proof: AddressProof, secret: OneTimeSecret) -> bool:
    """Store the address as verified, and use the secret; return False if it has ended.

    Raises:
        TakenError: Another user has the address; the secret can still be used.
    """
    with database.atomic():
        user = lock_user(proof.user.id)
        # No read between lock and change: MariaDB would hide later commits from the change.
        if user is None or not user.is_active:
            return False
        if (user.security_stamp, user.email) != (secret.stamp, proof.user.email):
            return False
        if not one_time.use(secret):
            return False
        end_secrets(user.id, ADDRESS)
        new = proof.email if proof.email != user.email else None
        update_user(user, email=new, email_verified_at=utc_now(), email_verified_by=PROVEN_BY_LINK)
    return True
