"""What the commands share: how they find the settings, the database and the user.

`cli` parses the command line; each command is one function. Commands call the same functions as
the endpoints, so the same rules apply.
"""

import getpass
import os
import re
import sys
from argparse import Namespace

from wsgiauth import storage
from wsgiauth.accounts import find_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.cli.output import print_error
from wsgiauth.events import record
from wsgiauth.exceptions import WsgiAuthError
from wsgiauth.mail.notices import Notices
from wsgiauth.settings import Settings
from wsgiauth.storage.databases import missing_file

Arguments = Namespace

# A password in a URL: between the username and the host, or as a parameter.
_PASSWORD = re.compile(r"://[^/@]*:[^/]+@|[?&]pass(word|wd)=")


class CommandError(WsgiAuthError):
    """A command failed; the message is for the person who ran it."""


class UsageError(CommandError):
    """The arguments of a command are invalid together."""


def read_database_option(value: str | None) -> str | None:
    """Return the URL that `--database` gives, or None if it is absent; `-` reads standard input.

    Warns if the URL contains a password, because every user of the machine can list the arguments
    of a process.

    Raises:
        UsageError: The URL is empty, for example because a script's variable is not set.
        EOFError: Standard input is empty.
    """
    if value is None:
        return None
    url = _read_url() if value == "-" else value
    if not url:
        raise UsageError("--database needs a URL")
    if value != "-" and _PASSWORD.search(value):
        print_error(
            "warning: other users of this machine can see the password in --database in the list"
            " of processes; set DATABASE_URL, or give `--database -` and write the URL to"
            " standard input."
        )
    return url


def environment(arguments: Arguments) -> dict[str, str]:
    """Return the process environment, with the URL of `--database` if it was given."""
    chosen = {} if arguments.database is None else {"DATABASE_URL": arguments.database}
    return {**os.environ, **chosen}


def read_settings(arguments: Arguments) -> Settings:
    """Return the settings without the keys, because these commands sign nothing.

    Raises:
        ConfigurationError: A setting is invalid.
    """
    return Settings.from_mapping(
        {**environment(arguments), "SECRET_KEY": "", "SECRET_KEY_FALLBACKS": ""}
    )


def open_database(arguments: Arguments, *, may_create: bool = False) -> Settings:
    """Open the database and return the settings.

    Args:
        arguments: The arguments of the command.
        may_create: Whether to create an SQLite file that does not exist.

    Raises:
        CommandError: The file does not exist.
        ConfigurationError: See `storage.open_database`.
    """
    settings = read_settings(arguments)
    if not may_create:
        require_file(settings)
    opened = storage.open_database(settings.DATABASE_URL)
    if settings.MAIL_URL is not None:
        record(opened, [Notices(settings)])  # a process that sends mails sends them
    return settings


def require_file(settings: Settings) -> None:
    """Check that an SQLite file exists.

    Otherwise, a command in the wrong folder would create an empty file and report success.

    Raises:
        CommandError: The file does not exist.
    """
    missing = missing_file(settings.DATABASE_URL)
    if missing is not None:
        raise CommandError(
            f"{missing} does not exist: set DATABASE_URL or give --database; `migrate` creates it"
        )


def require_user(name: str) -> User:
    """Return the user with this username or e-mail address.

    Raises:
        CommandError: There is no such user.
        peewee.DatabaseError: The database failed.
    """
    user = find_user(name)
    if user is None:
        raise CommandError(f"there is no user {name!r}")
    return user


def require_group(name: str) -> Group:
    """Return the group with this name, in any letter case.

    Raises:
        CommandError: There is no such group.
        peewee.DatabaseError: The database failed.
    """
    group = Group.objects.find(name)
    if group is None:
        raise CommandError(f"there is no group {name!r}; `groups` lists them")
    return group


def _read_url() -> str:
    if sys.stdin.isatty():
        return getpass.getpass("Database URL: ").strip()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()
