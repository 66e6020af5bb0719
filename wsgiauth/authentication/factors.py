"""Second factors: which ones a user has and must have, and whether a code proves one of them.

Each type of factor has a module of its own; this one alone knows all types. On the way of a
request, `identity` asks it only on a site that demands second factors, and with what its one SELECT
has read.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.authentication import passkeys, recovery_codes, totp
from wsgiauth.authentication.keys import is_handle
from wsgiauth.authentication.methods import HARDWARE_KEY, ONE_TIME_CODE, has_second_factor
from wsgiauth.authentication.passkeys import Passkey
from wsgiauth.authentication.passkeys.relying_party import RelyingParty
from wsgiauth.authentication.totp import Totp
from wsgiauth.exceptions import UnauthenticatedError
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.models import from_timestamp, utc_text

_KINDS = {ONE_TIME_CODE: _("Authenticator app"), HARDWARE_KEY: _("Passkey")}


class Factor(NamedTuple):
    """A second factor of a user."""

    method: str  # what it proves: `otp`, an authenticator app; `hwk`, a passkey
    handle: str  # names it among the factors of its user; not secret
    name: str  # how the user calls it
    added_at: datetime  # UTC

    @property
    def kind(self) -> str:
        """What it is, in words."""
        return _KINDS[self.method]

    def document(self) -> dict[str, object]:
        """Return the factor, ready for JSON."""
        return {"method": self.method, "name": self.name, "added_at": utc_text(self.added_at)}


class SecondFactors(NamedTuple):
    """All second factors of a user, by type, the oldest first."""

    factors: tuple[Factor, ...]
    recovery_codes_left: int

    @classmethod
    def read(cls, user: User) -> "SecondFactors":
        """Return the second factors of a user."""
        return cls(tuple(list_factors(user)), recovery_codes.count(user))

    def document(self) -> dict[str, object]:
        """Return the factors, ready for JSON."""
        return {
            "factors": [each.document() for each in self.factors],
            "recovery_codes_left": self.recovery_codes_left,
        }


def demands_second_factor(settings: Settings) -> bool:
    """Return whether SECOND_FACTOR demands a second factor of any user."""
    return settings.SECOND_FACTOR != "offered"


def demands_second_factor_of(user: User, settings: Settings) -> bool:
    """Return whether SECOND_FACTOR demands a second factor of a user."""
    if settings.SECOND_FACTOR == "staff":
        return user.is_staff or user.is_superuser
    return settings.SECOND_FACTOR == "all"


def meets_demand(user: User, methods: str, settings: Settings) -> bool:
    """Return whether a session of a user, proven by these methods, is enough for the site."""
    return has_second_factor(methods) or not demands_second_factor_of(user, settings)


def are_offered(settings: Settings) -> bool:
    """Return whether a site with these settings has second factors."""
    return settings.FACTOR_KEY is not None or settings.PASSKEYS


def list_factors(user: User, settings: Settings | None = None) -> list[Factor]:
    """Return the second factors of a user, by type, the oldest first.

    A passkey of another host than that of PUBLIC_URL counts, although it does not work: a change of
    the host must not make the password alone sufficient.

    Args:
        settings: To list only the types of factors that such a site asks for; None: all types.
    """
    apps = totp.devices(user) if settings is None or settings.FACTOR_KEY is not None else []
    keys = passkeys.list_passkeys(user) if settings is None or settings.PASSKEYS else []
    return [
        *(_factor(ONE_TIME_CODE, each, each.confirmed_at) for each in apps),
        *(_factor(HARDWARE_KEY, each, each.created_at) for each in keys),
    ]


def _factor(method: str, row: Totp | Passkey, added_at: int) -> Factor:
    return Factor(method, row.id, row.name, from_timestamp(added_at))


def has_factor(user: User, settings: Settings) -> bool:
    """Return whether a login of a user needs a second factor on a site with these settings."""
    return bool(list_factors(user, settings))


def confirm(device: Totp, code: str, keys: Sequence[str], now: float) -> bool:
    """Make a device a factor if it made the code; see `totp.confirm`.

    Recovery codes from before the first factor end: a guest of the account may have made them.

    Args:
        device: With its user, as read before their credentials were verified.

    Raises:
        UnauthenticatedError: The user was deactivated or deleted, or the password changed.
    """
    user = device.user
    with database.atomic():
        owner = lock_user(user.id)
        if owner is None or owner.security_stamp != user.security_stamp:
            raise UnauthenticatedError("invalid_token")
        if len(totp.devices(user)) >= totp.MOST_DEVICES:  # by set-ups of other sessions
            return False
        is_first = not list_factors(user)
        confirmed = totp.confirm(device, code, keys, now)
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
    """Return whether a code is from an app of the user, or a recovery code; it works once."""
    keys = totp.factor_keys(settings)
    is_of_app = bool(keys) and totp.accept(user, code, keys, now)
    return is_of_app or recovery_codes.use(user, code)


def remove(user: User, handle: str | None = None) -> int:
    """Remove a factor of the user, or all of every type; return how many.

    The recovery codes end with the last factor. Of concurrent removals, each sees what those before
    it have left.
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
    that were sent. Nothing ends if the user has no factor.
    """
    with database.atomic():
        removed = remove(user)
        if removed:
            stamp = User.security_stamp + 1
            User.update(security_stamp=stamp).where(User.id == user.id).execute()
            events.emit("logout", user_id=user.id, reason="all sessions")
    return removed


def unasked_factors(settings: Settings) -> list[str]:
    """Return a warning about each kind of second factor that is turned off although it is used.

    A start and `check` warn of them. Costs one EXISTS for each kind that is turned off.
    """
    found = []
    if settings.FACTOR_KEY is None and totp.is_used():
        found.append(
            "FACTOR_KEY is not set, but users have second factors: no login asks for their codes."
            + _remedy(settings, "set FACTOR_KEY to its former value")
        )
    if not settings.PASSKEYS and passkeys.is_used():
        found.append(
            "PASSKEYS is off, but users have passkeys: no login asks for them."
            + _remedy(settings, "set PASSKEYS to on")
        )
    return found


def _remedy(settings: Settings, switch_on: str) -> str:
    if not demands_second_factor(settings):
        return ""
    return (
        f" Where SECOND_FACTOR={settings.SECOND_FACTOR} demands one, users who have no other cannot"
        f" log in: {switch_on}, or run `python -m wsgiauth removefactor USER` for each."
    )
