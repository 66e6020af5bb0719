"""Why a user cannot log in, for the staff who help them, each with the one action that fits."""

from datetime import datetime
from typing import NamedTuple

from wsgiauth.accounts.models import User, is_proven_here
from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.features.factors.factors import UserFactors
from wsgiauth.messages import _, ngettext
from wsgiauth.settings import Settings
from wsgiauth.throttling.failed_logins import Wait


class Obstacle(NamedTuple):
    """What is between a user and their account."""

    text: str
    action: str = ""  # the name of the action that helps; empty if there is none
    until: datetime | None = None  # in UTC, if it ends by itself


def find_obstacles(
    user: User,
    settings: Settings,
    ways_in: WaysIn,
    *,
    waits: tuple[Wait, ...],
    second_factors: UserFactors | None,
    has_first_key: bool,
) -> tuple[Obstacle, ...]:
    """Return what can keep a user from logging in, or that nothing does.

    Args:
        has_first_key: The user logs in with a passkey: see `SecondFactors.first_of`.
    """
    found = []
    if not user.is_active:
        found.append(Obstacle(_("The account is inactive: every login is refused."), "activate"))
    if waits:
        text = _(
            "After too many attempts, some logins must wait: the failed logins below say which."
        )
        found.append(Obstacle(text, until=max(each.until for each in waits)))
    if has_first_key:
        found.append(_first_key(settings))
    elif settings.PASSWORD_LOGIN and not user.has_password:
        found.append(Obstacle(_without_password(ways_in.has_one(user)), "reset-link"))
    elif not ways_in.has_one(user):
        found.append(Obstacle(_("The user has no way to log in.")))
    if (settings.VERIFICATION or settings.LOGIN_CODES) and not is_proven_here(user):
        found.append(
            Obstacle(_("The user has never proven the email address here."), "verify-email")
        )
    if second_factors is not None and second_factors.factors and not has_first_key:
        found.append(Obstacle(_second_step(second_factors.recovery_codes_left), "remove-factors"))
    if not found:
        text = _("Nothing keeps the user from logging in. They may have forgotten the password.")
        found.append(Obstacle(text, "reset-link"))
    return tuple(found)


def _first_key(settings: Settings) -> Obstacle:
    action = "reset-link" if settings.PASSWORD_LOGIN else ""
    if settings.MAIL_URL is None or not (settings.PASSWORD_LOGIN or settings.LOGIN_CODES):
        return Obstacle(_("The user logs in with a passkey. If it is lost, no email lets them in."))
    return Obstacle(
        _("The user logs in with a passkey. If it is lost, an email lets them in."), action
    )


def _without_password(has_other_way: bool) -> str:
    if has_other_way:
        return _("The user has no password, and can only log in another way.")
    return _("The user has no password, and no other way to log in.")


def _second_step(codes_left: int) -> str:
    if not codes_left:
        return _(
            "A login needs the second step, and no recovery code is left. If the device is lost,"
            " turn off two-step verification."
        )
    return ngettext(
        "A login needs the second step. If the device is lost, the user can enter the recovery"
        " code that is left; without it, turn off two-step verification.",
        "A login needs the second step. If the device is lost, the user can enter one of the"
        " %(num)s recovery codes that are left; without them, turn off two-step verification.",
        codes_left,
    )
