"""A change of the password by its owner, who stays logged in where they changed it."""

from wsgiauth import events
from wsgiauth.accounts.models import User
from wsgiauth.authentication import keys
from wsgiauth.authentication.freshness import renew
from wsgiauth.authentication.issuing import Login
from wsgiauth.authentication.methods import PASSWORD
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.storage import database


def change(
    session_id: str,
    user: User,
    hashed_password: str,
    tokens: Tokens,
    *,
    end_keys: bool = False,
    methods: str | None = PASSWORD,
) -> Login | None:
    """Set a new password, end all logins of the user, and renew the session that changed it.

    All of it happens or nothing. The user's stamp is compared and set, so that of concurrent
    changes that were proven by the same password, one succeeds.

    Args:
        session_id: The session.
        user: Its user, as read before the current password was verified.
        hashed_password: A hash that `hash_password` returned.
        tokens: Issues the token.
        end_keys: Whether to end all API keys of the user, too.
        methods: See `renew`.

    Returns:
        None if the session has ended meanwhile, perhaps by another change of the password.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    changed = User.update(hashed_password=hashed_password).where(
        User.id == user.id, User.security_stamp == user.security_stamp
    )
    login = None
    # The user's row is locked before the session's, as by a deletion of the user.
    with database.atomic() as transaction:
        if changed.execute():
            login = renew(session_id, user, tokens, methods=methods, stamp=user.security_stamp + 1)
        if login is None:
            transaction.rollback()
        else:
            events.emit("password_changed", user_id=user.id)
            if end_keys:
                keys.end_all(user)
    return login
