"""The command that checks the settings and the database as a server start does."""

import math
import time
from dataclasses import fields

from wsgiauth import storage
from wsgiauth.accounts.models import User
from wsgiauth.app import AuthApp
from wsgiauth.authentication import factors, lifetimes, passkeys, totp
from wsgiauth.authentication.address_links import is_proven_here
from wsgiauth.authentication.factors import unasked_factors
from wsgiauth.authentication.oidc import Providers
from wsgiauth.authentication.second_factors import SecondFactors, demands_second_factor
from wsgiauth.cli.check_providers import check_providers, stranded_users
from wsgiauth.cli.command import Arguments, CommandError, environment
from wsgiauth.cli.output import counted, print_line
from wsgiauth.cli.parser import Parser
from wsgiauth.events import trail
from wsgiauth.features import FEATURES
from wsgiauth.mail import outbox
from wsgiauth.settings import PER_ADDRESS, Settings
from wsgiauth.settings.misspelt import misspelt_settings
from wsgiauth.site import Site
from wsgiauth.storage import schema
from wsgiauth.storage.databases import file_risks, missing_file
from wsgiauth.storage.postgresql import PostgreSQL

_EVENTS = 100  # of the audit trail, whose addresses are compared
_LOOPBACK = frozenset({"127.0.0.1", "::1"})


def add_commands(parser: Parser) -> None:
    """Add the commands of this module."""
    added = parser.command("check", check)
    added.add_argument("--strict", action="store_true", help="also exit with status 1 on warnings")


def check(arguments: Arguments) -> None:
    """Report what a server start would refuse, and what is risky; change nothing."""
    environ = environment(arguments)
    misspelt = misspelt_settings(environ)
    for risk in misspelt:  # at once, because they can be the cause of what is refused below
        print_line(f"warning: {risk}")
    settings = Settings.for_server(environ)
    site = Site.from_settings(settings, "/auth", FEATURES)
    AuthApp(site)
    risks, notes = check_providers(site.part(Providers) or (), settings)
    if settings.COOKIE_SECURE == "auto" and (settings.PUBLIC_URL or "").startswith("https:"):
        notes.append(
            "COOKIE_SECURE is auto, and PUBLIC_URL begins with https: the cookie is Secure only if"
            " the server knows of https, which a proxy can hide. Set COOKIE_SECURE to on."
        )
    if settings.SECRET_KEY_FALLBACKS:
        hours = math.ceil(lifetimes.longest(settings) / lifetimes.HOUR)
        notes.append(
            "SECRET_KEY_FALLBACKS has former keys: remove each one when it has signed nothing for"
            f" {hours} hours, the longest that a session lasts."
        )
    empty = [each.name for each in fields(Settings) if environ.get(each.name) == ""]
    if empty:  # perhaps from a variable of a script that is not set
        notes.append(f"Set, but empty, which counts as not set: {', '.join(empty)}.")
    risks_of_database, notes_of_database = _check_database(settings)
    risks = settings.risks() + risks + risks_of_database
    for risk in risks:
        print_line(f"warning: {risk}")
    for note in notes + notes_of_database:
        print_line(f"note: {note}")
    if (misspelt or risks) and arguments.strict:
        raise CommandError("there are warnings")
    print_line("The settings are valid and the database is ready.")


def _check_database(settings: Settings) -> tuple[list[str], list[str]]:
    """Return the warnings and the notes about the database."""
    missing = missing_file(settings.DATABASE_URL)
    if missing is not None:
        return [], [f"{missing} does not exist: the next start will create it."]
    pending: list[str] = []
    opened = storage.open_database(
        settings.DATABASE_URL,
        prepare=lambda opened: pending.extend(schema.pending_at_start(opened)),
        is_command=True,
    )
    opened.begin()  # fails here if the database is not writable
    opened.rollback()  # COMMIT would write to an empty file
    risks = file_risks(opened)
    if isinstance(opened, PostgreSQL):
        risks += opened.unusable_hosts()
    if pending:
        migrations = ", ".join(pending)
        return risks, [f"Migrations to apply: {migrations}. The next start will do so."]
    risks += _overdue_mails() + unasked_factors(settings) + stranded_users(settings)
    risks += _unusable_passkeys(settings) + _missing_factors(settings)
    risks += _lost_factor_keys(settings) + _removable_factors(settings)
    notes = _hidden_addresses(settings) + _former_factor_keys(settings)
    if not User.objects.filter(is_superuser=True, is_active=True).exists():
        notes.insert(0, "There is no superuser: `python -m wsgiauth createsuperuser` creates one.")
    return risks, notes


def _hidden_addresses(settings: Settings) -> list[str]:
    addresses = {entry.event.address for entry in trail.page(size=_EVENTS)} - {None}
    is_limited = any(getattr(settings, name) for name in PER_ADDRESS)
    if not is_limited or not addresses or not addresses <= _LOOPBACK:
        return []
    return [
        "All recent clients had the address of this machine, and limits count clients by their"
        " address. Behind a proxy, configure the server to trust it (serve: --trusted-proxy;"
        " waitress-serve: --trusted-proxy and --trusted-proxy-headers=x-forwarded-for). If you"
        f" cannot, set {', '.join(PER_ADDRESS[:-1])} and {PER_ADDRESS[-1]} to 0."
    ]


def _unusable_passkeys(settings: Settings) -> list[str]:
    host = passkeys.host_of(settings)
    if not (settings.PASSKEYS and passkeys.is_used(except_at=host)):
        return []
    return [
        f"PUBLIC_URL names {host}, but users have passkeys of another host: they are asked for"
        " them, and cannot use them. They need recovery codes, or"
        " `python -m wsgiauth removefactor`."
    ]


def _missing_factors(settings: Settings) -> list[str]:
    superusers = list(User.objects.filter(is_superuser=True, is_active=True))
    if not demands_second_factor(settings) or not superusers:
        return []
    if any(map(factors.list_factors, superusers)):  # `unasked_factors` warns of other types
        return []
    path = SecondFactors(factors.KINDS, settings).set_up_path
    return [
        f"SECOND_FACTOR is {settings.SECOND_FACTOR}, but no active superuser has a second factor:"
        f" log in as one and set it up at /auth{path}, where their next login leads."
    ]


def _removable_factors(settings: Settings) -> list[str]:
    """Warn of superusers whose second factors the first emailed link would remove."""
    if settings.MAIL_URL is None:
        return []
    superusers = User.objects.filter(is_superuser=True, is_active=True).order_by(User.id)
    unproven = (each for each in superusers if not is_proven_here(each))
    names = [each.username for each in unproven if factors.list_factors(each)]
    if not names:
        return []
    return [
        f"Superusers whose address nothing here has proven: {', '.join(names)}. Anyone with access"
        " to their mailbox can remove their second factors, by a link for a forgotten password."
        " They verify it at /auth/email, or you know that it is right:"
        " `python -m wsgiauth set NAME --verified`."
    ]


def _lost_factor_keys(settings: Settings) -> list[str]:
    if settings.FACTOR_KEY is None:  # `unasked_factors` warns of all apps
        return []
    known = {"", *map(totp.key_id, totp.factor_keys(settings))}
    number = sum(many for key, many in totp.count_by_key().items() if key not in known)
    if not number:
        return []
    return [
        "Authenticator apps with a key that is neither FACTOR_KEY nor in FACTOR_KEY_FALLBACKS:"
        f" {number}. Their codes are wrong: add the key, or their users need recovery codes or"
        " `python -m wsgiauth removefactor`."
    ]


def _former_factor_keys(settings: Settings) -> list[str]:
    if not settings.FACTOR_KEY_FALLBACKS:
        return []
    counts = totp.count_by_key()
    notes = [
        f"Authenticator apps with key {number} of FACTOR_KEY_FALLBACKS:"
        f" {counts.get(totp.key_id(key), 0)}. A former key is needed as long as an app has it."
        for number, key in enumerate(settings.FACTOR_KEY_FALLBACKS, 1)
    ]
    if "" in counts:
        notes.append(
            f"Authenticator apps whose key is not known before their next code: {counts['']}."
            " They can need any former key."
        )
    return notes


def _overdue_mails() -> list[str]:
    number = outbox.overdue(time.time())
    if not number:
        return []
    return [f"{counted(number, 'email')} overdue: `python -m wsgiauth mail` sends them."]
