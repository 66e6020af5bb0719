"""The command that checks the settings and the database as a server start does."""

import argparse
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import fields
from urllib.parse import urlsplit

from wsgiauth import storage
from wsgiauth.app import AuthApp
from wsgiauth.console.command import Arguments, CommandError, environment
from wsgiauth.console.output import print_line
from wsgiauth.console.parser import Parser
from wsgiauth.events.actors import feature_code
from wsgiauth.feature import Finding, own_tables
from wsgiauth.features.registry import features_of
from wsgiauth.messages import counted
from wsgiauth.questions import findings_of, note, questions_of
from wsgiauth.settings import Settings
from wsgiauth.settings.misspelt import misspelt_settings
from wsgiauth.site import Site
from wsgiauth.storage import schema
from wsgiauth.storage.databases import file_risks, missing_file
from wsgiauth.storage.postgresql import PostgreSQL


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    added = parser.command(
        "check",
        check,
        examples=(
            "--strict",
            "--url https://www.example.org",
        ),
    )
    added.add_argument("--strict", action="store_true", help="also exit with status 1 on warnings")
    added.add_argument(
        "--url",
        metavar="URL",
        type=_url,
        help="ask the site that is served at this URL, such as https://www.example.org, as an"
        " anonymous client; needs no settings",
    )
    added.share("--mount")


def check(arguments: Arguments) -> None:
    """Report errors of a server start and risks, and change nothing."""
    if arguments.url is not None:
        from wsgiauth.cli.check_url import Served, findings  # whose imports few checks need

        found = [*findings(Served(arguments.url, arguments.mount))]
        number = sum(each.is_risk for each in found)
        success = f"{counted(number, 'warning')}." if number else "The site answers as it should."
        _report(found, arguments, success)
        return
    environ = environment(arguments)
    misspelt = misspelt_settings(environ)
    for risk in misspelt:  # first, because they can cause an error below
        print_line(f"warning: {risk}")
    settings = Settings.for_server(environ)
    arguments.all_commands()  # refuses two of the same name
    site = Site.from_settings(settings, "/auth", features_of(settings))
    AuthApp(site)
    found = [*map(Finding, settings.risks()), *_answers(site, needs_database=False)]
    found += _empty_settings(environ, settings)
    found += _check_database(site)
    _report(found, arguments, "The settings are valid and the database is ready.", misspelt)


def _report(
    found: list[Finding], arguments: Arguments, success: str, printed: Sequence[str] = ()
) -> None:
    """Print the findings, warnings first, and fail if `--strict` demands it."""
    for each in sorted(found, key=lambda each: not each.is_risk):
        print_line(f"{'warning' if each.is_risk else 'note'}: {each.sentence}")
    if arguments.strict and (printed or any(each.is_risk for each in found)):
        raise CommandError("there are warnings")
    print_line(success)


def _url(text: str) -> str:
    """Return the typed URL of a site, without a slash at its end."""
    with suppress(ValueError):  # of a malformed host or port
        parts = urlsplit(text)
        is_plain = "@" not in parts.netloc and not parts.query and not parts.fragment
        if parts.scheme in ("http", "https") and parts.hostname and is_plain and parts.port != 0:
            return text.rstrip("/")
    raise argparse.ArgumentTypeError("not the URL of a site, such as https://www.example.org")


def _answers(site: Site, *, needs_database: bool) -> Iterator[Finding]:
    """Yield the findings of the questions of the kernel and of the features.

    A question that fails is a warning.
    """
    for question in questions_of(site):
        if question.needs_database == needs_database:
            with feature_code(question.feature, "a question of `check`") as outcome:
                yield from findings_of(question, site)
            if outcome.error is not None:
                reason = type(outcome.error).__name__
                yield Finding(f"A question of {question.feature} failed ({reason}).")


def _check_database(site: Site) -> Iterator[Finding]:
    settings = site.settings
    missing = missing_file(settings.DATABASE_URL)
    if missing is not None:
        yield note(f"{missing} does not exist: the next start will create it.")
        return
    pending: list[str] = []
    opened = storage.open_for(
        settings,
        prepare=lambda opened: pending.extend(schema.pending_at_start(opened)),
        is_command=True,
    )
    opened.begin()  # fails here if the database is not writable
    opened.rollback()  # COMMIT would write to an empty file
    yield from map(Finding, file_risks(opened))
    if isinstance(opened, PostgreSQL):
        yield from map(Finding, opened.unusable_hosts())
    if pending:
        migrations = ", ".join(pending)
        yield note(f"Migrations to apply: {migrations}. The next start will do so.")
    else:
        yield from _missing_tables(site, {*opened.get_tables()})
        yield from _answers(site, needs_database=True)


def _missing_tables(site: Site, found: Set[str]) -> Iterator[Finding]:
    for feature in site.features:
        for table in sorted(own_tables(feature) - found):
            yield Finding(
                f"The database lacks the table {table} of the feature {feature.name}, which none of"
                " its applied migrations has made."
            )


def _empty_settings(environ: Mapping[str, str], settings: Settings) -> Iterator[Finding]:
    empty = [each.name for each in fields(settings) if environ.get(each.name) == ""]
    if empty:  # perhaps from a variable of a script that is not set
        yield note(f"Empty settings, which count as not set: {', '.join(empty)}.")
