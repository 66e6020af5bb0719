"""The command that removes second factors."""

from wsgiauth.authentication.second_factors import SecondFactors
from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.console.command import Arguments, CommandError, open_database, require_user
from wsgiauth.console.output import print_line
from wsgiauth.console.parser import Parser
from wsgiauth.feature import ways_in_of
from wsgiauth.features.factors import factors
from wsgiauth.features.registry import features_of
from wsgiauth.messages import counted


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    parser.command(
        "removefactor",
        remove_factors,
        "user",
        examples=("ada",),
        details="A warning says if the user cannot log in any more.",
    )


def remove_factors(arguments: Arguments) -> None:
    """Remove the second factors of a user who has lost them, and revoke all of their sessions."""
    settings = open_database(arguments)
    user = require_user(arguments.user)
    has_first_key = bool(SecondFactors(factors.KINDS, settings).first_of(user))
    removed = factors.remove_all(user)
    if not removed:
        raise CommandError(f"{user} has no second factor")
    words = "passkey" if has_first_key else "second factor"
    codes = "" if has_first_key else " and the recovery codes"
    print_line(f"Removed {counted(removed, words)} of {user}{codes}, and revoked all sessions.")
    ways_in = WaysIn(ways_in_of(features_of(settings)), settings)
    if not ways_in.has_one(user):  # not refused, because the device is lost
        print_line(
            f"With these settings, {user} can no longer log in. Run `resetlink` to print a link"
            " with which they can choose a password."
        )
