"""The actor of a change: `user 7`, `user 7 key 4fD8…`, `command line ada`, `code` or `other app`.

Below the mount, `app` begins with `OWNER`, because the client of a login or of a link acts for the
account of the event. Endpoints that identify their caller then name the caller. In the views of the
wrapped application, the actor is `wsgiauth.user` of the environ.
"""

import getpass
import logging
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from types import UnionType
from typing import TypeVar, get_origin, get_type_hints
from weakref import WeakKeyDictionary

import peewee

from wsgiauth import storage
from wsgiauth.exceptions import ApplicationError
from wsgiauth.storage import context
from wsgiauth.storage.connections import DATABASE_ERRORS, AccountDatabase, can_go_on

logger = logging.getLogger("wsgiauth")

CODE = "code"
COMMAND_LINE = "command line"
APP = "other app"  # which registers itself
OWNER = ""  # the user of the event

_USER = re.compile("user ([0-9]+)(?: key ([0-9A-Za-z]+))?")
_WITH_DETAIL = re.compile(f"({COMMAND_LINE}|user [0-9]+) (.*)", re.DOTALL)

_Value = TypeVar("_Value")

_PAUSE = 60.0  # seconds
_reported: WeakKeyDictionary[peewee.Database, dict[str, float]] = WeakKeyDictionary()

_actor: ContextVar[str | None] = ContextVar("wsgiauth.actor", default=None)


@contextmanager
def acting(actor: str) -> Iterator[None]:
    """Make `actor` the actor of the changes in a `with` block."""
    token = _actor.set(actor)
    try:
        yield
    finally:
        _actor.reset(token)


@contextmanager
def application_code(name: str, *, passes: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Run a function of the application in a `with` block, as the actor `code`.

    Args:
        name: The function, for the log.
        passes: The exceptions that the function is allowed to raise.

    Raises:
        ApplicationError: It raised another exception, which is logged and is the cause.
    """
    try:
        with acting(CODE):
            yield
    except passes:
        raise
    except Exception as error:
        logger.exception("%s failed", name)
        raise ApplicationError(f"{name} failed: {type(error).__name__}: {error}") from error


def is_outage(error: BaseException) -> bool:
    """Return whether an exception is that of a database that does not answer any more.

    So is the error of a statement in a transaction, which cannot go on.
    """
    opened: AccountDatabase = storage.current()  # type: ignore[assignment]
    return isinstance(error, DATABASE_ERRORS) and not can_go_on(opened)


def report(message: str, *names: str) -> None:
    """Log an exception of a feature, once a minute on a site, because each request can raise it."""
    line, now = message % names, time.monotonic()
    lines = _reported.get(storage.current(), {})
    recent = {each: at for each, at in lines.items() if now - at < _PAUSE}
    if line not in recent:
        _reported[storage.current()] = {**recent, line: now}
        logger.exception(message, *names, stacklevel=2)  # where it was caught


class Outcome:
    """What became of `feature_code`: the exception, or None."""

    error: BaseException | None = None


@contextmanager
def feature_code(feature: str, part: str) -> Iterator[Outcome]:
    """Run a function of a feature in a `with` block; an exception is reported and suppressed.

    What the function would have returned is left out, so use it in the block, too. Not suppressed
    is the error of a database that does not answer, or of a statement in a transaction around the
    block, which cannot go on.

    Args:
        feature: Its name, for the log.
        part: What is left out, for the log.

    Raises:
        peewee.DatabaseError: See above.
    """
    outcome = Outcome()
    try:
        yield outcome
    except (Exception, SystemExit) as error:
        if is_outage(error):
            raise
        report("a function of %s failed, so that %s is missing", feature, part)
        outcome.error = error


def checked(kind: type[_Value], value: object, name: str = "the result") -> _Value:
    """Return what a function of a feature has made for a page or a document.

    Raises:
        TypeError: It is not of its kind, or a field of it is not of its declared type.
        UnicodeEncodeError: A string has an unpaired surrogate, which no response can contain.
    """
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be of the type {kind.__name__}, not {value!r}")
    if isinstance(value, str):
        value.encode()
    for field, declared in _declared(kind).items():  # type: ignore[arg-type]
        checked(declared, getattr(value, field), field)
    return value


@cache
def _declared(kind: type) -> dict[str, type]:
    """Return the classes of fields, without those that can be of several."""
    hints = {name: get_origin(hint) or hint for name, hint in get_type_hints(kind).items()}
    return {name: hint for name, hint in hints.items() if hint is not UnionType}


def identify(user_id: int, key_id: str | None = None) -> None:
    """Make a user, or their API key, the actor until the present `acting` block ends."""
    _actor.set(user(user_id, key_id))


def user(user_id: int, key_id: str | None = None) -> str:
    """Return the actor for a user, or for their API key."""
    return f"user {user_id}" if key_id is None else f"user {user_id} key {key_id}"


def user_id_of(actor: str) -> int | None:
    """Return the id of the user in an actor, or None."""
    match = _USER.fullmatch(actor)
    return None if match is None else int(match[1])


def is_actor(text: str) -> bool:
    """Return whether a string has the form of an actor, and is not the name of a user."""
    return (
        text in (CODE, APP)
        or f"{text} ".startswith(f"{COMMAND_LINE} ")
        or _USER.fullmatch(text) is not None
    )


def key_of(actor: str) -> str:
    """Return the id of the API key in an actor, or an empty string."""
    match = _USER.fullmatch(actor)
    return "" if match is None else match[2] or ""


def split(actor: str | None) -> tuple[str | None, str | None]:
    """Return an actor without its detail (the system's user or the API key), and the detail."""
    match = None if actor is None else _WITH_DETAIL.fullmatch(actor)
    return (actor, None) if match is None else (match[1], match[2])


def command_line() -> str:
    """Return the actor of a command, with the user of the operating system if they have a name."""
    try:
        name = getpass.getuser()
    except (KeyError, OSError, ImportError):  # as in a container
        return COMMAND_LINE
    return f"{COMMAND_LINE} {name}"


def current(database: peewee.Database | None, owner_id: int | None) -> str | None:
    """Return the present actor for an event.

    Args:
        database: The database of the event. A user of another database is not an actor.
        owner_id: The user who acts if only an account is known, as at a login; None: unknown, as at
            a failed login.
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
    if caller is None or getattr(caller, "database", None) is not database:
        return CODE
    return user(caller.id, environ.get("wsgiauth.key"))
