"""New passwords: by the owner, who stays logged in, by code or an operator, or by a link.

Where a user needs no password, the link is a login instead: see `redeem_login`.
"""

from collections.abc import Callable, Iterable

from wsgiauth import events
from wsgiauth.accounts import hash_new_password, lock_user
from wsgiauth.accounts.models import PROVEN_BY_LINK, User, is_proven_here
from wsgiauth.accounts.tables import RESET, OneTimeSecret, revoke_keys
from wsgiauth.authentication import one_time
from wsgiauth.authentication.freshness import renew
from wsgiauth.authentication.methods import PASSWORD
from wsgiauth.authentication.one_time import digest, link_url
from wsgiauth.authentication.sessions import revoke_all
from wsgiauth.authentication.tokens import IssuedTokens, Tokens
from wsgiauth.events import kinds
from wsgiauth.settings import Settings
from wsgiauth.storage import context, database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import NO_PASSWORD, utc_now

_MAILED = "mailed"  # the data of a secret that only the stored address gets


def change_password(user: User, password: str, *, settings: Settings, end_keys: bool = True) -> int:
    """Set a new password for `user`, which ends all of the user's sessions and open links.

    Args:
        user: The user whose password changes; the object has the new hash afterwards.
        password: The new password, as typed.
        settings: The source of `BCRYPT_ROUNDS` and of the rules for passwords.
        end_keys: Whether to revoke all API keys of the user, too.

    Returns:
        How many API keys were revoked.

    Raises:
        ValidationError: A rule is broken.
        RetryLaterError: The file BREACHED_PASSWORDS cannot be read.
        User.DoesNotExist: The user has been deleted.
        peewee.DatabaseError: The database failed.
    """
    hashed_password = hash_new_password(user, password, settings=settings)
    with context.using(user.database):
        replaced = replace_password(user, hashed_password, end_keys=end_keys)
    if replaced is None:
        raise User.DoesNotExist
    stored, revoked_keys = replaced
    for name in ("hashed_password", "security_stamp"):
        user.__data__[name] = stored.__data__[name]  # not the attributes: nothing to save
    return revoked_keys


@repeated_after_conflict
def change(
    session_id: str,
    user: User,
    hashed_password: str,
    tokens: Tokens,
    *,
    end_keys: bool = False,
    methods: str | None = PASSWORD,
) -> IssuedTokens | None:
    """Set a new password, end all sessions of the user, and renew this one; all or nothing.

    The user's stamp is compared and set, so that of concurrent changes that the same password
    proved, one succeeds. Return None if the session has ended meanwhile.

    Args:
        user: The session's user, as read before the current password was verified.
        methods: See `renew`.
    """
    claims = tokens.claims_for(user)

    def is_unchanged(stored: User) -> bool:
        return stored.security_stamp == user.security_stamp

    issued = None
    # The user's row is locked before the session's, as by a deletion of the user.
    with database.atomic() as transaction:
        replaced = replace_password(
            user, hashed_password, end_keys=end_keys, is_permitted=is_unchanged
        )
        if replaced is not None:
            stamp = replaced[0].security_stamp
            issued = renew(session_id, user, tokens, claims, methods=methods, stamp=stamp)
        if issued is None:
            transaction.rollback()
    return issued


def make_reset_link(
    user: User, settings: Settings, *, mount: str, now: float, is_mailed: bool = True
) -> str:
    """Return a new link to choose a new password; a change of the email address ends it.

    `is_mailed` says that only the stored address gets the link, so that its use proves the address.
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
        events.emit(kinds.LINK_SENT, user_id=user.id, reason=f"{RESET}, printed")
        return make_reset_link(user, settings, mount=mount, now=now, is_mailed=False)


def find_link(secret: str, *, now: float) -> OneTimeSecret | None:
    """Return the secret of a link for a new password, and its user."""
    row = one_time.find(secret, RESET, now=now)
    if row is None or row.user is None or row.subject != digest(row.user.email):
        return None
    return row


def find_holder(secret: str, *, now: float) -> User | None:
    """Return the user who can choose a new password with a secret."""
    row = find_link(secret, now=now)
    return None if row is None else row.user


def is_mailed(row: OneTimeSecret) -> bool:
    """Return whether only the stored address got the link, so that its use proves the address."""
    return row.data == _MAILED


def reset_password(
    user: User,
    secret: str,
    password: str,
    *,
    settings: Settings,
    now: float,
    at_first_proof: Iterable[Callable[[User], object]],
) -> bool:
    """Set a new password, which ends all sessions and API keys of the user, and use the secret.

    A link that was sent also proves the address. Before the first proof by a link, a stranger may
    have created the account, perhaps at a provider that has wrongly verified the address. So
    `at_first_proof` removes the second factors, passkeys and accounts of providers from that time.

    Return False if the secret was used, or ended, in the meantime. After a ValidationError, the
    secret can still be used.
    """
    hashed_password = hash_new_password(user, password, settings=settings)

    def is_redeemed(stored: User) -> bool:
        row = one_time.redeem(secret, RESET, now=now)
        if row is None or row.subject != digest(stored.email):
            return False
        if is_mailed(row) and not is_proven_here(stored):
            _prove_address(stored, at_first_proof)
        return True

    replaced = replace_password(user, hashed_password, end_keys=True, is_permitted=is_redeemed)
    return replaced is not None


def redeem_login(
    user: User, secret: str, *, now: float, at_first_proof: Iterable[Callable[[User], object]]
) -> User | None:
    """Use the secret of a link as a login without a password, and return the stored user.

    Call this for a link that `is_mailed` alone, because it proves the address. With the first
    proof, all from before ends, because a stranger may have created the account: the password, the
    sessions, the API keys, and what `at_first_proof` removes.

    Return None if the secret was used, or ended, in the meantime.
    """
    with database.atomic():
        stored = lock_user(user.id)
        row = one_time.redeem(secret, RESET, now=now)
        if stored is None or row is None or row.subject != digest(stored.email):
            return None
        if is_proven_here(stored):
            return stored
        revoke_all(stored)
        revoke_keys(stored.id)
        if stored.has_password:
            stored.hashed_password = NO_PASSWORD
        _prove_address(stored, at_first_proof)
        ended = User.update(security_stamp=User.security_stamp + 1)
        ended.where(User.id == stored.id).execute()
        return User.get_by_id(stored.id)


def _prove_address(user: User, at_first_proof: Iterable[Callable[[User], object]]) -> None:
    user.email_verified_at, user.email_verified_by = utc_now(), PROVEN_BY_LINK
    user.save()  # before the factors are removed, so that the notices go to a proven address
    for remove in at_first_proof:
        remove(user)


@repeated_after_conflict
def replace_password(
    user: User,
    hashed_password: str,
    *,
    end_keys: bool,
    is_permitted: Callable[[User], bool] = lambda stored: True,
) -> tuple[User, int] | None:
    """Set a new password in one transaction, which ends all sessions and open links of the user.

    `is_permitted` gets the user as stored, whose row is locked; `user` can be outdated.

    Returns:
        The stored user, and how many API keys were revoked; None if the change was not permitted,
        or the user has been deleted.
    """
    with database.atomic():
        stored = lock_user(user.id)
        if stored is None or not is_permitted(stored):
            return None
        stored.hashed_password = hashed_password
        stored.save()
        return stored, revoke_keys(stored.id) if end_keys else 0
