"""The command line: `python -m wsgiauth`, or `wsgiauth`.

Exit status: 0 success, 1 refused (one line on stderr gives the reason), 2 wrong usage, 130
interrupted.
"""

import argparse
import difflib
import io
import os
import re
import sys
from collections.abc import Callable, Collection, Sequence
from typing import NoReturn

from wsgiauth import __version__
from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.cli import accounts, check, sessions, upkeep, users
from wsgiauth.cli.command import Arguments, CommandError, UsageError, read_database_option
from wsgiauth.cli.output import printable
from wsgiauth.cli.prompts import NoTerminalError
from wsgiauth.exceptions import ConfigurationError, LastSuperuserError, ValidationError
from wsgiauth.storage.connections import DATABASE_ERRORS, reason_of

_REFUSALS = (
    CommandError,
    ConfigurationError,
    LastSuperuserError,
    NoTerminalError,
    ValidationError,
)
_USER = "a username or an e-mail address"
_USUAL_NAMES = {  # what other programs call these commands
    "adduser": "createuser",
    "delete": "deleteuser",
    "list": "users",
    "passwd": "changepassword",
    "removeuser": "deleteuser",
    "useradd": "createuser",
    "userdel": "deleteuser",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        argv: The arguments after the program's name; None for those of the process.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape what the terminal cannot encode
            stream.reconfigure(errors="backslashreplace")
    arguments = _parser().parse_args(argv)
    run: Callable[[Arguments], None] = arguments.run
    try:
        arguments.database = read_database_option(arguments.database)
        run(arguments)
        sys.stdout.flush()
    except UsageError as error:
        arguments.parser.error(str(error))
    except _REFUSALS as error:
        return _print_refusal(str(error))
    except User.DoesNotExist:
        return _print_refusal("the user was deleted meanwhile")
    except DATABASE_ERRORS as error:
        return _print_refusal(f"the database failed: {reason_of(error)}")
    except EOFError:
        return _print_refusal("unexpected end of input")
    except BrokenPipeError:
        # The reader closed the pipe. Without this, Python prints another error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    return 0


def _print_refusal(reason: str) -> int:
    print(f"wsgiauth: {printable(' '.join(reason.split()))}", file=sys.stderr)
    return 1


class _Parser(argparse.ArgumentParser):
    """A parser that suggests similar commands, and hides passwords in its errors.

    Attributes:
        commands: The names of all commands.
    """

    commands: Collection[str] = ()

    def error(self, message: str) -> NoReturn:
        """Exit with status 2; hide misplaced arguments, which can contain passwords."""
        unknown = re.match(r"argument COMMAND: invalid choice: '([^']*)'", message)
        if unknown:
            message = f"there is no command {unknown[1]!r}"
            usual = [_USUAL_NAMES[unknown[1]]] if unknown[1] in _USUAL_NAMES else []
            for similar in usual or difflib.get_close_matches(unknown[1], self.commands, 1):
                message += f"; did you mean {similar!r}?"
            if "://" in unknown[1]:
                message = "--database must follow the command"
        if message.startswith("unrecognized arguments: "):  # values may be passwords
            options = re.findall(r"(?<!\S)-[\w-]+", message)
            message = f"unrecognized arguments: {' '.join(options) or '***'}"
        super().error(re.sub(r"://\S*@", "://***@", message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="wsgiauth",
        description="Manage the users of an application that uses wsgiauth.",
        epilog="Settings come from the process environment, as for the server. SECRET_KEY is only"
        f" needed by `check`. A USER is {_USER}; if it begins with -, put -- before it, as in"
        " `wsgiauth sessions -- -ada@example.org`. Exit status: 0 success, 1 refused, 2 wrong"
        " usage, 130 interrupted.",
    )
    parser.add_argument("--version", action="version", version=f"wsgiauth {__version__}")
    parser.set_defaults(run=lambda _: parser.print_help(), database=None)
    subparsers = parser.add_subparsers(metavar="COMMAND")
    parser.commands = subparsers.choices

    def command(name: str, run: Callable[[Arguments], None], text: str) -> argparse.ArgumentParser:
        added = subparsers.add_parser(name, help=text, description=text, allow_abbrev=False)
        added.add_argument(
            "--database",
            metavar="URL",
            help="the URL to use instead of DATABASE_URL; - reads it from the first line of"
            " standard input, where other users cannot see its password",
        )
        added.set_defaults(run=run, parser=added)
        return added

    _add_creation(command)
    _add_changes(command)
    _add_permissions(command)
    _add_lists(command)
    command("purge", upkeep.purge, "delete expired sessions and counts of attempts")
    command("migrate", upkeep.migrate, "create or update the database's tables")
    command("secret", upkeep.print_secret, "print a new SECRET_KEY")
    command(
        "check", check.check, "validate the settings as the server does, and report risks"
    ).add_argument("--strict", action="store_true", help="also exit with status 1 on warnings")
    return parser


_AddCommand = Callable[[str, Callable[[Arguments], None], str], argparse.ArgumentParser]


def _add_creation(command: _AddCommand) -> None:
    for name, kind in (("createsuperuser", "a superuser"), ("createuser", "a user")):
        added = command(name, accounts.create_user, f"create {kind}; asks for missing values")
        added.add_argument("--username", metavar="NAME", help="unique, without spaces or @")
        added.add_argument("--email", metavar="ADDRESS", help="unique")
        _add_password_option(added)
        if name == "createuser":
            added.add_argument("--staff", action="store_true", help="mark the user as staff")
            added.set_defaults(superuser=False)
        else:
            added.set_defaults(staff=True, superuser=True)


def _add_changes(command: _AddCommand) -> None:
    added = command(
        "changepassword",
        accounts.change_password,
        "change a user's password and end their sessions",
    )
    _add_user(added)
    _add_password_option(added)
    added = command("set", accounts.update_user, "rename a user, or change their flags")
    _add_user(added)
    added.add_argument("--username", metavar="NAME", help="the new username")
    added.add_argument("--email", metavar="ADDRESS", help="the new e-mail address")
    for flag in ("staff", "superuser"):
        added.add_argument(
            f"--{flag}",
            action=argparse.BooleanOptionalAction,
            help=f"whether the user is {'a ' if flag == 'superuser' else ''}{flag}",
        )
    added = command(
        "deleteuser", accounts.delete_user, "delete a user with all sessions and permissions"
    )
    _add_user(added)
    added.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    _add_user(command("activate", accounts.activate, "allow a user to log in again"))
    _add_user(
        command(
            "deactivate",
            accounts.deactivate,
            "prevent a user from logging in, and end their sessions",
        )
    )


def _add_permissions(command: _AddCommand) -> None:
    for name, run, text in (
        ("grant", accounts.grant, "grant permissions to a user"),
        ("revoke", accounts.revoke, "revoke permissions from a user"),
    ):
        added = command(name, run, f"{text}, each of the form <app>.<action>")
        _add_user(added)
        added.add_argument(
            "permissions",
            metavar="PERMISSION",
            nargs="+",
            type=_permission,
            help="such as reports.publish",
        )


def _add_lists(command: _AddCommand) -> None:
    added = command("users", users.list_users, "list users, the oldest account first")
    added.add_argument(
        "prefix",
        metavar="PREFIX",
        nargs="?",
        default="",
        help="only users whose username or e-mail address begins with PREFIX, in any letter case",
    )
    added.add_argument("--limit", metavar="N", type=_positive, help="at most N users")
    added.add_argument("--json", action="store_true", help="print JSON, for programs")
    _add_user(command("sessions", sessions.list_sessions, "list a user's active sessions"))
    added = command("logout", sessions.log_out, "end all sessions of a user, or of all users")
    whose = added.add_mutually_exclusive_group(required=True)
    whose.add_argument("user", metavar="USER", nargs="?", help=_USER)
    whose.add_argument("--all", action="store_true", help="end the sessions of all users")


def _add_user(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user", metavar="USER", help=_USER)


def _add_password_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--password-stdin",
        action="store_true",
        help="read the password from the first line of standard input, for scripts",
    )


def _permission(text: str) -> str:
    try:
        return names.check_permission(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _positive(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,17}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)
