"""The command line: `python -m wsgiauth`, or `wsgiauth`.

Exit status: 0 success, 1 refused (one line on stderr gives the reason), 2 wrong usage, 130
interrupted.
"""

import io
import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from wsgiauth.accounts.former import FormerHash
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import PersonalData
from wsgiauth.console import json_log
from wsgiauth.console.command import (
    Arguments,
    CommandError,
    UsageError,
    features_of_current_folder,
    print_cause,
    read_database_option,
)
from wsgiauth.console.output import print_error
from wsgiauth.console.parser import USER, Parser
from wsgiauth.events import Recorder, actors
from wsgiauth.exceptions import ConfigurationError, InUseError, LastSuperuserError, ValidationError
from wsgiauth.feature import Command, commands_of, personal_data_of
from wsgiauth.figures.event_counts import Tally
from wsgiauth.parts import KERNEL
from wsgiauth.settings import Settings
from wsgiauth.storage.connections import DATABASE_ERRORS, reason_of

# The kernel's commands. The module of a command is imported for this command alone.
COMMANDS = {
    "createsuperuser": Command(
        "wsgiauth.cli.accounts", "create a superuser; asks for missing values"
    ),
    "createuser": Command("wsgiauth.cli.accounts", "create a user; asks for missing values"),
    "changepassword": Command(
        "wsgiauth.cli.accounts", "change a user's password, and revoke their sessions and API keys"
    ),
    "set": Command("wsgiauth.cli.accounts", "change a user's names or flags"),
    "deleteuser": Command(
        "wsgiauth.cli.accounts", "delete a user with all sessions and permissions"
    ),
    "activate": Command("wsgiauth.cli.accounts", "allow a user to log in again"),
    "deactivate": Command(
        "wsgiauth.cli.accounts", "prevent a user from logging in, and revoke their sessions"
    ),
    "grant": Command(
        "wsgiauth.cli.rights",
        "grant permissions to a user or a group, each of the form <app>.<action>",
    ),
    "revoke": Command(
        "wsgiauth.cli.rights",
        "revoke permissions from a user or a group, each of the form <app>.<action>",
    ),
    "permissions": Command("wsgiauth.cli.rights", "list the permissions that are known"),
    "join": Command("wsgiauth.cli.rights", "make a user a member of a group"),
    "leave": Command("wsgiauth.cli.rights", "take a user out of a group"),
    "creategroup": Command("wsgiauth.cli.rights", "create a group, unless it exists"),
    "deletegroup": Command(
        "wsgiauth.cli.rights", "delete a group; its members lose its permissions"
    ),
    "groups": Command(
        "wsgiauth.cli.rights", "list groups, their permissions and number of members"
    ),
    "users": Command("wsgiauth.cli.accounts", "list users, the oldest account first"),
    "sessions": Command("wsgiauth.cli.sessions", "list a user's active sessions, the newest first"),
    "logout": Command("wsgiauth.cli.sessions", "revoke sessions of a user, or of all users"),
    "mail": Command("wsgiauth.cli.mail", "send the emails that are due, as the server does"),
    "preview": Command(
        "wsgiauth.cli.preview",
        "print the emails that the site sends, or write its pages, with example values",
    ),
    "settings": Command(
        "wsgiauth.cli.settings", "list the settings, what each means and accepts, and its value"
    ),
    "purge": Command(
        "wsgiauth.cli.upkeep",
        "delete expired sessions, API keys, links, grants of apps and counts of attempts, and old"
        " events",
    ),
    "restored": Command(
        "wsgiauth.cli.restored",
        "after the restore of a backup, revoke everything that was issued, and skip numbers that"
        " were given since",
    ),
    "migrate": Command("wsgiauth.cli.upkeep", "create or update the database's tables"),
    "secret": Command("wsgiauth.cli.upkeep", "print a new SECRET_KEY"),
    "check": Command(
        "wsgiauth.cli.check", "validate the settings as the server does, and report risks"
    ),
    "serve": Command("wsgiauth.cli.serve", "serve a WSGI application over HTTP, with waitress"),
}
_REFUSALS = (CommandError, InUseError, LastSuperuserError, ValidationError)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Args:
        argv: The arguments after the program's name; None for the arguments of the process.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # escape characters that the terminal lacks
            stream.reconfigure(errors="backslashreplace")
    typed = sys.argv[1:] if argv is None else argv
    with features_of_current_folder():
        try:
            parser = make_parser(typed)
        except ConfigurationError as error:
            return max(map(_print_refusal, error.problems))
        except CommandError as error:
            print_cause(error)
            return _print_refusal(str(error))
        return _run(parser, typed)


def _run(parser: Parser, typed: Sequence[str]) -> int:
    parser.refuse_option_before_command(typed)
    arguments, extra = parser.parse_known_args(typed)
    if extra:
        getattr(arguments, "parser", parser).refuse(extra)
    if arguments.version:
        _print_versions(arguments)
        return 0
    if arguments.verbose:
        parser.error("--verbose needs --version")
    if arguments.log == "json":
        json_log.start()
    run: Callable[[Arguments], None] = arguments.run
    try:
        arguments.database = read_database_option(arguments.database)
        arguments.recorders = _recorders
        arguments.middleware_of = _middleware_of
        arguments.personal_data = _personal_data
        arguments.read_former_hash = _read_former_hash
        arguments.all_commands = all_commands
        arguments.tally = tally = Tally()
        with actors.acting(actors.command_line()):
            try:
                run(arguments)
            finally:
                _add_counts(tally)
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


def all_commands() -> dict[str, Command]:
    """Return the commands of the kernel and of the features, by name."""
    from wsgiauth.features.registry import features_of_process  # here: few commands need it

    return commands_of(features_of_process(), COMMANDS)


def _known_commands(typed: Sequence[str]) -> dict[str, Command]:
    """Return all commands; for --help and --version, wsgiauth's own if FEATURES is wrong."""
    try:
        return all_commands()
    except ConfigurationError as error:
        if typed and not typed[0].startswith("-"):
            raise
        for each in error.problems:
            _print_refusal(each)
    from wsgiauth.features.registry import FEATURES  # here, as in `all_commands`

    return commands_of(FEATURES, COMMANDS)


def _print_versions(arguments: Arguments) -> None:
    from wsgiauth.cli.versions import print_versions  # whose imports no command needs

    print_versions(verbose=arguments.verbose)


def _recorders(settings: Settings) -> list[Recorder]:
    from wsgiauth.features.registry import recorders  # likewise

    return recorders(settings)


def _read_former_hash(text: str, settings: Settings) -> FormerHash:
    from wsgiauth.features.registry import read_former_hash  # likewise

    return read_former_hash(text, settings=settings)


def _middleware_of(application: object) -> object:
    from wsgiauth.cli.applications import middleware_of  # likewise

    return middleware_of(application)


def _personal_data(settings: Settings) -> PersonalData:
    from wsgiauth.features.registry import features_of  # likewise

    return PersonalData(personal_data_of(features_of(settings)))


def _add_counts(tally: Tally) -> None:
    """Add the events of a command to their counts, which must not fail what it has done."""
    try:
        tally.flush()
    except DATABASE_ERRORS as error:
        print_error(f"warning: the events were not counted: {reason_of(error)}")


def _print_refusal(reason: str) -> int:
    print_error(f"wsgiauth: {' '.join(reason.split())}")
    return 1


def make_parser(typed: Sequence[str]) -> Parser:
    """Return the parser of all commands; if one is typed first, of those in its module."""
    parser = Parser(
        prog="wsgiauth",
        description="Manage the users of an application that uses wsgiauth.",
        epilog="Settings come from the process environment, as for the server. Only `check`,"
        f" `personal-data`, `serve` and `--app` need SECRET_KEY. A USER is {USER}; if it begins"
        " with -, put -- before it, as in `wsgiauth sessions -- -ada@example.org`. Exit status: 0"
        " success, 1 refused, 2 wrong usage, 130 interrupted.",
    )
    parser.add_argument("--version", action="store_true", help="print the version")
    parser.add_argument(
        "--verbose", action="store_true", help="with --version: also of Python and the packages"
    )
    parser.set_defaults(run=lambda _: parser.print_help(), database=None, log="text")
    subparsers = parser.add_subparsers(metavar="COMMAND")
    # Features are not imported for a command of the kernel.
    known = COMMANDS if typed and typed[0] in COMMANDS else _known_commands(typed)
    chosen = next((known[word].module for word in typed if word in known), None)
    is_first = bool(typed) and typed[0] in known  # else an option is, such as --help
    for name, (module, text) in sorted(known.items()):
        if module == chosen or not is_first:  # forty parsers take longer than most commands
            subparsers.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.commands = subparsers.choices
    if chosen:
        own = [name for name, each in known.items() if each.module == chosen]
        _add_commands(parser, chosen, own)
    return parser


def _add_commands(parser: Parser, module: str, names: Sequence[str]) -> None:
    """Import the module of commands, which adds them.

    Raises:
        CommandError: It fails, or does not add one of them; it can be of a feature of FEATURES.
    """
    try:
        import_module(module).add_commands(parser)
    except ConfigurationError:
        raise
    except Exception as error:  # the module is a program, which can raise anything
        reason = f"fails ({type(error).__name__}: {error})"
        raise CommandError(f"{_commands_in(module)} {reason}") from error
    for each in names:
        added = parser.commands[each]
        if added.get_default("run") is None and not added.commands:
            raise CommandError(f"{_commands_in(module)} does not add {each}")


def _commands_in(module: str) -> str:
    """Return the subject of a sentence about the module of a feature's commands."""
    from wsgiauth.features.registry import features_of_process  # here, as in `all_commands`

    modules = {
        command.module: of.name for of in features_of_process() for command in of.commands.values()
    }
    return f"the commands of {modules.get(module, KERNEL)} cannot be used: {module}"
