"""Forgotten passwords: the request, the mail with a link, and the new password."""

import hashlib
import json
from dataclasses import dataclass, field

from wsgiauth import events
from wsgiauth.accounts import find_user, hash_new_password, names
from wsgiauth.accounts.models import User
from wsgiauth.authentication import factors, one_time, recovery_codes
from wsgiauth.authentication.one_time import OneTimeSecret
from wsgiauth.authentication.password import replace_password
from wsgiauth.mail.letters import SAMPLE_ROOT, Addressed, Letter, link_url, unlinked
from wsgiauth.mail.models import Mail
from wsgiauth.mail.outbox import MINUTE, Outbox
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.columns import utc_now

RESET = "reset"  # the kind of the mail, the purpose of its secret, and the page of its link


@dataclass(frozen=True, kw_only=True)
class ResetLetter(Letter):
    """The mail with the link to choose a new password.

    Attributes:
        username: The user's name; nothing if the address is not proven, or if the name could be
            read as a link.
        link: The link.
        minutes: How long it can be used.
    """

    template = "mail/reset.txt"

    username: str
    link: str = field(repr=False)
    minutes: int


SAMPLE = ResetLetter(username="ada", link=f"{SAMPLE_ROOT}/reset?token=example", minutes=60)


def request_reset(outbox: Outbox, name: str, *, mount: str) -> None:
    """Ask for a link to choose a new password; nothing tells whether there is an account.

    Args:
        outbox: The site's.
        name: A username or an e-mail address, as typed.
        mount: The path of /auth on the site.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    # Of what cannot be a name, nothing is stored: it can be a password typed into the wrong field.
    is_name = names.email_problem(name) is None or names.username_problem(name) in (
        None,
        names.LEADING_DASH,
    )
    outbox.enqueue(RESET, name=name if is_name else "", data={"mount": mount})


def send_reset(outbox: Outbox, user: User, *, mount: str) -> None:
    """Send a user a link to choose a new password, and report it.

    Args:
        outbox: The site's.
        user: The user; the link goes to their stored address.
        mount: The path of /auth on the site.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    with database.atomic():
        outbox.enqueue(RESET, user=user, data={"mount": mount})
        events.emit("link_sent", user_id=user.id, reason=RESET)


def printed_link(user: User, settings: Settings, *, mount: str, now: float) -> str:
    """Return a new link for an operator to hand over, and report it; see `reset_link`."""
    with database.atomic():
        events.emit("link_sent", user_id=user.id, reason=f"{RESET}, printed")
        return reset_link(user, settings, mount=mount, now=now, is_mailed=False)


def reset_link(
    user: User, settings: Settings, *, mount: str, now: float, is_mailed: bool = True
) -> str:
    """Return a new link with which `user` can choose a new password.

    Args:
        user: The user.
        settings: The source of `LINK_MINUTES` and `PUBLIC_URL`.
        mount: The path of /auth on the site.
        now: Seconds since the epoch.
        is_mailed: Whether only the stored address gets it, so that its use proves the address.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    lifetime = settings.LINK_MINUTES * MINUTE
    # The link ends with a change of the address.
    data = json.dumps({"present": _digest(user.email), "is_mailed": is_mailed})
    secret = one_time.issue(RESET, user, now=now, lifetime=lifetime, data=data)
    return link_url(settings, mount, RESET, secret)


def compose(mail: Mail, settings: Settings, now: float) -> Addressed | None:
    """Return the mail for the account, which may only be named; None if there is no active one.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    user = find_user(mail.name) if mail.user_id is None else mail.user
    if user is None or not user.is_active:
        return None
    link = reset_link(user, settings, mount=json.loads(mail.data)["mount"], now=now)
    # A stranger can choose the name, and register with the address of someone else.
    username = unlinked(user.username) if user.email_verified_at else ""
    letter = ResetLetter(username=username, link=link, minutes=settings.LINK_MINUTES)
    return Addressed(letter, user.email, user.id)


def find_holder(secret: str, *, now: float) -> User | None:
    """Return the user who can choose a new password with a secret, without using it.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    row = one_time.find(secret, RESET, now=now)
    if row is None or row.user is None or not _is_for(row, row.user):
        return None
    return row.user


def reset_password(
    user: User, secret: str, password: str, *, settings: Settings, now: float
) -> bool:
    """Set a new password, which ends all of the user's logins and API keys, and use the secret.

    The link of a mail also proves the address. Before its first proof, a stranger may have created
    the account, so the second factors and passkeys from that time are removed.

    Args:
        user: The user, as `find_holder` returned it.
        secret: The secret of the link.
        password: The new password, as typed.
        settings: The source of `BCRYPT_ROUNDS` and of the rules for passwords.
        now: Seconds since the epoch.

    Returns:
        False if the secret was used, or ended, in the meantime.

    Raises:
        ValidationError: A rule is broken; the secret can still be used.
        RetryLaterError: The file BREACHED_PASSWORDS cannot be read.
        peewee.DatabaseError: The database failed.
    """
    hashed_password = hash_new_password(user, password, settings=settings)

    def is_redeemed(stored: User) -> bool:
        row = one_time.redeem(secret, RESET, now=now)
        if row is None or not _is_for(row, stored):
            return False
        if stored.email_verified_at is None and json.loads(row.data)["is_mailed"]:
            _prove_address(stored)
        return True

    replaced = replace_password(user, hashed_password, end_keys=True, is_permitted=is_redeemed)
    return replaced is not None


def _prove_address(user: User) -> None:
    user.email_verified_at = utc_now()
    user.save()  # before the factors are removed, so that the notices go to a proven address
    factors.remove(user)
    recovery_codes.remove_all(user)


def _is_for(row: OneTimeSecret, user: User) -> bool:
    present: str = json.loads(row.data)["present"]
    return present == _digest(user.email)


def _digest(email: str) -> str:
    return hashlib.sha256(email.encode()).hexdigest()
