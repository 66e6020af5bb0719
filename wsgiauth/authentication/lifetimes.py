"""How long sessions live; the settings decide. docs/sessions.md has the table."""

from typing import NamedTuple

from wsgiauth.settings import Settings

MINUTE = 60  # seconds
HOUR = 60 * MINUTE
DAY = 24 * HOUR
MOST_COOKIE_DAYS = 400  # browsers cut longer cookies: RFC 6265bis section 5.5
CLOCK_SKEW = 60  # seconds by which the clocks of two hosts can differ
HOST_SKEW = 3  # the same, where a minute would permit or refuse too much: docs/clusters.md


class Lifetime(NamedTuple):
    """How long a session lives, in seconds."""

    total: int  # until it ends, also if it is used
    idle: int = 0  # until it ends without use, which moves this end; 0: use does not move it
    is_refreshable: bool = False  # whether it has a refresh token; then only a refresh is use


def of_program(settings: Settings) -> Lifetime:
    """Return the lifetime of a session by JSON: fixed."""
    return Lifetime(settings.JWT_EXPIRY_MINUTES * MINUTE)


def of_refreshable(settings: Settings, *, remember: bool) -> Lifetime:
    """Return the lifetime of a session by JSON with a refresh token."""
    if not (remember and settings.REMEMBER_DAYS):
        return Lifetime(settings.SESSION_HOURS * HOUR, is_refreshable=True)
    idle = settings.REMEMBER_IDLE_DAYS * DAY
    return Lifetime(settings.REMEMBER_DAYS * DAY, idle, is_refreshable=True)


def of_browser(settings: Settings, *, remember: bool) -> Lifetime:
    """Return the lifetime of a session by form, which moves while the browser is used."""
    if not (remember and settings.REMEMBER_DAYS):
        return Lifetime(settings.SESSION_HOURS * HOUR, settings.JWT_EXPIRY_MINUTES * MINUTE)
    return Lifetime(remembered_days(settings) * DAY, settings.REMEMBER_IDLE_DAYS * DAY)


def remembered_days(settings: Settings) -> int:
    """Return for how many days a browser stays logged in; its cookie is never renewed."""
    return min(settings.REMEMBER_DAYS, MOST_COOKIE_DAYS)


def longest(settings: Settings) -> int:
    """Return how long a token can be valid, in seconds."""
    return max(
        of_program(settings).total,
        of_browser(settings, remember=False).total,
        of_browser(settings, remember=True).total,
        of_refreshable(settings, remember=True).total,
    )
