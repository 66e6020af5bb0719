"""Authentication: this file finds the user of a password; the modules find the user of a request.

Every function of this room that uses the database raises `peewee.DatabaseError` if it fails.
A parameter `now` is the time in seconds since the epoch, and `mount` the path of /auth on the site.
"""

from collections.abc import Callable

from wsgiauth import events
from wsgiauth.accounts import find_user
from wsgiauth.accounts.former import FormerPasswords
from wsgiauth.accounts.models import User
from wsgiauth.accounts.passwords import (
    hash_password,
    matching_digest,
    matching_form,
    needs_rehash,
    normal_form,
    representation_problem,
)
from wsgiauth.accounts.tables import forget_former_password
from wsgiauth.events import kinds
from wsgiauth.storage import database

OnFailure = Callable[[str, int | None], object]


def authenticate(
    name: str,
    password: str,
    *,
    rounds: int,
    former: FormerPasswords | None = None,
    on_failure: OnFailure = lambda reason, user_id: None,
) -> User | None:
    """Return the active user with this username or email address and password, or None.

    Every failure (unknown name, wrong or over-long password, inactive user, corrupt hash) gives the
    same result and costs exactly one bcrypt, or two for a password that was not typed in NFC. On a
    site with former passwords, it can cost a former hash in addition: for an unknown name as often
    as for users. So neither the result nor its time reveals whether an account exists (OWASP
    Authentication Cheat Sheet, "Authentication Responses"). `on_failure` gets the reason and the
    number of the user, if there is one, and must do the same for all.

    A success replaces a former hash, a hash whose cost is not `rounds`, and one that is not of the
    password in NFC. A former hash stays if only a compatibility form of the password matches it.
    """
    user = find_user(name)
    return authenticate_user(
        user, password, name=name, rounds=rounds, former=former, on_failure=on_failure
    )


def authenticate_user(
    user: User | None,
    password: str,
    *,
    name: str,
    rounds: int,
    former: FormerPasswords | None = None,
    on_failure: OnFailure = lambda reason, user_id: None,
) -> User | None:
    """Do as `authenticate` for a user who has been found already, such as the one logged in."""
    stored, scheme = None if user is None else user.hashed_password, None
    if former is not None:
        stored, scheme = former.find(user, name)
    if scheme is None:
        form = matching_form(password, stored, rounds=rounds)
        is_right, is_replaced = form is not None, True
        is_current = form == normal_form(password)
    else:
        digests = scheme.digests(password)
        digest = matching_digest(digests, stored)
        is_right, is_current = digest is not None, False
        is_replaced = digest is not None and digests[digest]
    if user is None or not is_right or not user.is_active:
        user_id, reason = None, "no such user"
        if user is not None:
            user_id, reason = user.id, "inactive" if is_right else "wrong password"
        events.emit(kinds.LOGIN_FAILED, user_id=user_id, reason=reason)
        on_failure(reason, user_id)
        return None
    is_former = stored is not None and (not is_current or needs_rehash(stored, rounds=rounds))
    if is_former and is_replaced:
        _rehash(user, password, rounds)
    return user


def _rehash(user: User, password: str, rounds: int) -> None:
    """Hash the same password with the configured cost, and keep the user's sessions."""
    if representation_problem(password) is not None:
        return  # a former password can be longer; in NFC, few scripts need more bytes than as typed
    replacement = hash_password(password, rounds=rounds)
    # The stamp is compared, so that a concurrent change of password is kept.
    replace = User.update(hashed_password=replacement, security_stamp=User.security_stamp).where(
        User.id == user.id, User.security_stamp == user.security_stamp
    )
    with database.atomic():
        if replace.execute():
            forget_former_password(user.id)
