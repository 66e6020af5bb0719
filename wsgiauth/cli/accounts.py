"""Commands that create, change, delete and list accounts."""

import argparse
import sys
from functools import partial

from wsgiauth import accounts
from wsgiauth.accounts.former import FormerHash
from wsgiauth.accounts.listing import summary, user_pages
from wsgiauth.accounts.models import User, is_proven, verified_by_operator
from wsgiauth.accounts.names import typed
from wsgiauth.accounts.passwords import MAX_BYTES, password_problem
from wsgiauth.authentication.password import change_password as set_password
from wsgiauth.console.command import (
    Arguments,
    CommandError,
    UsageError,
    columns_of,
    open_database,
    refuse_username,
    require_group,
    require_passwords,
    require_user,
)
from wsgiauth.console.output import print_change, print_error, print_line, print_list, yes_or_no
from wsgiauth.console.parser import SHARED, Parser, positive
from wsgiauth.console.prompts import ask, ask_password, confirm, require_terminal
from wsgiauth.exceptions import TakenError, ValidationError
from wsgiauth.messages import counted
from wsgiauth.settings import Settings

_VERIFIED = (
    "mark the email address as verified, as if the user had opened an emailed link; only for an"
    " address where you know that the user reads emails"
)
_COLUMNS = {
    "id": "id",
    "username": "username",
    "email": "email",
    "active": "is_active",
    "staff": "is_staff",
    "superuser": "is_superuser",
    "created": "created_at",
    "permissions": "permissions",
}


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    for name in ("createsuperuser", "createuser"):
        added = parser.command(
            name, create_user, examples=("", "--username ada --email ada@example.org --verified")
        )
        added.add_argument(
            "--username",
            type=typed,
            metavar="NAME",
            help="unique, without spaces or @; not with USERNAMES=off",
        )
        added.add_argument("--email", type=typed, metavar="ADDRESS", help="unique")
        added.add_argument("--verified", action="store_true", help=_VERIFIED)
        secret = added.add_mutually_exclusive_group()
        secret.add_argument("--password-stdin", **SHARED["--password-stdin"])
        secret.add_argument(
            "--former-hash-stdin",
            action="store_true",
            help="instead of a password, read the hash that other software made of it",
        )
        if name == "createuser":
            added.add_argument("--staff", action="store_true", help="mark the user as staff")
            added.set_defaults(superuser=False)
        else:
            added.set_defaults(staff=True, superuser=True)
    added = parser.command(
        "changepassword",
        change_password,
        "user",
        "--password-stdin",
        examples=("ada --keep-keys",),
        details="It also voids the open links of the user.",
    )
    added.add_argument("--keep-keys", action="store_true", help="revoke no API key")
    added = parser.command(
        "set",
        update_user,
        "user",
        examples=("ada --email ada@lovelace.example --staff",),
        details="The last active superuser cannot be demoted.",
    )
    added.add_argument("--username", type=typed, metavar="NAME", help="the new username")
    added.add_argument("--email", type=typed, metavar="ADDRESS", help="the new email address")
    added.add_argument("--verified", action="store_true", help=_VERIFIED)
    for option, text in (("--staff", "staff"), ("--superuser", "a superuser")):
        added.add_argument(
            option, action=argparse.BooleanOptionalAction, help=f"whether the user is {text}"
        )
    parser.command(
        "deleteuser",
        delete_user,
        "user",
        "--yes",
        examples=("grace --yes",),
        details="The last active superuser cannot be deleted.",
    )
    parser.command("activate", set_active, "user", examples=("grace",)).set_defaults(active=True)
    parser.command(
        "deactivate",
        set_active,
        "user",
        examples=("grace",),
        details="The last active superuser cannot be deactivated.",
    ).set_defaults(active=False)
    added = parser.command(
        "users",
        print_users,
        "--json",
        examples=(
            "ad --limit 20",
            "@example.org --json",
        ),
        details="example.org lists the users at this domain as well as those whose name begins"
        " with it; @example.org lists only the domain.",
    )
    added.add_argument(
        "prefix",
        metavar="PREFIX",
        type=typed,
        nargs="?",
        default="",
        help="only users whose username or email address begins with PREFIX, in any letter case",
    )
    added.add_argument("--group", metavar="NAME", help="only members of this group")
    added.add_argument("--limit", metavar="N", type=positive, help="at most N users")


def create_user(arguments: Arguments) -> None:
    """Create a user; ask for missing values."""
    try:
        user = _create_user(arguments)
    except TakenError as error:
        raise CommandError(_taken(error, arguments)) from None
    print_line(f"Created {'superuser' if user.is_superuser else 'user'} {user}.")
    if not user.has_password:
        print_error("note: PASSWORD_LOGIN is off, so the user has no password")


def _create_user(arguments: Arguments) -> User:
    refuse_username(arguments)
    settings = open_database(arguments, may_create=True)
    is_piped = arguments.password_stdin or arguments.former_hash_stdin
    given = {"--username": arguments.username} if settings.USERNAMES else {}
    given["--email"] = arguments.email
    if settings.PASSWORD_LOGIN:
        given["--password-stdin"] = is_piped
    elif is_piped:
        require_passwords(settings)
    missing = [option for option, value in given.items() if not value]
    if missing:
        require_terminal(*missing)
        named = {"username": arguments.username, "email": arguments.email}
        accounts.check_names({field: name for field, name in named.items() if name})
    problem_of = partial(_name_problem, arguments)
    username = None
    if settings.USERNAMES:
        username = arguments.username or ask("Username: ", partial(problem_of, "username"))
    email = arguments.email or ask("Email: ", partial(problem_of, "email"))
    password: str | FormerHash | None = None
    if arguments.former_hash_stdin:
        password = arguments.read_former_hash(_read_line(), settings)
    elif settings.PASSWORD_LOGIN:
        password = _new_password(arguments, settings, username or "", email)
    return accounts.create_user(
        username,
        email,
        password,
        settings=settings,
        is_staff=arguments.staff,
        is_superuser=arguments.superuser,
        is_verified=arguments.verified,
    )


def change_password(arguments: Arguments) -> None:
    """Change a user's password, and revoke all sessions and perhaps all API keys."""
    settings = open_database(arguments)
    require_passwords(settings)
    user = require_user(arguments.user)
    if not arguments.password_stdin:
        require_terminal("--password-stdin")
    password = _new_password(arguments, settings, user.username, user.email)
    revoked = set_password(user, password, settings=settings, end_keys=not arguments.keep_keys)
    if arguments.keep_keys:
        print_line(f"Changed the password of {user} and revoked all sessions; API keys stay valid.")
    else:
        also = f"revoked all sessions and {counted(revoked, 'API key')}"
        print_line(f"Changed the password of {user}, and {also}.")


def update_user(arguments: Arguments) -> None:
    """Rename a user, set or clear the staff and superuser flags, or verify the address."""
    changes = {
        "username": arguments.username,
        "email": arguments.email,
        "is_staff": arguments.staff,
        "is_superuser": arguments.superuser,
    }
    if all(value is None for value in changes.values()) and not arguments.verified:
        raise UsageError("nothing to change: give at least one option")
    refuse_username(arguments)
    settings = open_database(arguments)
    user = require_user(arguments.user)
    if arguments.verified:
        changes |= verified_by_operator(user, arguments.email)
    is_changed = accounts.update_user(user, **changes)
    verified = ["verified"] if is_proven(user, settings) else []
    print_change(
        is_changed,
        f"{_described(user, *verified)} has staff: {yes_or_no(user.is_staff)},"
        f" superuser: {yes_or_no(user.is_superuser)}.",
    )


def delete_user(arguments: Arguments) -> None:
    """Delete a user with all sessions and permissions, after a confirmation."""
    open_database(arguments)
    user = require_user(arguments.user)
    confirm(arguments, f"Delete {_described(user)} with all sessions and permissions?")
    accounts.delete_user(user)
    print_line(f"Deleted {user}.")


def set_active(arguments: Arguments) -> None:
    """Allow a user to log in again; or prevent it, and revoke all of their sessions."""
    open_database(arguments)
    user = require_user(arguments.user)
    state, done = f"{user} can log in.", ""
    if not arguments.active:
        state = f"{user} cannot log in."
        done = f"{user} can no longer log in; all sessions are revoked."
    print_change(accounts.update_user(user, is_active=arguments.active), state, done=done)


def print_users(arguments: Arguments) -> None:
    """Print users, a page at a time."""
    settings = open_database(arguments)
    group = require_group(arguments.group) if arguments.group else None
    pages = user_pages(arguments.prefix, limit=arguments.limit, group=group)
    documents = ([summary(*each, settings) for each in page] for page in pages)
    print_list(documents, columns_of(settings, _COLUMNS), as_json=arguments.json)


def _described(user: User, *further: str) -> str:
    """Return the label of a user; in parentheses the address, unless it is the label, and more."""
    known = [*([user.email] if user.label != user.email else []), *further]
    return f"{user} ({', '.join(known)})" if known else str(user)


def _taken(error: TakenError, arguments: Arguments) -> str:
    """Return the message for a taken name, with a way to make its user a superuser."""
    if not arguments.superuser:
        return str(error)
    command = "python -m wsgiauth set NAME --staff --superuser"
    return f"{error} To make this user a superuser, run: {command}"


def _name_problem(arguments: Arguments, field: str, name: str) -> str | None:
    """Return why a new user cannot have this name, or None."""
    try:
        accounts.check_names({field: name})
    except TakenError as error:
        return _taken(error, arguments)
    except ValidationError as error:
        return str(error)
    return None


def _new_password(arguments: Arguments, settings: Settings, username: str, email: str) -> str:
    if not arguments.password_stdin:
        names = "username or email address" if settings.USERNAMES else "email address"
        return ask_password(
            f"A password must have at least {settings.PASSWORD_MIN_LENGTH} characters and at most"
            f" {MAX_BYTES} bytes in UTF-8. It must not be common or similar to the {names}.",
            lambda password: password_problem(password, settings, username=username, email=email),
        )
    return _read_line()


def _read_line() -> str:
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.removeprefix("\ufeff").rstrip("\r\n")  # PowerShell writes a byte-order mark
