"""E-mail addresses: the request to use one, the mail with a link, and the proof by that link.

The address is stored with the secret of its link, and the link proves that address alone, for the
user who asked. So a link that someone else opens proves nothing for them (CVE-2026-32700).
"""

import hashlib
import json
from dataclasses import dataclass, field
from typing import NamedTuple

from wsgiauth.accounts import models, names, update_user
from wsgiauth.accounts.locking import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import one_time
from wsgiauth.authentication.one_time import OneTimeSecret
from wsgiauth.mail.letters import SAMPLE_ROOT, Addressed, Letter, link_url
from wsgiauth.mail.models import Mail
from wsgiauth.mail.outbox import MINUTE, Outbox
from wsgiauth.mail.resets import RESET
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.columns import utc_now

ADDRESS = "address"  # the kind of the mail, and the purpose of its secret
VERIFY = "verify"  # the page of its link


@dataclass(frozen=True, kw_only=True)
class AddressLetter(Letter):
    """The mail with the link to prove an address.

    It has no text that the user chose, because the address can be that of anyone.

    Attributes:
        link: The link.
        minutes: How long it can be used.
    """

    template = "mail/address.txt"

    link: str = field(repr=False)
    minutes: int


@dataclass(frozen=True, kw_only=True)
class AddressTakenLetter(Letter):
    """The mail to the owner of an address that another user asked to use; it has no link."""

    template = "mail/address_taken.txt"


SAMPLES = (
    AddressLetter(link=f"{SAMPLE_ROOT}/verify?token=example", minutes=60),
    AddressTakenLetter(),
)


class Proof(NamedTuple):
    """What a link proves.

    Attributes:
        user: The user who asked for it.
        email: The address.
    """

    user: User
    email: str


def request_proof(outbox: Outbox, user: User, email: str, *, mount: str) -> None:
    """Ask for a link that proves an address; nothing tells whether the address is taken.

    Args:
        outbox: The site's.
        user: The user who asks, as read in this request.
        email: A valid address, as typed: a new one, or the present one.
        mount: The path of /auth on the site.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    data = {"mount": mount, "stamp": user.security_stamp, "present": _digest(user.email)}
    outbox.enqueue(ADDRESS, name=email, user=user, data=data)


def compose(mail: Mail, settings: Settings, now: float) -> Addressed | None:
    """Return the mail with the link, or the one to the owner of a taken address.

    Returns:
        None if the owner is inactive, or if the user who asked is inactive or deleted, or has
        another password or address meanwhile.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    data = json.loads(mail.data)
    asked = (data["stamp"], data["present"])
    user = User.get_or_none(User.id == mail.user_id)
    if user is None or not user.is_active or asked != (user.security_stamp, _digest(user.email)):
        return None
    owner = User.get_or_none(User.email_key == names.key(mail.name), User.id != user.id)
    if owner is not None:
        return Addressed(AddressTakenLetter(), owner.email, owner.id) if owner.is_active else None
    link = address_link(user, mail.name, settings, mount=data["mount"], now=now)
    letter = AddressLetter(link=link, minutes=settings.LINK_MINUTES)
    return Addressed(letter, mail.name, user.id)


def address_link(user: User, email: str, settings: Settings, *, mount: str, now: float) -> str:
    """Return a new link that proves `email` for `user`.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    lifetime = settings.LINK_MINUTES * MINUTE
    data = json.dumps({"email": email, "present": _digest(user.email)})
    secret = one_time.issue(ADDRESS, user, now=now, lifetime=lifetime, data=data)
    return link_url(settings, mount, VERIFY, secret)


def read_proof(secret: OneTimeSecret) -> Proof | None:
    """Return what a secret proves; None if its user has another address meanwhile.

    Args:
        secret: As `one_time.find` returned it.
    """
    data, user = json.loads(secret.data), secret.user
    if user is None or data["present"] != _digest(user.email):
        return None
    return Proof(user, data["email"])


def prove_address(proof: Proof, secret: OneTimeSecret) -> bool:
    """Store the proven address, as verified, and use the secret; the user's logins go on.

    Args:
        proof: As `read_proof` returned it.
        secret: The secret of which it was read.

    Returns:
        False if the secret was used, or ended, in the meantime.

    Raises:
        TakenError: Another user has the address; the secret can still be used.
        peewee.DatabaseError: The database failed.
    """
    with database.atomic():
        user = lock_user(proof.user.id)
        # No other read: MariaDB would hide from the change what others have committed since.
        if user is None or _state(user) != (True, secret.stamp, proof.user.email):
            return False
        if not one_time.use(secret):
            return False
        one_time.end_all(user, ADDRESS)
        new = proof.email if proof.email != user.email else None
        update_user(user, email=new, email_verified_at=utc_now())
    return True


def end_links(user: User) -> None:
    """End the links that were sent to a user; they would work again if an old address came back.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    one_time.end_all(user, ADDRESS, RESET)


def _state(user: User) -> tuple[bool, int, str]:
    return user.is_active, user.security_stamp, user.email


def _digest(email: str) -> str:
    return hashlib.sha256(email.encode()).hexdigest()


models.after_change_of_email.append(end_links)
