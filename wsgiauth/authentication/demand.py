"""Who must have a second factor (SECOND_FACTOR), and which logins are not enough for that.

On the way of a request, `identity` asks this module with what its one SELECT has read.
"""

from wsgiauth.accounts.models import User
from wsgiauth.authentication.methods import has_second_factor
from wsgiauth.settings import Settings


def is_made(settings: Settings) -> bool:
    """Return whether the site demands a second factor of any user."""
    return settings.SECOND_FACTOR != "offered"


def is_made_of(user: User, settings: Settings) -> bool:
    """Return whether a user must have a second factor."""
    if settings.SECOND_FACTOR == "staff":
        return user.is_staff or user.is_superuser
    return settings.SECOND_FACTOR == "all"


def is_met(user: User, methods: str, settings: Settings) -> bool:
    """Return whether a login of a user is enough for the site.

    Args:
        user: The user.
        methods: By what they proved who they are, between spaces.
        settings: `SECOND_FACTOR`.
    """
    return has_second_factor(methods) or not is_made_of(user, settings)
