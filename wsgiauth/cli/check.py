"""The command that checks the settings and the database as a server start does."""

from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches

from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.cli.command import Arguments, CommandError, environment
from wsgiauth.endpoints import Auth
from wsgiauth.settings import PER_ADDRESS, Settings
from wsgiauth.storage import schema
from wsgiauth.storage.databases import file_risks, missing_file

SIMILARITY = 0.9  # of 1: in a name of twelve letters, one that is added, missing or different
# Variables of other programs that are equally similar to a setting.
OTHER_VARIABLES = frozenset({"COOKIE_SECRET"})


def check(arguments: Arguments) -> None:
    """Report what a server start would refuse, and what is risky; change nothing."""
    environ = environment(arguments)
    settings = Settings.from_mapping(environ)
    Auth.from_settings(settings, "/auth")
    risks = settings.risks()
    risks += [
        f"{variable} is not a setting and is ignored; the similar {setting} is not set."
        for variable, setting in _mistyped_settings(environ)
    ]
    notes = []
    if settings.COOKIE_SECURE == "auto":
        notes.append(
            "COOKIE_SECURE is auto: the cookie is Secure if wsgi.url_scheme is https. Behind a"
            " proxy that serves https, configure the server to trust it, or set COOKIE_SECURE to"
            " on."
        )
    if any(getattr(settings, name) for name in PER_ADDRESS):
        notes.append(
            "Limits count clients by their address. Behind a proxy, configure the server to trust"
            " it (waitress: --trusted-proxy and --trusted-proxy-headers=x-forwarded-for). If you"
            f" cannot, set {' and '.join(PER_ADDRESS)} to 0."
        )
    risks_of_database, notes_of_database = _check_database(settings)
    risks += risks_of_database
    notes += notes_of_database
    for risk in risks:
        print(f"warning: {risk}")
    for note in notes:
        print(f"note: {note}")
    if risks and arguments.strict:
        raise CommandError("there are warnings")
    print("The settings are valid and the database is ready.")


def _check_database(settings: Settings) -> tuple[list[str], list[str]]:
    """Return the warnings and the notes about the database."""
    missing = missing_file(settings.DATABASE_URL)
    if missing is not None:
        if not missing.parent.is_dir():
            raise CommandError(f"DATABASE_URL: the folder {missing.parent} does not exist")
        return [], [f"{missing} does not exist: the next start will create it."]
    pending: list[str] = []
    opened = storage.open_database(
        settings.DATABASE_URL,
        prepare=lambda opened: pending.extend(schema.pending_at_start(opened)),
    )
    opened.begin()  # fails here if the database is not writable
    opened.rollback()  # COMMIT would write to an empty file
    notes = []
    if pending:
        notes.append(f"Migrations to apply: {', '.join(pending)}. The next start will do so.")
    elif not User.objects.filter(is_superuser=True, is_active=True).exists():
        notes.append("There is no superuser: `python -m wsgiauth createsuperuser` creates one.")
    return file_risks(opened), notes


def _mistyped_settings(variables: Iterable[str]) -> list[tuple[str, str]]:
    """Return variables whose names resemble an unset setting, each with that setting."""
    settings = {each.name for each in fields(Settings)}
    unset = settings.difference(variables)
    found = []
    for variable in sorted({*variables} - settings - OTHER_VARIABLES):
        name = variable.upper().removeprefix("WSGIAUTH_")
        found += [(variable, setting) for setting in get_close_matches(name, unset, 1, SIMILARITY)]
    return found
