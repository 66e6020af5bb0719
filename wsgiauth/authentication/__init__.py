"""From credentials to a user: who is it that knows this password?"""

import peewee

from wsgiauth import events
from wsgiauth.accounts import find_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.passwords import hash_password, needs_rehash, verify_password


def authenticate(name: str, password: str, *, rounds: int) -> User | None:
    """Return the active user with this name and password, or None.

    Every failure - nobody of that name, a wrong or over-long password, an inactive user, a corrupt
    hash - looks the same and costs exactly one bcrypt, so that neither the answer nor its time
    tells who has an account (OWASP Authentication Cheat Sheet, "Authentication Responses").

    A hash of another cost than `rounds` is replaced on success.

    Args:
        name: A username or an e-mail address, in any letter case.
        password: As presented.
        rounds: bcrypt's cost.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    user = find_user(name)
    stored = None if user is None else user.hashed_password
    is_theirs = verify_password(password, stored, rounds=rounds)
    if user is None or not is_theirs or not user.is_active:
        _report_failure(user, is_theirs)
        return None
    if needs_rehash(user.hashed_password, rounds=rounds):
        _rehash(user, password, rounds)
    return user


def _report_failure(user: User | None, is_theirs: bool) -> None:
    if user is None:
        events.emit("login_failed", reason="no such user")
    else:
        reason = "inactive" if is_theirs else "wrong password"
        events.emit("login_failed", user_id=user.id, reason=reason)


def _rehash(user: User, password: str, rounds: int) -> None:
    """Store the same password at today's cost; unlike a change of password it ends no session."""
    replacement = hash_password(password, rounds=rounds)
    # Only over the hash that was verified: a change of password that came first wins.
    unchanged: peewee.Expression = User.hashed_password == user.hashed_password
    update = User.update(hashed_password=replacement).where(User.id == user.id, unchanged)
    if not update.execute():
        # Another login may have replaced it at the same moment; then its hash is theirs as well.
        current = User.get_or_none(User.id == user.id)
        if current is None or not verify_password(password, current.hashed_password):
            return
        replacement = current.hashed_password
    user.__data__["hashed_password"] = replacement  # as if it had been read: nothing to save
