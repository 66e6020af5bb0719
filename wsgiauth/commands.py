"""What the commands of the command line do, one function each.

They call what the endpoints call, so that the same rules hold.
"""

import json
import os
import secrets
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from wsgiauth import accounts, attempts, names, schema, sessions, storage
from wsgiauth.databases import file_risks, missing_file
from wsgiauth.endpoints import Auth
from wsgiauth.endpoints.me import profile
from wsgiauth.exceptions import WsgiAuthError
from wsgiauth.fields import utc_text
from wsgiauth.models import User
from wsgiauth.prompts import ask, ask_password
from wsgiauth.settings import PER_ADDRESS, Settings

Arguments = Namespace


class CommandError(WsgiAuthError):
    """A command cannot be carried out; the message is for the person who gave it."""


def create_user(arguments: Arguments) -> None:
    """Create a user, asking for what was not given."""
    settings = _open(arguments, new=True)
    username = arguments.username or ask("Username: ", _free(names.username_problem))
    email = arguments.email or ask("E-mail: ", _free(names.email_problem))
    user = accounts.create_user(
        username,
        email,
        _new_password(arguments, settings, username, email),
        settings=settings,
        is_staff=arguments.staff,
        is_superuser=arguments.superuser,
    )
    print(f"Created {'superuser' if user.is_superuser else 'user'} {user.username}.")


def change_password(arguments: Arguments) -> None:
    """Give a user another password, which ends all of their sessions."""
    settings = _settings(arguments)
    user = _user(arguments)
    password = _new_password(arguments, settings, user.username, user.email)
    accounts.change_password(user, password, settings=settings)
    print(f"Changed the password of {user.username} and ended all sessions.")


def activate(arguments: Arguments) -> None:
    """Let a user log in again."""
    user = _user(arguments)
    user.is_active = True
    user.save()
    print(f"{user.username} can log in.")


def deactivate(arguments: Arguments) -> None:
    """Stop a user from logging in, and end all of their sessions."""
    user = _user(arguments)
    user.is_active = False
    user.save()
    print(f"{user.username} can no longer log in; all sessions are ended.")


def grant(arguments: Arguments) -> None:
    """Give permissions to a user."""
    user = _user(arguments)
    user.grant(*arguments.permissions)
    _print_permissions(user)


def revoke(arguments: Arguments) -> None:
    """Take permissions from a user."""
    user = _user(arguments)
    user.revoke(*arguments.permissions)
    _print_permissions(user)


def list_users(arguments: Arguments) -> None:
    """Print the users, as a table or as JSON."""
    _open(arguments)
    profiles = [profile(user) for user in User.objects.all()]
    if arguments.json:
        print(json.dumps(profiles, indent=2, ensure_ascii=False))
        return
    columns = ("id", "username", "email", "active", "staff", "superuser", "created", "permissions")
    _print_table(
        columns,
        [
            (
                str(user["id"]),
                str(user["username"]),
                str(user["email"]),
                _mark(user["is_active"]),
                _mark(user["is_staff"]),
                _mark(user["is_superuser"]),
                str(user["created_at"]),
                " ".join(user["permissions"]),  # type: ignore[arg-type]
            )
            for user in profiles
        ],
    )


def list_sessions(arguments: Arguments) -> None:
    """Print a user's live sessions."""
    live = sessions.live(_user(arguments), time.time())
    _print_table(
        ("session", "began", "ends"),
        [
            (
                each.id,
                utc_text(each.created_at),
                utc_text(datetime.fromtimestamp(each.expires_at, UTC)),
            )
            for each in live
        ],
    )


def log_out(arguments: Arguments) -> None:
    """End all of a user's sessions."""
    user = _user(arguments)
    print(f"Ended {_count(sessions.end_all(user), 'session')} of {user.username}.")


def purge(arguments: Arguments) -> None:
    """Delete what has expired: sessions, and counts of attempts."""
    _open(arguments)
    ended = _count(sessions.purge(time.time()), "expired session")
    counted = _count(attempts.purge(time.time()), "expired count")
    print(f"Deleted {ended} and {counted} of attempts.")


def migrate(arguments: Arguments) -> None:
    """Bring the database's schema up to date."""
    applied: list[str] = []
    storage.open_database(
        _settings(arguments).DATABASE_URL,
        prepare=lambda opened: applied.extend(schema.migrate(opened)),
    )
    print(f"Applied {', '.join(applied)}." if applied else "The schema is up to date.")


def print_secret(_: Arguments) -> None:
    """Print a new SECRET_KEY: 64 characters that hold 48 random bytes, enough for HS512."""
    print(secrets.token_urlsafe(48))


def check(arguments: Arguments) -> None:
    """Start as the server would, without serving, and print what is risky."""
    settings = Settings.from_mapping(_environment(arguments))
    Auth.from_settings(settings, "/auth")
    _require_file(settings)
    storage.open_database(settings.DATABASE_URL)
    with storage.current().atomic():
        pass  # a database that cannot be written to says so here
    risks = settings.risks() + file_risks(storage.current())
    notes = []
    if settings.COOKIE_SECURE == "auto":
        notes.append(
            "COOKIE_SECURE is auto: behind a proxy that speaks https to browsers, either the"
            " server must say so in wsgi.url_scheme, or COOKIE_SECURE must be on."
        )
    if any(getattr(settings, name) for name in PER_ADDRESS):
        notes.append(
            "Client addresses share limits: behind a proxy, the server must be told to take them"
            " from it (waitress: --trusted-proxy and --trusted-proxy-headers=x-forwarded-for), or"
            f" all clients are one, and {' and '.join(PER_ADDRESS)} must be 0."
        )
    if not User.objects.filter(is_superuser=True, is_active=True).exists():
        notes.append("There is no superuser: `python -m wsgiauth createsuperuser` makes one.")
    for risk in risks:
        print(f"warning: {risk}")
    for note in notes:
        print(f"note: {note}")
    if risks and arguments.strict:
        raise CommandError("there are warnings")
    print("The settings are valid and the database is ready.")


def _environment(arguments: Arguments) -> dict[str, str]:
    chosen = {} if arguments.database is None else {"DATABASE_URL": arguments.database}
    return {**os.environ, **chosen}


def _settings(arguments: Arguments) -> Settings:
    # Missing or bad keys are the server's trouble; managing users signs nothing.
    keys = {"SECRET_KEY": "", "SECRET_KEY_FALLBACKS": ""}
    return Settings.from_mapping({**_environment(arguments), **keys})


def _open(arguments: Arguments, *, new: bool = False) -> Settings:
    """Open the database, which may be a new one, or else must be there already."""
    settings = _settings(arguments)
    if not new:
        _require_file(settings)
    storage.open_database(settings.DATABASE_URL)
    return settings


def _require_file(settings: Settings) -> None:
    # A command in the wrong folder would otherwise work on an empty file, and all would look well.
    missing = missing_file(settings.DATABASE_URL)
    if missing is not None:
        raise CommandError(
            f"there is no {missing}: set DATABASE_URL, or give --database; `migrate` makes a file"
        )


def _user(arguments: Arguments) -> User:
    """Open the database and return the user that the command is about."""
    _open(arguments)
    user = accounts.find_user(arguments.user)
    if user is None:
        raise CommandError(f"there is no user {arguments.user!r}")
    return user


def _free(problem_of: Callable[[str], str | None]) -> Callable[[str], str | None]:
    """Return the same rule, and that nobody else has the name."""

    def problem_or_taken(name: str) -> str | None:
        problem = problem_of(name)
        if problem is None and accounts.find_user(name) is not None:
            return "That is taken."
        return problem

    return problem_or_taken


def _new_password(arguments: Arguments, settings: Settings, username: str, email: str) -> str:
    if not arguments.password_stdin:
        rules = settings.password_rules
        return ask_password(
            lambda password: rules.problem(password, username=username, email=email)
        )
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\r\n")


def _print_permissions(user: User) -> None:
    print(f"{user.username} holds: {', '.join(sorted(user.permissions)) or 'no permissions'}")


def _mark(is_set: object) -> str:
    return "yes" if is_set else "no"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _print_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(columns, *rows, strict=True)]
    for row in (columns, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(printable("  ".join(cells).rstrip()))


def printable(text: str) -> str:
    """Return `text` with what a terminal would obey made visible."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )
