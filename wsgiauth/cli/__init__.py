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
from wsgiauth.console.command import Arguments, CommandError, UsageError, read_database_option
from wsgiauth.console.output import print_error
from wsgiauth.console.parser import USER, Parser
from wsgiauth.events import Recorder, actors
from wsgiauth.exceptions import ConfigurationError, InUseError, LastSuperuserError, ValidationError
from wsgiauth.settings import Settings
from wsgiauth.storage.connections import DATABASE_ERRORS, reason_of

# The module of each command, which is imported for this command alone, and its help.
COMMANDS = {
    "createsuperuser": ("cli.accounts", "create a superuser; asks for missing values"),
    "createuser": ("cli.accounts", "create a user; asks for missing values"),
    "changepassword": (
        "cli.accounts",
        "change a user's password, and revoke their sessions and API keys",
    ),
    "set": ("cli.accounts", "change a user's names or flags"),
    "deleteuser": ("cli.accounts", "delete a user with all sessions and permissions"),
    "activate": ("cli.accounts", "allow a user to log in again"),
    "deactivate": ("cli.accounts", "prevent a user from logging in, and revoke their sessions"),
    "invite": ("features.links.commands", "invite a person, by email, to create an account"),
    "invitations": ("features.links.commands", "list the open invitations, the newest first"),
    "endinvitation": ("features.links.commands", "revoke the open invitations of an address"),
    "grant": (
        "cli.rights",
        "grant permissions to a user or a group, each of the form <app>.<action>",
    ),
    "revoke": (
        "cli.rights",
        "revoke permissions from a user or a group, each of the form <app>.<action>",
    ),
    "permissions": ("cli.rights", "list the permissions that are known"),
    "join": ("cli.rights", "make a user a member of a group"),
    "leave": ("cli.rights", "take a user out of a group"),
    "creategroup": ("cli.rights", "create a group, unless it exists"),
    "deletegroup": ("cli.rights", "delete a group; its members lose its permissions"),
    "groups": ("cli.rights", "list groups, their permissions and number of members"),
    "users": ("cli.accounts", "list users, the oldest account first"),
    "import": (
        "features.transfer.commands",
        "create the users of a CSV file; run it again to resume",
    ),
    "export": ("features.transfer.commands", "print all users as CSV, as `import` reads it"),
    "hashes": (
        "features.former_passwords.commands",
        "count the users by how their password is hashed",
    ),
    "sessions": ("cli.sessions", "list a user's active sessions, the newest first"),
    "removefactor": (
        "features.factors.commands",
        "remove all second factors of a user, and revoke their sessions",
    ),
    "logout": ("cli.sessions", "revoke sessions of a user, or of all users"),
    "keys": ("features.keys.commands", "list a user's API keys, the newest first"),
    "makekey": ("features.keys.commands", "create an API key, and print it: it is not shown again"),
    "endkey": ("features.keys.commands", "revoke an API key of a user, or all"),
    "identities": (
        "features.providers.commands",
        "list the accounts of other providers that a user has connected",
    ),
    "unlink": (
        "features.providers.commands",
        "disconnect an account of another provider, and revoke its sessions",
    ),
    "client": (
        "features.oauth_server.commands",
        "add, list, change and remove the apps with which users log in by their account here",
    ),
    "terms": ("features.terms.commands", "count the users who have accepted the terms of use"),
    "events": ("features.audit.commands", "print the audit trail, the newest change last"),
    "mail": ("cli.mail", "send the emails that are due, as the server does"),
    "preview": (
        "cli.preview",
        "print the emails that the site sends, or write its pages, with example values",
    ),
    "resetlink": (
        "features.links.commands",
        "print a link with which a user can choose a new password",
    ),
    "personal-data": (
        "features.personal_data.commands",
        "print everything that is stored about a user, as one JSON document",
    ),
    "purge": (
        "cli.upkeep",
        "delete expired sessions, API keys, links, grants of apps and counts of attempts, and old"
        " events",
    ),
    "migrate": ("cli.upkeep", "create or update the database's tables"),
    "secret": ("cli.upkeep", "print a new SECRET_KEY"),
    "check": ("cli.check", "validate the settings as the server does, and report risks"),
    "serve": ("cli.serve", "serve a WSGI application over HTTP, with waitress"),
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
    parser = _parser(typed)
    parser.refuse_option_before_command(typed)
    arguments, extra = parser.parse_known_args(typed)
    if extra:
        getattr(arguments, "parser", parser).refuse(extra)
    if arguments.version:
        _print_versions(arguments)
        return 0
    if arguments.verbose:
        parser.error("--verbose needs --version")
    run: Callable[[Arguments], None] = arguments.run
    try:
        arguments.database = read_database_option(arguments.database)
        arguments.recorders = _recorders
        arguments.middleware_of = _middleware_of
        arguments.personal_data = _personal_data
        arguments.read_former_hash = _read_former_hash
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


def _print_versions(arguments: Arguments) -> None:
    from wsgiauth.cli.versions import print_versions  # whose imports no command needs

    print_versions(verbose=arguments.verbose)


def _recorders(settings: Settings) -> list[Recorder]:
    from wsgiauth.features.registry import recorders  # here, because few commands need all features

    return recorders(settings)


def _read_former_hash(text: str, settings: Settings) -> FormerHash:
    from wsgiauth.features.registry import read_former_hash  # likewise

    return read_former_hash(text, settings=settings)


def _middleware_of(application: object) -> object:
    from wsgiauth.cli.applications import middleware_of  # likewise

    return middleware_of(application)


def _personal_data() -> PersonalData:
    from wsgiauth.feature import personal_data_of  # likewise
    from wsgiauth.features.registry import FEATURES

    return PersonalData(personal_data_of(FEATURES))


def _print_refusal(reason: str) -> int:
    print_error(f"wsgiauth: {' '.join(reason.split())}")
    return 1


def _parser(typed: Sequence[str]) -> Parser:
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
    parser.set_defaults(run=lambda _: parser.print_help(), database=None)
    subparsers = parser.add_subparsers(metavar="COMMAND")
    chosen = next((COMMANDS[word][0] for word in typed if word in COMMANDS), None)
    is_first = bool(typed) and typed[0] in COMMANDS  # else an option is, such as --help
    for name, (module, text) in COMMANDS.items():
        if module == chosen or not is_first:  # forty parsers take longer than most commands
            subparsers.add_parser(name, help=text, description=text, allow_abbrev=False)
    parser.commands = subparsers.choices
    if chosen:
        import_module(f"wsgiauth.{chosen}").add_commands(parser)
    return parser
