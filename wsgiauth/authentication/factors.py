"""Second factors: which ones a user has, and whether a code proves one of them.

Each type of factor has a module of its own; this one alone knows all types.
"""

from typing import NamedTuple

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import passkeys, recovery_codes, totp
from wsgiauth.authentication.handles import is_handle
from wsgiauth.authentication.methods import HARDWARE_KEY, ONE_TIME_CODE
from wsgiauth.authentication.passkeys.relying_party import RelyingParty
from wsgiauth.authentication.totp import Totp
from wsgiauth.settings import Settings
from wsgiauth.storage import database


class Factor(NamedTuple):
    """A second factor of a user.

    Attributes:
        method: What it proves (RFC 8176 section 2): `otp`, an authenticator app; `hwk`, a passkey.
        handle: Names it among the factors of its user; not secret.
        name: How the user calls it.
        added_at: When it became a factor, in seconds since the epoch.
    """

    method: str
    handle: str
    name: str
    added_at: int


def are_offered(settings: Settings) -> bool:
    """Return whether a site with these settings has second factors."""
    return settings.FACTOR_KEY is not None or settings.PASSKEYS


def list_factors(user: User, settings: Settings | None = None) -> list[Factor]:
    """Return the second factors of a user, by type, the oldest first.

    A passkey of another host than that of PUBLIC_URL counts, although it does not work: a change of
    the host must not make the password alone sufficient.

    Args:
        user: The user.
        settings: Only factors of types that a site with these settings has, and asks for; None:
            all of them.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    apps = totp.devices(user) if settings is None or settings.FACTOR_KEY is not None else []
    keys = passkeys.list_passkeys(user) if settings is None or settings.PASSKEYS else []
    return [
        *(Factor(ONE_TIME_CODE, each.id, each.name, each.confirmed_at) for each in apps),
        *(Factor(HARDWARE_KEY, each.id, each.name, each.created_at) for each in keys),
    ]


def has_factor(user: User, settings: Settings) -> bool:
    """Return whether a login of a user needs a second factor on a site with these settings.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    return bool(list_factors(user, settings))


def confirm(device: Totp, code: str, factor_key: str, now: float) -> bool:
    """Make a device a factor if the code is its; see `totp.confirm`.

    Recovery codes from before the first factor end: a guest of the account may have made them.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    user = device.user
    with database.atomic():
        lock_user(user.id)
        if len(totp.devices(user)) >= totp.MOST_DEVICES:  # by set-ups of other logins
            return False
        is_first = not list_factors(user)
        confirmed = totp.confirm(device, code, factor_key, now)
        if confirmed and is_first:
            recovery_codes.remove_all(user)
    return confirmed


def add_passkey(party: RelyingParty, user: User, name: str, credential: str, now: float) -> None:
    """Add the passkey that a browser made; see `RelyingParty.register`.

    Recovery codes from before the first factor end, as with `confirm`.
    """
    with database.atomic():
        lock_user(user.id)
        is_first = not list_factors(user)
        party.register(user, name, credential, now)
        if is_first:
            recovery_codes.remove_all(user)


def accept(user: User, code: str, settings: Settings, now: float) -> bool:
    """Return whether a code is of an app of the user, or a recovery code; it works once.

    Args:
        user: The user.
        code: As typed.
        settings: `FACTOR_KEY`.
        now: Seconds since the epoch.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    key = settings.FACTOR_KEY
    is_of_app = key is not None and totp.accept(user, code, key, now)
    return is_of_app or recovery_codes.use(user, code)


def remove(user: User, handle: str | None = None) -> int:
    """Remove a factor of the user, or all of every type; return how many.

    The recovery codes end with the last factor. Of concurrent removals, each sees what those before
    it have left.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    if handle is not None and not is_handle(handle):
        return 0
    with database.atomic():
        lock_user(user.id)
        removed = totp.remove(user, handle) + passkeys.remove(user, handle)
        if removed and not list_factors(user):
            recovery_codes.remove_all(user)
    return removed


def remove_all(user: User) -> int:
    """Remove all factors of a user who has lost them, and end all sessions; return how many.

    Whoever has the lost device can be logged in on it. Logins in progress end, too, and so do links
    that were mailed. For operators and the staff; nothing ends if the user has no factor.

    Raises:
        peewee.DatabaseError: The database failed.
    """
    with database.atomic():
        removed = remove(user)
        if removed:
            stamp = User.security_stamp + 1
            User.update(security_stamp=stamp).where(User.id == user.id).execute()
            events.emit("logout", user_id=user.id, reason="all sessions")
    return removed
