"""Second factors that users have, but no login asks for: a start and `check` warn of them."""

from wsgiauth.authentication import demand, passkeys, totp
from wsgiauth.settings import Settings


def unasked_factors(settings: Settings) -> list[str]:
    """Return a sentence about each kind of second factor that is turned off although it is used.

    Costs one EXISTS for each kind that is turned off.

    Raises:
        peewee.DatabaseError: The database failed.
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
    if not demand.is_made(settings):
        return ""
    return (
        f" Where SECOND_FACTOR={settings.SECOND_FACTOR} demands one, users who have no other cannot"
        f" log in: {switch_on}, or run `python -m wsgiauth removefactor USER` for each."
    )
