"""Authentication: this file finds the user of a password; the modules find the user of a request.

Every function of this room that uses the database raises `peewee.DatabaseError` if it fails.
A parameter `now` is the time in seconds since the epoch, and `mount` the path of /auth on the site.
"""

from collections.abc import Callable

from wsgiauth import events
from wsgiauth.accounts import find_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.passwords import (
    hash_password,
    matching_form,
    needs_rehash,
    normal_form,
    representation_problem,
)


def authenticate(
    name: str,
    password: str,
    *,
    rounds: int,
    on_failure: Callable[[str], object] = lambda reason: None,
) -> User | None:
    """Return the active user with this username or email address and password, or None.

    Every failure (unknown name, wrong or over-long password, inactive user, corrupt hash) gives the
    same result and costs exactly one bcrypt, or two for a password that was not typed in NFC. So
    neither the result nor its time reveals whether an account exists (OWASP Authentication Cheat
    Sheet, "Authentication Responses"). `on_failure` gets the reason, and must not depend on it.

    A success replaces a hash whose cost is not `rounds`, or that is not of the password in NFC.
    """
    return authenticate_user(find_user(name), password, rounds=rounds, on_failure=on_failure)


def authenticate_user(
    user: User | None,
    password: str,
    *,
    rounds: int,
    on_failure: Callable[[str], object] = lambda reason: None,
) -> User | None:
    """Do as `authenticate` for a user who has been found already, such as the one logged in."""
    stored = None if user is None else user.hashed_password
    form = matching_form(password, stored, rounds=rounds)
    if user is None or form is None or not user.is_active:
        user_id, reason = None, "no such user"
        if user is not None:
            user_id, reason = user.id, "wrong password" if form is None else "inactive"
        events.emit("login_failed", user_id=user_id, reason=reason)
        on_failure(reason)
        return None
    if form != normal_form(password) or needs_rehash(user.hashed_password, rounds=rounds):
        _rehash(user, password, rounds)
    return user


def _rehash(user: User, password: str, rounds: int) -> None:
    """Hash the same password with the configured cost, and keep the user's sessions."""
    if representation_problem(password) is not None:
        return  # in NFC, few scripts need more bytes than as typed
    replacement = hash_password(password, rounds=rounds)
    # The stamp is compared, so that a concurrent change of password is kept.
    User.update(hashed_password=replacement, security_stamp=User.security_stamp).where(
        User.id == user.id, User.security_stamp == user.security_stamp
    ).execute()
