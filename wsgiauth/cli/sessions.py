"""Commands that list and end sessions, and remove second factors."""

import time

from wsgiauth.authentication import factors, sessions
from wsgiauth.authentication.session_list import ListedSession, end_by_handle
from wsgiauth.cli.command import Arguments, CommandError, UsageError, open_database, require_user
from wsgiauth.cli.output import Table, counted, print_json_list, print_line
from wsgiauth.cli.parser import USER, AddCommand, add_user
from wsgiauth.storage.models import utc_text

_COLUMNS = (
    "handle",
    "began",
    "last seen",
    "ends unless used",
    "ends at the latest",
    "address",
    "browser",
    "proven by",
)


def add_commands(add: AddCommand) -> None:
    """Add the commands of this module."""
    added = add("sessions", list_sessions, "list a user's active sessions, the newest first")
    add_user(added)
    added.add_argument("--json", action="store_true", help="print JSON, for programs")
    added = add(
        "removefactor", remove_factor, "remove all second factors of a user, and end their sessions"
    )
    add_user(added)
    added = add("logout", log_out, "end sessions of a user, or of all users")
    whose = added.add_mutually_exclusive_group(required=True)
    whose.add_argument("user", metavar="USER", nargs="?", help=USER)
    whose.add_argument("--all", action="store_true", help="end the sessions of all users")
    added.add_argument(
        "--session", metavar="HANDLE", help="end only this session, as `sessions` lists it"
    )


def remove_factor(arguments: Arguments) -> None:
    """Remove the second factors of a user, who has lost them, and end all of their sessions."""
    open_database(arguments)
    user = require_user(arguments.user)
    removed = factors.remove_all(user)
    if not removed:
        raise CommandError(f"{user} has no second factor")
    print_line(
        f"Removed {counted(removed, 'second factor')} of {user} and the recovery codes;"
        " all sessions are ended."
    )


def list_sessions(arguments: Arguments) -> None:
    """Print a user's active sessions as a table or as JSON, the newest first."""
    open_database(arguments)
    listed = [ListedSession.of(each) for each in require_user(arguments.user).sessions]
    if arguments.json:
        documents = [each.document() for each in listed]
        print_json_list(documents)
    else:
        Table(_COLUMNS).print([_row(each) for each in listed])


def log_out(arguments: Arguments) -> None:
    """End one session or all sessions of one user, or all sessions of all users."""
    if arguments.all and arguments.session:
        raise UsageError("--session needs a USER")
    open_database(arguments)
    if arguments.all:
        print_line(f"Ended {counted(sessions.end_everyone(), 'session')} of all users.")
        return
    user = require_user(arguments.user)
    if not arguments.session:
        print_line(f"Ended {counted(sessions.end_all(user), 'session')} of {user}.")
    elif end_by_handle(user, arguments.session, time.time()):
        print_line(f"Ended session {arguments.session} of {user}.")
    else:
        raise CommandError(f"{user} has no session {arguments.session}")


def _row(session: ListedSession) -> list[str]:
    last_seen = session.last_seen_at
    return [
        session.handle,
        utc_text(session.created_at),
        utc_text(last_seen) if last_seen else "",
        utc_text(session.expires_at),
        utc_text(session.ends_at),
        session.address,
        session.browser,
        " ".join(session.methods),
    ]
