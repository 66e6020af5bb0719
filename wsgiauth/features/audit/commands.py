"""The command that prints the audit trail."""

import argparse
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import chain

from wsgiauth.accounts import find_user
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import typed
from wsgiauth.console.command import Arguments, CommandError, open_database
from wsgiauth.console.output import Table, print_json_line
from wsgiauth.console.parser import USER, Parser, positive
from wsgiauth.events import Event, actors
from wsgiauth.feature import changes_of
from wsgiauth.features.audit.trail import Entry, Filters, Follower, stream
from wsgiauth.features.registry import features_of_process
from wsgiauth.storage.models import utc_text

FOLLOWED = 10  # events that --follow prints first, without --limit
INTERVAL = 1  # seconds between two polls

_ANY_USER = f'{USER}, or "user 7" with the id, as for a deleted user'
_COLUMNS = ("time", "event", "user", "actor", "address", "reason")


def add_commands(parser: Parser) -> None:
    """Add the command of this module."""
    added = parser.command(
        "events",
        print_events,
        examples=(
            "ada --since 2026-11-01 --limit 20",
            '--actor "command line" --name rights_changed --json',
        ),
        details='Other actors are "command line root", "other app" and "user 7 key 4fD8sKq2ZxLw".'
        " Name a user called code by id. --follow begins with the newest 10.",
    )
    added.add_argument("user", metavar="USER", nargs="?", help=f"only changes of {_ANY_USER}")
    changes = changes_of(features_of_process())
    added.add_argument("--name", metavar="NAME", choices=changes, help=", ".join(changes))
    added.add_argument(
        "--actor",
        metavar="ACTOR",
        help=f'only changes by {_ANY_USER}; "command line", "command line NAME" or code',
    )
    added.add_argument(
        "--since", metavar="TIME", type=_moment, help="at this time or later, as in 2026-11-01"
    )
    added.add_argument(
        "--until",
        metavar="TIME",
        type=_moment,
        help="before this time; in UTC, unless the time has an offset",
    )
    added.add_argument("--limit", metavar="N", type=positive, help="only the newest N events")
    added.add_argument(
        "--json", action="store_true", help="print one JSON object a line, for programs"
    )
    added.add_argument(
        "--follow", action="store_true", help="print further events as they happen, until Ctrl+C"
    )


def print_events(arguments: Arguments) -> None:
    """Print the events that match, a page at a time, and then perhaps those that follow."""
    open_database(arguments)
    filters = Filters(
        user_id=None if arguments.user is None else _user_id(arguments.user),
        actor=None if arguments.actor is None else _actor(arguments.actor),
        name=arguments.name,
        since=arguments.since,
        until=arguments.until,
    )
    show = _print_json if arguments.json else _table_printer()
    last = arguments.limit or (FOLLOWED if arguments.follow else None)
    follower = Follower(filters) if arguments.follow else None
    pages = stream(filters, last=last)
    for page in chain([next(pages, [])], pages):  # without events, a table is its headings
        show(page)
        if follower is not None:
            follower.skip(page)
    while follower is not None:
        sys.stdout.flush()
        time.sleep(INTERVAL)
        show(follower.poll())


def _user_id(text: str) -> int:
    user = find_user(typed(text))
    if user is not None:
        return user.id
    number = text.removeprefix("user ")
    if number == text or not number.isdecimal():
        raise CommandError(f"there is no user {text!r}")
    return int(number)


def _actor(text: str) -> str:
    return text if actors.is_actor(text) else actors.user(_user_id(text))


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = f"{text!r} is not a time such as 2026-11-01 or 2026-11-01T09:30:00Z"
        raise argparse.ArgumentTypeError(message) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _print_json(page: list[Entry]) -> None:
    for position, event in page:
        document = {"id": position.id, **event._asdict(), "time": utc_text(event.time)}
        print_json_line(document)


def _table_printer() -> Callable[[list[Entry]], None]:
    table = Table(_COLUMNS)

    def show(page: list[Entry]) -> None:
        names = _labels(page)
        table.print([_row(event, names) for _, event in page])

    return show


def _labels(page: list[Entry]) -> dict[int, str]:
    """Return the names of the users on a page, by id; deleted users have none."""
    ids = {event.user_id for _, event in page}
    ids |= {actors.user_id_of(event.actor) for _, event in page if event.actor}
    users = User.select(User.id, User.username, User.email).where(
        User.id.in_(sorted(filter(None, ids)))
    )
    return {user.id: user.label for user in users}


def _row(event: Event, names: dict[int, str]) -> list[str]:
    actor = event.actor or ""
    actor_id, key = actors.user_id_of(actor), actors.key_of(actor)
    return [
        utc_text(event.time),
        event.name,
        _with_name(event.user_id, names),
        _with_name(actor_id, names) + (f" key {key}" if key else "") or str(event.actor),
        event.address or "",
        event.reason or "",
    ]


def _with_name(user_id: int | None, names: dict[int, str]) -> str:
    if user_id is None:
        return ""
    return f"{actors.user(user_id)} ({names[user_id]})" if user_id in names else f"user {user_id}"
