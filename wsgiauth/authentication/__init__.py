"""Authentication: find the user of a name and a password; the modules find that of a request.

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
    """Return the active user with this name and password, or None.

    Every failure (unknown name, wrong or over-long password, inactive user, corrupt hash) gives the
    same result and costs exactly one bcrypt, or two for a password that was not typed in NFC. So
    neither the result nor its time reveals whether an account exists (OWASP Authentication Cheat
    Sheet, "Authentication Responses").

    On success, a hash whose cost is not `rounds`, or that is not of the password in NFC, is
    replaced.

    Args:
        name: A username or an email address, in any letter case.
        password: The password that the client presented.
        rounds: The bcrypt cost (base-2 logarithm of the number of rounds).
        on_failure: Called with the reason, as in the event. It does the same whatever that is.
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
    is_theirs = form is not None
    if user is None or not is_theirs or not user.is_active:
        on_failure(_report_failure(user, is_theirs))
        return None
    is_outdated = form != normal_form(password)
    if is_outdated or needs_rehash(user.hashed_password, rounds=rounds):
        _rehash(user, password, rounds)
    return user


def _report_failure(user: User | None, is_theirs: bool) -> str:
    """Emit the event, and return its reason."""
    if user is None:
        user_id, reason = None, "no such user"
    else:
        user_id, reason = user.id, "inactive" if is_theirs else "wrong password"
    events.emit("login_failed", user_id=user_id, reason=reason)
    return reason


def _rehash(user: User, password: str, rounds: int) -> None:
    """Hash the same password with the configured cost, and keep the user's sessions."""
    if representation_problem(password) is not None:
        return  # in NFC, few scripts need more bytes than as typed
    replacement = hash_password(password, rounds=rounds)
    # The stamp is compared, so that a concurrent change of password is kept.
    User.update(hashed_password=replacement, security_stamp=User.security_stamp).where(
        User.id == user.id, User.security_stamp == user.security_stamp
    ).execute()
