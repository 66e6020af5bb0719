"""The command that starts as the server would, and names what is risky or looks mistaken."""

from collections.abc import Iterable
from dataclasses import fields
from difflib import get_close_matches

from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.cli.command import Arguments, CommandError, environment, require_file
from wsgiauth.endpoints import Auth
from wsgiauth.settings import PER_ADDRESS, Settings
from wsgiauth.storage import schema
from wsgiauth.storage.databases import file_risks

SIMILARITY = 0.9  # of 1: a letter too many or too few, or another one, in a name of twelve
# Variables of other programs that are as similar as that.
OTHER_VARIABLES = frozenset({"COOKIE_SECRET"})


def check(arguments: Arguments) -> None:
    """Print what a start of the server would refuse, and what is risky; change nothing."""
    environ = environment(arguments)
    settings = Settings.from_mapping(environ)
    Auth.from_settings(settings, "/auth")
    require_file(settings)
    pending: list[str] = []
    opened = storage.open_database(
        settings.DATABASE_URL,
        prepare=lambda opened: pending.extend(schema.pending_at_start(opened)),
    )
    opened.begin()  # a database that cannot be written to says so here
    opened.rollback()  # a COMMIT would write to an empty file
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
    if pending:
        notes.append(f"The schema lacks {', '.join(pending)}: the next start will apply it.")
    elif not User.objects.filter(is_superuser=True, is_active=True).exists():
        notes.append("There is no superuser: `python -m wsgiauth createsuperuser` makes one.")
    notes += [
        f"{variable} is not a setting and is ignored; the similar {setting} is not set."
        for variable, setting in _mistyped_settings(environ)
    ]
    for risk in risks:
        print(f"warning: {risk}")
    for note in notes:
        print(f"note: {note}")
    if risks and arguments.strict:
        raise CommandError("there are warnings")
    print("The settings are valid and the database is ready.")


def _mistyped_settings(variables: Iterable[str]) -> list[tuple[str, str]]:
    """Return the variables that are nearly a setting, each with the setting that is not set."""
    settings = {each.name for each in fields(Settings)}
    unset = settings.difference(variables)
    found = []
    for variable in sorted({*variables} - settings - OTHER_VARIABLES):
        name = variable.upper().removeprefix("WSGIAUTH_")
        found += [(variable, setting) for setting in get_close_matches(name, unset, 1, SIMILARITY)]
    return found
