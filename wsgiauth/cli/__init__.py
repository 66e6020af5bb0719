"""The command line: `python -m wsgiauth`, or `wsgiauth`.

Exit status: 0 success, 1 refused (one line on stderr gives the reason), 2 wrong usage, 130
interrupted.
"""

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence

from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.cli import (
    accounts,
    check,
    events,
    groups,
    invitations,
    keys,
    mail,
    permissions,
    serve,
    sessions,
    transfer,
    upkeep,
    users,
)
from wsgiauth.cli.command import Arguments, CommandError, UsageError, read_database_option
from wsgiauth.cli.output import print_error
from wsgiauth.cli.parser import USER, Parser
from wsgiauth.cli.prompts import NoTerminalError
from wsgiauth.events import actors
from wsgiauth.exceptions import (
    ConfigurationError,
    LastSuperuserError,
    TooManyKeysError,
    ValidationError,
)
from wsgiauth.storage.connections import DATABASE_ERRORS, reason_of
from wsgiauth.version import __version__

_REFUSALS = (
    CommandError,
    LastSuperuserError,
    NoTerminalError,
    TooManyKeysError,
    ValidationError,
)
# In the order of `--help`.
_MODULES = (
    accounts,
    invitations,
    permissions,
    groups,
    users,
    transfer,
    sessions,
    keys,
    events,
    mail,
    upkeep,
    check,
    serve,
)


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
        with actors.acting(actors.command_line()):
            run(arguments)
        sys.stdout.flush()
    except UsageError as error:
        arguments.parser.error(str(error))
    except ConfigurationError as error:
        return max(map(_print_refusal, error.problems))
    except _REFUSALS as error:
        return _print_refusal(str(error))
    except User.DoesNotExist:
        return _print_refusal("the user was deleted meanwhile")
    except Group.DoesNotExist:
        return _print_refusal("the group was deleted meanwhile")
    except DATABASE_ERRORS as error:
        return _print_refusal(f"the database failed: {reason_of(error)}")
    except EOFError:
        return _print_refusal("unexpected end of input")
    except BrokenPipeError:
        # The reader closed the pipe. Without this, Python prints another error at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        print_error("")
        return 130
    return 0


def _print_refusal(reason: str) -> int:
    print_error(f"wsgiauth: {' '.join(reason.split())}")
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="wsgiauth",
        description="Manage the users of an application that uses wsgiauth.",
        epilog="Settings come from the process environment, as for the server. Only `check`,"
        f" `serve` and `permissions --app` need SECRET_KEY. A USER is {USER}; if it begins with -,"
        " put -- before it, as in `wsgiauth sessions -- -ada@example.org`. Exit status: 0 success,"
        " 1 refused, 2 wrong usage, 130 interrupted.",
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

    for module in _MODULES:
        module.add_commands(command)
    return parser
