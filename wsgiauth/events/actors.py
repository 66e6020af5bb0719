"""Who makes a change: `user 7`, `user 7 key 4fD8…`, `command line ada` or `code`.

An API key acts for its user; after `command line` is the user of the operating system.

On the way of a request: `app` begins with `OWNER`, because the client of a login or of a link acts
for the account of the event, and the endpoints that identify their caller name them. In the views
of the wrapped application, the caller is `wsgiauth.user` of the environ.
"""

import getpass
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import peewee

from wsgiauth.storage import context

CODE = "code"
COMMAND_LINE = "command line"
OWNER = ""  # the user of the event

_USER = re.compile("user ([0-9]+)(?: key ([0-9A-Za-z]+))?")
_WITH_DETAIL = re.compile(f"({COMMAND_LINE}|user [0-9]+) (.*)", re.DOTALL)

_actor: ContextVar[str | None] = ContextVar("wsgiauth.actor", default=None)


@contextmanager
def acting(actor: str) -> Iterator[None]:
    """Let `actor` be who makes the changes in a `with` block."""
    token = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(token)


def identify(user_id: int, key_id: str | None = None) -> None:
    """Name the user, or their API key, that acts until the end of the present `acting` block."""
    _actor.set(user(user_id, key_id))


def user(user_id: int, key_id: str | None = None) -> str:
    """Return the actor that is a user, or an API key of theirs."""
    return f"user {user_id}" if key_id is None else f"user {user_id} key {key_id}"


def user_id_of(actor: str) -> int | None:
    """Return the id of the user that an actor is, or None if it is none."""
    match = _USER.fullmatch(actor)
    return None if match is None else int(match[1])


def is_actor(text: str) -> bool:
    """Return whether a string is an actor as it is stored, and not the name of a user."""
    return (
        text == CODE
        or f"{text} ".startswith(f"{COMMAND_LINE} ")
        or _USER.fullmatch(text) is not None
    )


def key_of(actor: str) -> str:
    """Return the id of the API key by which a user acted, or an empty string."""
    match = _USER.fullmatch(actor)
    return "" if match is None else match[2] or ""


def split(actor: str | None) -> tuple[str | None, str | None]:
    """Return an actor without its detail (the system's user or the API key), and the detail."""
    match = None if actor is None else _WITH_DETAIL.fullmatch(actor)
    return (actor, None) if match is None else (match[1], match[2])


def command_line() -> str:
    """Return the actor of a command: the user of the operating system who runs it."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):  # as in a container, where the user has no name
        return COMMAND_LINE
    return f"{COMMAND_LINE} {name}"


def current(database: peewee.Database | None, owner_id: int | None) -> str | None:
    """Return who acts at present.

    Args:
        database: Of the event. A user of another database is no actor in it.
        owner_id: The user who acts if only an account is known, as at a login; None if that can be
            anyone, as at a failed login.
    """
    actor = _actor.get()
    if actor == OWNER:
        return None if owner_id is None else user(owner_id)
    if actor is not None:
        return actor
    environ = context.current_request()[1]
    if environ is None:
        return CODE
    caller = environ.get("wsgiauth.user")
    if caller is None or getattr(caller, "origin", None) is not database:
        return CODE
    return user(caller.id, environ.get("wsgiauth.key"))
