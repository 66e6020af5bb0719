"""A new password: by its owner, who stays logged in, by code or an operator, or by a link.

All of them call `replace_password`.
"""

from collections.abc import Callable
from typing import NamedTuple

from wsgiauth.accounts import hash_new_password, lock_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import revoke_keys
from wsgiauth.authentication.freshness import renew
from wsgiauth.authentication.methods import PASSWORD
from wsgiauth.authentication.tokens import IssuedTokens, Tokens
from wsgiauth.settings import Settings
from wsgiauth.storage import context, database


class Replaced(NamedTuple):
    """What a new password has changed."""

    user: User  # as stored now
    revoked_keys: int  # how many API keys were revoked


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
    with context.using(user.origin):
        replaced = replace_password(user, hashed_password, end_keys=end_keys)
    if replaced is None:
        raise User.DoesNotExist
    for name in ("hashed_password", "security_stamp"):
        user.__data__[name] = replaced.user.__data__[name]  # not the attributes: nothing to save
    return replaced.revoked_keys


def change(
    session_id: str,
    user: User,
    hashed_password: str,
    tokens: Tokens,
    *,
    end_keys: bool = False,
    methods: str | None = PASSWORD,
) -> IssuedTokens | None:
    """Set a new password, end all sessions of the user, and renew the one that changed it.

    All of it happens or nothing. The user's stamp is compared and set, so that of concurrent
    changes that were proven by the same password, one succeeds.

    Args:
        user: The session's, as read before the current password was verified.
        hashed_password: A hash that `hash_password` returned.
        end_keys: Whether to revoke all API keys of the user, too.
        methods: See `renew`.

    Returns:
        None if the session has ended meanwhile, perhaps by another change of the password.
    """

    def is_unchanged(stored: User) -> bool:
        return stored.security_stamp == user.security_stamp

    issued = None
    # The user's row is locked before the session's, as by a deletion of the user.
    with database.atomic() as transaction:
        replaced = replace_password(
            user, hashed_password, end_keys=end_keys, is_permitted=is_unchanged
        )
        if replaced is not None:
            stamp = replaced.user.security_stamp
            issued = renew(session_id, user, tokens, methods=methods, stamp=stamp)
        if issued is None:
            transaction.rollback()
    return issued


def replace_password(
    user: User,
    hashed_password: str,
    *,
    end_keys: bool,
    is_permitted: Callable[[User], bool] = lambda stored: True,
) -> Replaced | None:
    """Set a new password in one transaction, which ends all sessions and open links of the user.

    Args:
        user: The user; may be outdated, and does not change.
        hashed_password: A hash that `hash_password` returned.
        end_keys: Whether to revoke all API keys of the user, too.
        is_permitted: Called in the transaction, with the user as stored, whose row is locked.

    Returns:
        None if it was not permitted, or the user has been deleted.
    """
    with database.atomic():
        stored = lock_user(user.id)
        if stored is None or not is_permitted(stored):
            return None
        stored.hashed_password = hashed_password
        stored.save()
        return Replaced(stored, revoke_keys(stored.id) if end_keys else 0)
