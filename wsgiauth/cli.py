"""The command line: `python -m wsgiauth`, or `wsgiauth`.

Exit status: 0 done, 1 refused (with one line on stderr that says why), 2 wrongly called.
"""

import argparse
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from wsgiauth import commands, names
from wsgiauth.commands import Arguments, CommandError
from wsgiauth.connections import FAILURES, reason_of
from wsgiauth.exceptions import ConfigurationError, ValidationError
from wsgiauth.prompts import NobodyToAskError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        argv: The words after the program's name; None for those of the process.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a name that the terminal cannot show is escaped
            stream.reconfigure(errors="backslashreplace")
    arguments = _parser().parse_args(argv)
    run: Callable[[Arguments], None] = arguments.run
    try:
        run(arguments)
        sys.stdout.flush()
    except (CommandError, ConfigurationError, NobodyToAskError, ValidationError) as error:
        return _refused(str(error))
    except FAILURES as error:
        return _refused(f"the database failed: {reason_of(error)}")
    except EOFError:
        return _refused("the input ended too early")
    except BrokenPipeError:
        # Whoever read our output has seen enough. Python would complain once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130
    return 0


def _refused(reason: str) -> int:
    print(f"wsgiauth: {commands.printable(' '.join(reason.split()))}", file=sys.stderr)
    return 1


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Exit with 2; what stands in the wrong place may be a URL, and in it a password."""
        super().error(re.sub(r"://\S*@", "://***@", message))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="wsgiauth",
        description="Manage the users of an application that wears wsgiauth.",
        epilog="Settings come from the process environment, as for the server. SECRET_KEY is only"
        " needed by `check`. A USER is a username or an e-mail address. Exit status: 0 done,"
        " 1 refused, 2 wrong usage.",
    )
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[Arguments], None], text: str) -> argparse.ArgumentParser:
        added = subparsers.add_parser(name, help=text, description=text)
        added.add_argument(
            "--database", metavar="URL", help="the database, instead of DATABASE_URL"
        )
        added.set_defaults(run=run)
        return added

    for name, kind in (("createsuperuser", "a superuser"), ("createuser", "a user")):
        added = command(name, commands.create_user, f"create {kind}; asks for what is not given")
        added.add_argument("--username", metavar="NAME")
        added.add_argument("--email", metavar="ADDRESS")
        _add_password_option(added)
        if name == "createuser":
            added.add_argument("--staff", action="store_true", help="may enter the administration")
            added.set_defaults(superuser=False)
        else:
            added.set_defaults(staff=True, superuser=True)
    added = command(
        "changepassword",
        commands.change_password,
        "give a user another password and end their sessions",
    )
    added.add_argument("user", metavar="USER")
    _add_password_option(added)
    for name, run, text in (
        ("activate", commands.activate, "let a user log in again"),
        ("deactivate", commands.deactivate, "stop a user from logging in, and end their sessions"),
        ("sessions", commands.list_sessions, "list a user's live sessions"),
        ("logout", commands.log_out, "end all of a user's sessions"),
    ):
        command(name, run, text).add_argument("user", metavar="USER")
    for name, run, text in (
        ("grant", commands.grant, "give a user permissions"),
        ("revoke", commands.revoke, "take permissions from a user"),
    ):
        added = command(name, run, f"{text}, each written <app>.<action>")
        added.add_argument("user", metavar="USER")
        added.add_argument("permissions", metavar="PERMISSION", nargs="+", type=_permission)
    added = command("users", commands.list_users, "list all users")
    added.add_argument("--json", action="store_true", help="as JSON, for programs")
    command("purge", commands.purge, "delete expired sessions and counts of attempts")
    command("migrate", commands.migrate, "bring the database's schema up to date")
    command("secret", commands.print_secret, "print a new SECRET_KEY")
    added = command(
        "check", commands.check, "validate the environment as the server would, and name the risks"
    )
    added.add_argument("--strict", action="store_true", help="refuse what is only risky, too")
    return parser


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
