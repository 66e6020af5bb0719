"""The risks of valid settings: each function completes a sentence that begins with the setting."""

from collections.abc import Callable

from wsgiauth.settings.checks import is_forgeable

# OWASP Password Storage Cheat Sheet: a bcrypt work factor of at least 10.
MINIMUM_SAFE_ROUNDS = 10
MINUTES, HOURS, DAYS = 30 * 24 * 60, 30 * 24, 30  # of a month


def cheap_hashes(rounds: int) -> str | None:
    """Return the risk of bcrypt's cost."""
    if rounds >= MINIMUM_SAFE_ROUNDS:
        return None
    return (
        f"is {rounds}: below {MINIMUM_SAFE_ROUNDS}, stolen hashes are cheap to crack. Use such a"
        " low value in tests only."
    )


def longer_than(month: int) -> Callable[[int], str | None]:
    """Return a function that returns the risk of the time that a login lasts.

    Args:
        month: A month in the unit of the setting.
    """

    def risk(time: int) -> str | None:
        if time <= month:
            return None
        return f"is {time}: a stolen token works for more than a month unless its session is ended."

    return risk


def free_guesses(failures: int) -> str | None:
    """Return the risk of the number of failed logins without a wait."""
    return None if failures else "is 0: anyone can try any number of passwords."


def forgeable_origins(origins: tuple[str, ...]) -> str | None:
    """Return the risk of trusting origins."""
    forgeable = [origin for origin in origins if is_forgeable(origin)]
    if not forgeable:
        return None
    return (
        f"has {', '.join(forgeable)}: without https, anyone on a visitor's network can impersonate"
        " it and act with the visitor's cookie."
    )
