"""Commands that list and revoke sessions."""

import time

from wsgiauth.authentication import sessions
from wsgiauth.authentication.session_list import ListedSession, revoke_by_handle
from wsgiauth.console.command import (
    Arguments,
    CommandError,
    UsageError,
    open_database,
    require_user,
)
from wsgiauth.console.output import print_line, print_list
from wsgiauth.console.parser import USER, Parser
from wsgiauth.messages import counted

_COLUMNS = {
    "handle": "handle",
    "began": "created_at",
    "last seen": "last_seen_at",
    "ends unless used": "expires_at",
    "ends at the latest": "ends_at",
    "address": "address",
    "browser": "browser",
    "proven by": "methods",
}


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    parser.command(
        "sessions",
        print_sessions,
        "user",
        "--json",
        examples=("ada",),
        details="expires_at is the end without use, ends_at the latest end.",
    )
    added = parser.command(
        "logout",
        revoke_sessions,
        examples=(
            "ada",
            "--all",
        ),
        details="Except with --session, it also ends the trust in browsers.",
    )
    whose = added.add_mutually_exclusive_group(required=True)
    whose.add_argument("user", metavar="USER", nargs="?", help=USER)
    whose.add_argument("--all", action="store_true", help="revoke the sessions of all users")
    added.add_argument(
        "--session", metavar="HANDLE", help="revoke only this session, as `sessions` lists it"
    )


def print_sessions(arguments: Arguments) -> None:
    """Print a user's active sessions, the newest first."""
    open_database(arguments)
    listed = [ListedSession.of(each).document() for each in require_user(arguments.user).sessions]
    print_list([listed], _COLUMNS, as_json=arguments.json)


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
