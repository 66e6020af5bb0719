"""How commands find the settings, the database, a user, a group and an application.

`cli` parses the command line; each command is one function, and calls the same functions as the
endpoints. It raises CommandError, ConfigurationError or peewee.DatabaseError.
"""

import getpass
import importlib
import os
import re
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from wsgiauth import storage
from wsgiauth.accounts import find_user
from wsgiauth.accounts.groups import Group
from wsgiauth.accounts.models import User
from wsgiauth.accounts.names import typed
from wsgiauth.accounts.personal_data import PersonalData
from wsgiauth.console import json_log
from wsgiauth.console.output import print_error
from wsgiauth.events import Event, Recorder, record, subscribe_once
from wsgiauth.exceptions import WsgiAuthError
from wsgiauth.settings import Settings
from wsgiauth.storage import context
from wsgiauth.storage.databases import missing_file, refuse_file_of_other_user

if TYPE_CHECKING:
    from wsgiauth.site import Site

Arguments = Namespace

# A password in a URL: between the username and the host, or as a parameter.
_PASSWORD = re.compile(r"://[^/@]*:[^/]+@|[?&]pass(word|wd)=")


class CommandError(WsgiAuthError):
    """A command failed; the message is for the person who ran it.

    Example:
        error = CommandError("there is no badge 'early'")
    """


class UsageError(CommandError):
    """The arguments of a command are invalid together.

    Example:
        error = UsageError("give --name or --colour, not both")
    """


def read_database_option(value: str | None) -> str | None:
    """Return the URL of `--database`; `-` reads standard input.

    Warns of a password in it, because every user of the machine can list the arguments of a
    process.
    """
    if value is None:
        return None
    url = _read_url() if value == "-" else value
    if not url:  # for example because a script's variable is not set
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
    """Return the settings without SECRET_KEY, because these commands sign nothing.

    Example:
        def print_colours(arguments: Arguments) -> None:
            print_line(f"{read_settings(arguments)}")
    """
    return Settings.from_mapping(
        {**environment(arguments), "SECRET_KEY": "", "SECRET_KEY_FALLBACKS": ""}
    )


def open_database(arguments: Arguments, *, may_create: bool = False) -> Settings:
    """Open the database and return the settings.

    Without `may_create`, a missing SQLite file is an error: perhaps this is the wrong folder.

    Example:
        def list_badges(arguments: Arguments) -> None:
            settings = open_database(arguments)
            print_line(settings.DATABASE_URL.partition(":")[0])
    """
    settings = read_settings(arguments)
    missing = missing_file(settings.DATABASE_URL)
    if missing is not None and not may_create:
        raise CommandError(
            f"{missing} does not exist: set DATABASE_URL or give --database; `migrate` creates it"
        )
    opened = storage.open_for(settings, is_command=True)
    if missing is not None:  # perhaps because this is not the folder of the site
        print_error(f"note: {missing} is a new database")
    record(opened, _made_at_first_change(lambda: arguments.recorders(settings)))
    subscribe_once(opened, arguments.tally)
    return settings


def _made_at_first_change(make: Callable[[], list[Recorder]]) -> list[Recorder]:
    """Return a recorder that stands for all: they import each feature, and few commands need it."""
    made = cache(make)

    def call_all(event: Event, details: Mapping[str, str]) -> None:
        for recorder in made():
            recorder(event, details)

    return [call_all]


def open_site(arguments: Arguments) -> "Site":
    """Use the database of the AuthMiddleware that `--app` names, and return its `site.Site`.

    Example:
        def list_badges(arguments: Arguments) -> None:
            site = open_site(arguments)
            print_line(site.settings.SITE_NAME or "")
    """
    if arguments.database is not None:
        raise UsageError("--app uses the database of the application, not --database")
    found = arguments.middleware_of(import_application(arguments.app))
    if found is None:
        raise CommandError(f"{arguments.app} is not an AuthMiddleware; name the one of your site")
    refuse_file_of_other_user(found.site.settings.DATABASE_URL)
    # Not another connection: on SQLite, `on_registered` would wait for the transaction of its row.
    context.use(found.database)
    site: Site = found.site
    return site


def open_personal_data(arguments: Arguments) -> tuple[Settings, PersonalData]:
    """Open the database, that of `--app` if it was given.

    Returns:
        The settings with SECRET_KEY, which finds the failed logins, and what the site stores about
        a person; without `--app`, this lacks what the application stores.

    Example:
        def print_account(arguments: Arguments) -> None:
            settings, data = open_personal_data(arguments)
            print_json_line(data.of_account(require_user(arguments.user), settings))
    """
    if arguments.app is not None:
        site = open_site(arguments)
        return site.settings, site.personal_data
    settings = Settings.for_server(environment(arguments))
    open_database(arguments)
    return settings, arguments.personal_data(settings)


def require_user(name: str) -> User:
    """Return the user with this username or email address.

    Example:
        user = require_user("ada")
    """
    user = find_user(typed(name))
    if user is None:
        raise CommandError(f"there is no user {name!r}")
    return user


def refuse_username(arguments: Arguments) -> None:
    """Refuse `--username` if people have no usernames, before the database is opened."""
    if arguments.username is not None and not read_settings(arguments).USERNAMES:
        raise UsageError("USERNAMES is off, so users have no usernames: leave out --username")


def columns_of(settings: Settings, columns: Mapping[str, str]) -> Mapping[str, str]:
    """Return the columns of a table, without the usernames if people have none."""
    return {
        heading: key for heading, key in columns.items() if settings.USERNAMES or key != "username"
    }


def require_passwords(settings: Settings) -> None:
    """Refuse a command that is about a password if users do not log in with one."""
    if not settings.PASSWORD_LOGIN:
        raise CommandError("PASSWORD_LOGIN is off, so users have no passwords")


def require_group(name: str) -> Group:
    """Return the group with this name, ignoring case."""
    group = Group.objects.find(name)
    if group is None:
        raise CommandError(f"there is no group {name!r}; `groups` lists them")
    return group


def import_application(path: str) -> object:
    """Import `module:name`, as WSGI servers do; a `module` alone returns the module.

    Raises:
        CommandError: Its cause is an exception of the module's code, if there is one.
        WsgiAuthError: The application raised it, because of its settings.
    """
    module_name, _, name = path.partition(":")
    try:
        with from_current_folder():
            module = importlib.import_module(module_name)
    except WsgiAuthError:
        raise
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and _is_within(module_name, error.name):
            advice = "run this command in the folder of the application"
            if module_name.endswith(".py"):
                advice = f"name the module {module_name.removesuffix('.py')!r}, without .py"
            raise CommandError(f"there is no module {module_name!r}; {advice}") from None
        reason = f"{type(error).__name__}: {error}"
        raise CommandError(f"{module_name!r} cannot be imported: {reason}") from error
    finally:
        json_log.keep()
    if name and not hasattr(module, name):
        raise CommandError(
            f"{module_name!r} has no {name!r}; name its WSGI application, as in"
            f" {module_name}:application"
        )
    return getattr(module, name) if name else module


def print_cause(error: CommandError) -> None:
    """Print the traceback of a mistake in the code of others, to show where it is."""
    if error.__cause__ is not None:
        sys.excepthook(type(error.__cause__), error.__cause__, error.__cause__.__traceback__)


@contextmanager
def from_current_folder() -> Iterator[None]:
    """Import from the current folder, too, as `python -m` does, and a script does not."""
    sys.path.insert(0, "")
    try:
        yield
    finally:
        sys.path.remove("")


@contextmanager
def features_of_current_folder() -> Iterator[None]:
    """Import features of FEATURES from the current folder, too, but nothing that is elsewhere.

    Not if Python keeps that folder out of the path: `python -P` and PYTHONSAFEPATH.
    """
    is_needed = bool(os.environ.get("FEATURES")) and not sys.flags.safe_path and "" not in sys.path
    if is_needed:
        sys.path.append("")
    try:
        yield
    finally:
        if is_needed:
            sys.path.remove("")


def _read_url() -> str:
    if sys.stdin.isatty():
        return getpass.getpass("Database URL: ").strip()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.strip()


def _is_within(module_name: str, missing: str | None) -> bool:
    """Return whether the missing module is this one or one of its packages."""
    return f"{module_name}.".startswith(f"{missing}.")
