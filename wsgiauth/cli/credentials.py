"""Commands that list, create and revoke sessions and API keys, and remove second factors."""

import time

from wsgiauth.accounts.tables import revoke_keys
from wsgiauth.authentication import factors, keys, sessions
from wsgiauth.authentication.keys import list_keys
from wsgiauth.authentication.session_list import ListedSession, revoke_by_handle
from wsgiauth.authentication.ways_in import WaysIn
from wsgiauth.cli.command import Arguments, CommandError, UsageError, open_database, require_user
from wsgiauth.cli.output import print_line, print_list
from wsgiauth.cli.parser import PERMISSIONS, USER, Parser, positive
from wsgiauth.messages import counted

_SESSION_COLUMNS = {
    "handle": "handle",
    "began": "created_at",
    "last seen": "last_seen_at",
    "ends unless used": "expires_at",
    "ends at the latest": "ends_at",
    "address": "address",
    "browser": "browser",
    "proven by": "methods",
}
_KEY_COLUMNS = {
    "id": "id",
    "name": "name",
    "created": "created_at",
    "expires": "expires_at",
    "last used": "last_used_at",
    "permissions": "permissions",
}


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    parser.command("sessions", print_sessions, "user", "--json")
    parser.command("removefactor", remove_factors, "user")
    added = parser.command("logout", revoke_sessions)
    whose = added.add_mutually_exclusive_group(required=True)
    whose.add_argument("user", metavar="USER", nargs="?", help=USER)
    whose.add_argument("--all", action="store_true", help="revoke the sessions of all users")
    added.add_argument(
        "--session", metavar="HANDLE", help="revoke only this session, as `sessions` lists it"
    )
    parser.command("keys", print_keys, "user", "--json")
    added = parser.command("makekey", create_key, "user")
    added.add_argument("--name", required=True, help="what the key is used for")
    added.add_argument(
        "--permission",
        help="what it can be used for, such as reports.publish; the user must have it; without any,"
        " the key is enough only where a login is",
        **PERMISSIONS,
    )
    added.add_argument(
        "--days",
        type=positive,
        default=keys.DEFAULT_DAYS,
        help=f"after how many days it expires ({keys.DEFAULT_DAYS})",
    )
    added = parser.command("endkey", revoke_key, "user")
    which = added.add_mutually_exclusive_group(required=True)
    which.add_argument("id", metavar="ID", nargs="?", help="as `keys` lists it")
    which.add_argument("--all", action="store_true", help="revoke all keys of the user")


def print_sessions(arguments: Arguments) -> None:
    """Print a user's active sessions, the newest first."""
    open_database(arguments)
    listed = [ListedSession.of(each).document() for each in require_user(arguments.user).sessions]
    print_list([listed], _SESSION_COLUMNS, as_json=arguments.json)


def remove_factors(arguments: Arguments) -> None:
    """Remove the second factors of a user who has lost them, and revoke all of their sessions."""
    from wsgiauth.features import WAYS_IN  # with all endpoints, which few commands need

    settings = open_database(arguments)
    user = require_user(arguments.user)
    removed = factors.remove_all(user)
    if not removed:
        raise CommandError(f"{user} has no second factor")
    print_line(
        f"Removed {counted(removed, 'second factor')} of {user} and the recovery codes, and revoked"
        " all sessions."
    )
    if not WaysIn(WAYS_IN, settings).has_one(user):  # not refused, because the device is lost
        print_line(
            f"With these settings, {user} has no way to log in now: `resetlink` prints a link with"
            " which they can choose a password."
        )


def revoke_sessions(arguments: Arguments) -> None:
    """Revoke one session or all sessions of one user, or all sessions of all users."""
    if arguments.all and arguments.session:
        raise UsageError("--session needs a USER")
    open_database(arguments)
    if arguments.all:
        print_line(f"Revoked {counted(sessions.revoke_every_session(), 'session')} of all users.")
        return
    user = require_user(arguments.user)
    if not arguments.session:
        print_line(f"Revoked {counted(sessions.revoke_all(user), 'session')} of {user}.")
    elif revoke_by_handle(user, arguments.session, time.time()):
        print_line(f"Revoked session {arguments.session} of {user}.")
    else:
        raise CommandError(f"{user} has no session {arguments.session}")


def print_keys(arguments: Arguments) -> None:
    """Print a user's API keys, the newest first."""
    open_database(arguments)
    listed = [each.document() for each in list_keys(require_user(arguments.user), time.time())]
    print_list([listed], _KEY_COLUMNS, as_json=arguments.json)


def create_key(arguments: Arguments) -> None:
    """Create an API key, and print it alone, for scripts."""
    open_database(arguments)
    user = require_user(arguments.user)
    created = keys.create(
        user, arguments.name, arguments.permission, days=arguments.days, now=time.time()
    )
    if created is None:
        raise CommandError(f"{user} is not active")
    print_line(created.text)


def revoke_key(arguments: Arguments) -> None:
    """Revoke one API key or all API keys of a user."""
    open_database(arguments)
    user = require_user(arguments.user)
    if arguments.all:
        print_line(f"Revoked {counted(revoke_keys(user.id), 'API key')} of {user}.")
    elif keys.revoke(user, arguments.id):
        print_line(f"Revoked the API key {arguments.id} of {user}.")
    else:
        raise CommandError(f"{user} has no API key {arguments.id}")
