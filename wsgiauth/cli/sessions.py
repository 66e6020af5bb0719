"""Commands that list and end sessions."""

import time
from datetime import UTC, datetime

from wsgiauth.authentication import sessions
from wsgiauth.cli.command import Arguments, open_database, require_user
from wsgiauth.cli.output import Table, counted
from wsgiauth.storage.columns import utc_text


def list_sessions(arguments: Arguments) -> None:
    """Print a user's active sessions."""
    open_database(arguments)
    Table(("session", "began", "ends")).print(
        [
            (
                each.id,
                utc_text(each.created_at),
                utc_text(datetime.fromtimestamp(each.expires_at, UTC)),
            )
            for each in sessions.live(require_user(arguments.user), time.time())
        ]
    )


def log_out(arguments: Arguments) -> None:
    """End all sessions of one user, or of all users."""
    open_database(arguments)
    if arguments.all:
        print(f"Ended {counted(sessions.end_everyone(), 'session')} of all users.")
        return
    user = require_user(arguments.user)
    print(f"Ended {counted(sessions.end_all(user), 'session')} of {user}.")
