"""The command `restored`: makes a database that was restored from a backup safe to serve.

A restore makes valid again what was revoked since the backup. The database would also give the
numbers of users who came since to other people.

The order matters if the command is killed. First, the numbers move, because MariaDB commits that by
itself. Then one transaction raises all stamps, which ends everything that carries one, and deletes
the API keys, which carry none. Deletions follow in batches, those of features last, because their
models can fail. Another run completes them.
"""

import secrets
from collections.abc import Iterator
from typing import Any

from wsgiauth import events, storage
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import RECOVERY, Key, OneTimeSecret, Session, TrustedBrowser
from wsgiauth.cli.upkeep import delete_of_features, refuse_failed
from wsgiauth.console.command import Arguments, UsageError, open_database
from wsgiauth.console.output import print_line
from wsgiauth.console.parser import Parser, positive
from wsgiauth.console.prompts import confirm
from wsgiauth.events import kinds
from wsgiauth.events.models import RecordedEvent
from wsgiauth.mail.outbox import Mail
from wsgiauth.messages import counted
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import from_timestamp, utc_text
from wsgiauth.storage.upkeep import delete_all

SKIP = 1_000_000
MAX_SKIP = 100_000_000  # a stamp has room for ten restores, or for a thousand by the usual skip
NUMBERED = {"users": User, "groups": Group, "events": RecordedEvent}


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    added = parser.command(
        "restored", end_all, "--yes", examples=("--skip 1000000",), details="Stop the site first."
    )
    added.add_argument(
        "--skip",
        metavar="N",
        type=positive,
        default=SKIP,
        help=f"skip N numbers of users, groups and events ({SKIP})",
    )
    added.add_argument(
        "--end-recovery-codes",
        action="store_true",
        help="delete the recovery codes of all users, too",
    )


def end_all(arguments: Arguments) -> None:
    """End everything that was issued, and move the numbers, after a confirmation."""
    if arguments.skip > MAX_SKIP:
        raise UsageError(f"--skip takes at most {MAX_SKIP}")
    # Here, because few commands need it.
    from wsgiauth.feature import at_restore_of
    from wsgiauth.features.registry import features_of

    settings = open_database(arguments)
    confirm(arguments, "Revoke the sessions, API keys, links and grants of all users?")
    newest = _newest_event()
    skipped = _skip_numbers(arguments.skip)
    issued = at_restore_of(features_of(settings))
    failed: list[str] = []
    ended = dict(_end(arguments.skip, end_recovery_codes=arguments.end_recovery_codes))
    ended |= delete_of_features(issued, delete_all, failed)
    counts = ", ".join(counted(number, name) for name, number in ended.items())
    events.emit(kinds.RESTORED, reason=counts)
    print_line(f"Deleted {counts}.")
    print_line(f"New numbers begin after {skipped}.")
    _print_unknown(newest)
    refuse_failed(failed)


def _newest_event() -> str:
    """Return the time of the last change before the backup; empty if the trail is empty."""
    newest: Any = RecordedEvent.select(RecordedEvent.time).order_by(RecordedEvent.time.desc())
    # Another run must not take its own event for the last one of the backup.
    time = newest.where(RecordedEvent.name != kinds.RESTORED.name).limit(1).scalar()
    return "" if time is None else utc_text(from_timestamp(time))


def _skip_numbers(skip: int) -> str:
    """Skip numbers in each table; return the last ones, for people."""
    opened: Any = storage.current()
    last = {
        name: opened.skip_numbers(model._meta.table_name, skip) for name, model in NUMBERED.items()
    }
    return ", ".join(f"{number} ({name})" for name, number in last.items())


def _end(skip: int, *, end_recovery_codes: bool) -> Iterator[tuple[str, int]]:
    """Delete what was issued; yield what a row is, and how many there were."""
    yield "API key", _raise_stamps(skip)
    # These can have no user, and so no stamp. An email gets a new link when it is sent.
    yield "waiting email", delete_all(Mail)
    yield "one-time secret", delete_all(OneTimeSecret, OneTimeSecret.purpose != RECOVERY)
    if end_recovery_codes:
        yield "recovery code", delete_all(OneTimeSecret)
    yield "trusted browser", delete_all(TrustedBrowser)
    yield "session", delete_all(Session)


@repeated_after_conflict
def _raise_stamps(skip: int) -> int:
    """End everything that carries a stamp, and all API keys; return the number of keys.

    A stamp that is raised by one could equal a stamp from after the backup. Signed values without a
    row, such as cookies, would be valid again. The random part makes the stamps differ from those
    after an earlier restore of the same backup.
    """
    raised = User.security_stamp + skip + secrets.randbelow(skip)
    with database.atomic():
        User.update(security_stamp=raised).execute()
        return int(Key.delete().execute())


def _print_unknown(newest: str) -> None:
    """Print what an operator has to look at."""
    codes = OneTimeSecret.select(OneTimeSecret.user).where(OneTimeSecret.purpose == RECOVERY)
    owners = codes.distinct().count()
    print_line(f"Changes after {newest or 'the backup'} are lost. Check:")
    if owners:
        print_line(
            f"- recovery codes: used ones work again, and {counted(owners, 'user')} can have some;"
            " --end-recovery-codes deletes all"
        )
    print_line(
        "- users: passwords, second factors, connected accounts and rights are as they were;"
        " deactivated and deleted users are back"
    )
    print_line(
        "- apps: their secrets are as they were, and deleted apps are back; they get no logout"
        " token for sessions that began later"
    )
