"""All kinds of second factors together: authenticator apps, passkeys and recovery codes."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import peewee

from wsgiauth import events
from wsgiauth.accounts import lock_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import is_handle
from wsgiauth.accounts.tables import end_trust
from wsgiauth.authentication.methods import HARDWARE_KEY, ONE_TIME_CODE, RECOVERY_CODE
from wsgiauth.authentication.second_factors import Factor, FactorKind, Risk
from wsgiauth.events import kinds
from wsgiauth.exceptions import UnauthenticatedError
from wsgiauth.features.factors import passkeys, recovery_codes, totp
from wsgiauth.features.factors.event_kinds import FACTOR_REMOVED, PASSKEY_SKIPPED
from wsgiauth.features.factors.passkeys import Passkey, PasskeyAccount
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.features.factors.totp import Totp
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.models import NO_PASSWORD, from_timestamp
from wsgiauth.storage.statements import Statement, is_given

_APP, _PASSKEY = _("Authenticator app"), _("Passkey")


class UserFactors(NamedTuple):
    """All second factors of a user, by type, the oldest first, and their recovery codes."""

    factors: tuple[Factor, ...]
    recovery_codes_left: int

    @classmethod
    def read(cls, user: User) -> "UserFactors":
        """Return the second factors of a user."""
        return cls(tuple(list_factors(user)), recovery_codes.count(user))

    def document(self) -> dict[str, object]:
        """Return the factors, ready for JSON."""
        return {
            "factors": [each.document() for each in self.factors],
            "recovery_codes_left": self.recovery_codes_left,
        }


class _Apps(FactorKind):
    """Authenticator apps."""

    set_up_path = "/totp"

    def is_asked_for(self, settings: Settings) -> bool:
        return settings.FACTOR_KEY is not None

    def list_factors(self, user: User) -> list[Factor]:
        return [
            Factor(ONE_TIME_CODE, each.id, each.name, from_timestamp(each.confirmed_at), _APP)
            for each in totp.devices(user)
        ]

    def accept(self, user: User, code: str, settings: Settings, now: float) -> bool:
        keys = totp.factor_keys(settings)
        return bool(keys) and totp.accept(user, code, keys, now)

    def risk(self, settings: Settings) -> Risk | None:
        if settings.FACTOR_KEY is not None or not totp.is_used():
            return None
        found = (
            "FACTOR_KEY is not set, but users have second factors: no login asks for their codes."
        )
        return Risk(found, "set FACTOR_KEY to its former value")


class _Passkeys(FactorKind):
    """Passkeys.

    A passkey of another host than PUBLIC_URL's does not work, but counts: a change of the host must
    not make the password alone sufficient.
    """

    set_up_path = "/passkeys"
    skipped = PASSKEY_SKIPPED

    def is_asked_for(self, settings: Settings) -> bool:
        return settings.PASSKEYS

    def list_factors(self, user: User) -> list[Factor]:
        return [
            Factor(HARDWARE_KEY, each.id, each.name, from_timestamp(each.created_at), _PASSKEY)
            for each in passkeys.list_passkeys(user)
        ]

    def replaces_password(self, user: User) -> bool:
        return passkeys.are_first_factor(user)

    def risk(self, settings: Settings) -> Risk | None:
        if settings.PASSKEYS or not passkeys.is_used():
            return None
        found = "PASSKEYS is off, but users have passkeys: no login asks for them."
        return Risk(found, "set PASSKEYS to on")


class _RecoveryCodes(FactorKind):
    """Recovery codes, which replace a factor and are not one."""

    code_methods = f"{ONE_TIME_CODE} {RECOVERY_CODE}"

    def is_asked_for(self, settings: Settings) -> bool:
        return False

    def list_factors(self, user: User) -> list[Factor]:
        return []

    def accept(self, user: User, code: str, settings: Settings, now: float) -> bool:
        return recovery_codes.use(user, code, rounds=recovery_codes.rounds_of_site(settings))

    def codes_left(self, user: User) -> int:
        return recovery_codes.count(user)

    def state(self, user: User) -> str:
        return recovery_codes.set_id_of(user)


KINDS: tuple[FactorKind, ...] = (_Apps(), _Passkeys(), _RecoveryCodes())


def are_offered(settings: Settings) -> bool:
    """Return whether a site with these settings has second factors."""
    return any(each.is_asked_for(settings) for each in KINDS)


def list_factors(user: User) -> list[Factor]:
    """Return the second factors of a user, by type, the oldest first."""
    return [factor for kind in KINDS for factor in kind.list_factors(user)]


def confirm(device: Totp, code: str, keys: Sequence[str], now: float) -> bool:
    """Make a device a factor if it made the code; see `totp.confirm`.

    Remove recovery codes from before the first factor: another person may have made them. Raise
    UnauthenticatedError if the user has lost the session since `device.user` was read.
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
        if confirmed:
            end_trust(user.id)
        if confirmed and is_first:
            recovery_codes.remove_all(user)
    return confirmed


def count_users() -> int:
    """Return how many users have a second factor; see `SecondFactors.of`.

    Recovery codes alone are none, nor are the passkeys of a user who registered with a passkey and
    has no password, unless the user has an app, too: such passkeys replace the password.
    """
    is_first = peewee.fn.EXISTS(
        PasskeyAccount.select(peewee.SQL("1"))
        .join(User)
        .where(PasskeyAccount.user == Passkey.user, User.hashed_password == NO_PASSWORD)
    )
    apps = Totp.select(Totp.user).where(Totp.confirmed_at > 0)
    keys = Passkey.select(Passkey.user).where(~is_first)
    return int((apps | keys).count())  # UNION, so each user once


def add_passkey(party: RelyingParty, user: User, name: str, credential: str, now: float) -> None:
    """Add the passkey that a browser made; see `RelyingParty.register` and `confirm`."""
    with database.atomic():
        lock_user(user.id)
        is_first = not list_factors(user)
        party.register(user, name, credential, now)
        end_trust(user.id)
        if is_first:
            recovery_codes.remove_all(user)


def remove(user: User, handle: str | None = None) -> int:
    """Remove a factor of the user, or all; return how many.

    Remove the recovery codes with the last factor. The lock orders concurrent removals.
    """
    if handle is not None and not is_handle(handle):
        return 0
    with database.atomic():
        lock_user(user.id)
        use = passkeys.use_of(user)
        removed = _remove(user, handle, Totp, totp.devices(user), "otp", {})
        removed += _remove(user, handle, Passkey, passkeys.list_passkeys(user), "passkey", use)
        if removed:
            end_trust(user.id)
        if removed and not list_factors(user):
            recovery_codes.remove_all(user)
    return removed


@cache
def _removal(model: type[Totp | Passkey], *, is_of_one: bool) -> Statement:
    """Return the DELETE of a kind of factor, of one factor of the user or of all."""
    conditions = [is_given(model.user)]
    if model is Totp:
        conditions.append(Totp.confirmed_at > 0)
    if is_of_one:
        conditions.append(is_given(model.id))
    return Statement(lambda: model.delete().where(*conditions))


def _remove(
    user: User,
    handle: str | None,
    model: type[Totp | Passkey],
    listed: Sequence[Totp | Passkey],
    reason: str,
    further: Mapping[str, str],
) -> int:
    values = {"user": user.id} if handle is None else {"user": user.id, "id": handle}
    # Not by listed ids: MariaDB's snapshot can hide rows.
    removed = _removal(model, is_of_one=handle is not None).execute(**values)
    if removed:
        names = ", ".join(each.name for each in listed if handle in (None, each.id))
        details = {"factor": names, **further}
        events.emit(FACTOR_REMOVED, user_id=user.id, reason=reason, details=details)
    return removed


_FORGET = Statement(lambda: PasskeyAccount.delete().where(is_given(PasskeyAccount.user)))


def remove_unproven(user: User) -> None:
    """Remove the factors and codes from before the first proof of the address."""
    remove(user)
    recovery_codes.remove_all(user)
    _FORGET.execute(user=user.id)


def remove_all(user: User) -> int:
    """Remove all factors of a user who has lost them; return how many.

    Also revoke all sessions, logins in progress and links, because a thief of the device may have
    them. Without a factor, change nothing.
    """
    with database.atomic():
        removed = remove(user)
        if removed:
            stamp = User.security_stamp + 1
            User.update(security_stamp=stamp).where(User.id == user.id).execute()
            events.emit(kinds.LOGOUT, user_id=user.id, reason="all sessions")
    return removed
