"""The command that checks the settings and the database as a server start does."""

import argparse
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from itertools import islice
from urllib.parse import parse_qsl, urlsplit

from wsgiauth import storage
from wsgiauth.accounts.listing import user_pages
from wsgiauth.accounts.models import User, is_proven_here
from wsgiauth.app import AuthApp
from wsgiauth.authentication import lifetimes
from wsgiauth.authentication.second_factors import demands_second_factor
from wsgiauth.console.command import Arguments, CommandError, environment
from wsgiauth.console.output import print_line
from wsgiauth.console.parser import Parser
from wsgiauth.feature import Finding, Question
from wsgiauth.features.registry import FEATURES
from wsgiauth.mail import outbox
from wsgiauth.messages import counted
from wsgiauth.settings import Settings
from wsgiauth.settings.checks import is_svg
from wsgiauth.settings.misspelt import misspelt_settings
from wsgiauth.site import Site
from wsgiauth.storage import schema
from wsgiauth.storage.databases import file_risks, missing_file
from wsgiauth.storage.postgresql import PostgreSQL

_LISTED = 10  # names of users
_USUAL_POOL = 20  # connections, of Peewee


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    added = parser.command("check", check)
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
        _report(found, arguments, "The site answers as it should.")
        return
    environ = environment(arguments)
    misspelt = misspelt_settings(environ)
    for risk in misspelt:  # first, because they can cause an error below
        print_line(f"warning: {risk}")
    settings = Settings.for_server(environ)
    site = Site.from_settings(settings, "/auth", FEATURES)
    AuthApp(site)
    found = [*map(Finding, settings.risks()), *_answers(site, needs_database=False)]
    found += _empty_settings(environ)
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
    """Yield the findings of the questions of the kernel and of the features."""
    for question in (*_QUESTIONS, *(each for feature in FEATURES for each in feature.questions)):
        if question.needs_database == needs_database:
            yield from question.ask(site)


def _check_database(site: Site) -> Iterator[Finding]:
    settings = site.settings
    missing = missing_file(settings.DATABASE_URL)
    if missing is not None:
        yield _note(f"{missing} does not exist: the next start will create it.")
        return
    pending: list[str] = []
    opened = storage.open_database(
        settings.DATABASE_URL,
        has_usernames=settings.USERNAMES,
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
        yield _note(f"Migrations to apply: {migrations}. The next start will do so.")
    else:
        yield from _answers(site, needs_database=True)


def _note(sentence: str) -> Finding:
    return Finding(sentence, is_risk=False)


def _empty_settings(environ: Mapping[str, str]) -> Iterator[Finding]:
    empty = [each.name for each in fields(Settings) if environ.get(each.name) == ""]
    if empty:  # perhaps from a variable of a script that is not set
        yield _note(f"Empty settings, which count as not set: {', '.join(empty)}.")


def _insecure_cookie(site: Site) -> Iterator[Finding]:
    settings = site.settings
    if settings.COOKIE_DOMAIN is not None:
        return
    if settings.COOKIE_SECURE == "auto" and (settings.PUBLIC_URL or "").startswith("https:"):
        yield _note(
            "COOKIE_SECURE is auto, and PUBLIC_URL begins with https: the cookie is Secure only if"
            " the server knows of https, which a proxy can hide. Set COOKIE_SECURE to on."
        )


def _former_keys(site: Site) -> Iterator[Finding]:
    if site.settings.SECRET_KEY_FALLBACKS:
        hours = math.ceil(lifetimes.longest(site.settings) / lifetimes.HOUR)
        yield _note(
            "SECRET_KEY_FALLBACKS has former keys: remove each one when it has signed nothing for"
            f" {hours} hours, the longest that a session lasts."
        )


def _telling_registration(site: Site) -> Iterator[Finding]:
    settings = site.settings
    if settings.REGISTRATION and not settings.USERNAMES and not settings.VERIFICATION:
        yield _note(
            "USERNAMES=off without VERIFICATION: /auth/register tells who has an account. Set"
            " VERIFICATION to on."
        )


def _emails_without_logo(site: Site) -> Iterator[Finding]:
    settings = site.settings
    is_shown = settings.SITE_LOGO_EMAIL or not is_svg(settings.SITE_LOGO or "")
    if settings.MAIL_URL is not None and not is_shown:
        yield _note(
            "SITE_LOGO is an SVG image, which few mail programs show: emails have the name of the"
            " site instead. Set SITE_LOGO_EMAIL to a PNG image."
        )


def _small_pool(site: Site) -> Iterator[Finding]:
    url = urlsplit(site.settings.DATABASE_URL)
    most = int(dict(parse_qsl(url.query)).get("max_connections", _USUAL_POOL))
    needed = 2 * site.settings.HASHING_THREADS + 2
    if url.scheme.endswith("+pool") and 0 < most < needed:
        yield _note(
            f"The pool of DATABASE_URL has {most} connections: with max_connections={needed}, no"
            " request waits while HASHING_THREADS passwords are hashed."
        )


def _superusers() -> list[User]:
    active = User.objects.filter(is_superuser=True, is_active=True)
    return list(active.order_by(User.id))


def _missing_superuser(site: Site) -> Iterator[Finding]:
    if not _superusers():
        yield _note("There is no superuser: `python -m wsgiauth createsuperuser` creates one.")


def _locked_out(site: Site) -> Iterator[Finding]:
    """Warn of users who have only a password, which PASSWORD_LOGIN does not accept."""
    if site.settings.PASSWORD_LOGIN:
        return
    users = (user for page in user_pages() for user, _ in page if user.is_active)
    names = (each.label for each in users if not site.ways_in.has_one(each))
    listed = list(islice(names, _LISTED))
    number = len(listed) + sum(1 for _ in names)
    if listed:
        more = ", …" if number > _LISTED else ""
        yield Finding(
            f"PASSWORD_LOGIN is off, and {counted(number, 'active user')} cannot log in:"
            f" {', '.join(listed)}{more}. They need another way first, such as a passkey or an"
            " account of a provider. With link=verified, a provider connects users with a verified"
            " address when they log in there."
        )


def _overdue_mails(site: Site) -> Iterator[Finding]:
    number = outbox.overdue(time.time())
    if number:
        yield Finding(f"{counted(number, 'email')} overdue: `python -m wsgiauth mail` sends them.")


def _missing_factors(site: Site) -> Iterator[Finding]:
    superusers = _superusers() if demands_second_factor(site.settings) else []
    # Also factors that no login asks for: another warning is about them.
    if superusers and not any(map(site.factors.all_of, superusers)):
        yield Finding(
            f"SECOND_FACTOR is {site.settings.SECOND_FACTOR}, but no active superuser has a second"
            f" factor: log in as one and set it up at /auth{site.factors.set_up_path}, where their"
            " next login leads."
        )


def _removable_factors(site: Site) -> Iterator[Finding]:
    """Warn of superusers whose second factors the first emailed link removes."""
    unproven = [each for each in _superusers() if not is_proven_here(each)]
    names = [each.label for each in unproven if site.factors.all_of(each)]
    if names and site.settings.MAIL_URL is not None:
        yield Finding(
            f"Superusers whose address nothing here has proven: {', '.join(names)}. Anyone with"
            " access to their mailbox can remove their second factors, by a link for a forgotten"
            " password. They verify it at /auth/email, or you know that it is right:"
            " `python -m wsgiauth set NAME --verified`."
        )


_QUESTIONS = (
    Question(_insecure_cookie, needs_database=False),
    Question(_former_keys, needs_database=False),
    Question(_telling_registration, needs_database=False),
    Question(_emails_without_logo, needs_database=False),
    Question(_small_pool),
    Question(_missing_superuser),
    Question(_locked_out),
    Question(_overdue_mails),
    Question(lambda site: map(Finding, site.factors.risks())),
    Question(_missing_factors),
    Question(_removable_factors),
)
