"""Settings that are valid alone, but do not fit others; and the strength of keys."""

from collections.abc import Iterator
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from wsgiauth.settings import checks, oidc, webhook_entries
from wsgiauth.settings.kinds import declarations
from wsgiauth.settings.secret_keys import unmet_requirement
from wsgiauth.settings.service_entries import scopes_of, wrong_scope
from wsgiauth.web.uris import find_equal

if TYPE_CHECKING:
    from wsgiauth.settings.declared import Declared


def contradictions(settings: "Declared", *, sends_mail: bool) -> Iterator[tuple[str, str]]:
    """Yield the settings that do not fit others, and the end of "NAME must be …" for each.

    `sends_mail` says that MAIL_URL is set, because `settings` lacks an invalid one.
    """
    yield from _missing(settings, sends_mail=sends_mail)
    try:
        oidc.parse_entries(settings.OIDC_PROVIDERS)
    except ValueError as error:
        yield "OIDC_PROVIDERS", f"{oidc.EXPECTED}; {error}"
    if settings.SECOND_FACTOR != "offered" and not (settings.FACTOR_KEY or settings.PASSKEYS):
        expected = f"set, because SECOND_FACTOR is {settings.SECOND_FACTOR}"
        yield "FACTOR_KEY", f"{expected}; `python -m wsgiauth secret` prints one"
    if _locks_owners_out(settings):
        expected = (
            "on, because PASSKEYS creates accounts and PASSWORD_LOGIN is off: the owner of an"
            " address that someone else registered gets in by a code; or set VERIFICATION to on, or"
            " REGISTRATION to off"
        )
        yield "LOGIN_CODES", expected
    if settings.FACTOR_KEY_FALLBACKS and settings.FACTOR_KEY is None:
        yield "FACTOR_KEY", "set, because FACTOR_KEY_FALLBACKS is"
    yield from _unfit_keys(settings)


def _locks_owners_out(settings: "Declared") -> bool:
    """Return whether only passkeys create accounts, and addresses are never proven."""
    by_passkey = settings.PASSKEYS and settings.REGISTRATION and not settings.OIDC_PROVIDERS
    has_way = settings.PASSWORD_LOGIN or settings.VERIFICATION or settings.LOGIN_CODES
    return by_passkey and not has_way


def token_keys(settings: "Declared") -> list[tuple[str, str]]:
    """Return the keys of tokens that are set, each with the name of its setting."""
    return _keys("SECRET_KEY", settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS)


def _keys(name: str, key: str | None, fallbacks: tuple[str, ...]) -> list[tuple[str, str]]:
    first = [] if key is None else [(name, key)]
    return first + [(f"{name}_FALLBACKS", each) for each in fallbacks]


def _missing(settings: "Declared", *, sends_mail: bool) -> Iterator[tuple[str, str]]:
    for name in ("MAIL_FROM", "PUBLIC_URL"):
        if (sends_mail or settings.MAIL_URL is not None) and getattr(settings, name) is None:
            yield name, "set, because MAIL_URL is"
    for name in ("VERIFICATION", "LOGIN_CODES", "LOGIN_NOTICES"):
        if getattr(settings, name) and settings.MAIL_URL is None:
            expected = f'set, because {name} is on, or "callable:" if your code sends emails'
            yield "MAIL_URL", expected
    if settings.PASSKEYS and settings.PUBLIC_URL is None:
        yield "PUBLIC_URL", "set, because PASSKEYS is on"
    elif settings.PASSKEYS and not checks.has_host_name(settings.PUBLIC_URL or ""):
        expected = "a URL with a name such as localhost, not with an IP address"
        yield "PUBLIC_URL", f"{expected}, because PASSKEYS is on"
    for other in ("SERVICE_KEYS", "OAUTH_SERVER", "OIDC_PROVIDERS", "COOKIE_DOMAIN", "NEXT_HOSTS"):
        if getattr(settings, other) and settings.PUBLIC_URL is None:
            yield "PUBLIC_URL", _set_because(other, settings)
    domain, url = settings.COOKIE_DOMAIN, urlsplit(settings.PUBLIC_URL or "")
    if domain and url.hostname:
        is_fit = url.scheme == "https" and checks.is_at_or_below(url.hostname, domain)
        if not is_fit:
            expected = f"an https URL of {domain} or of a host below it"
            yield "PUBLIC_URL", f"{expected}, because COOKIE_DOMAIN is {domain}"
    for other, setting in declarations(settings).items():
        if setting.needs and getattr(settings, other) and not getattr(settings, setting.needs):
            yield setting.needs, _set_because(other, settings)
    if settings.SERVICE_KEYS and not (settings.SERVICES or settings.OAUTH_SERVER):
        yield "SERVICES", "set, because SERVICE_KEYS is and OAUTH_SERVER is not on"
    yield from _unfit_services(settings)
    urls = [each.url for each in webhook_entries.entries_of(settings.WEBHOOKS)]
    if len(set(urls)) < len(urls):
        yield "WEBHOOKS", webhook_entries.EXPECTED
    if len(settings.WEBHOOK_KEY) > webhook_entries.MOST_KEYS:
        yield "WEBHOOK_KEY", webhook_entries.EXPECTED_KEYS


def _unfit_services(settings: "Declared") -> Iterator[tuple[str, str]]:
    for service in settings.SERVICES:
        wrong = wrong_scope(service)
        if wrong is not None:
            expected = f"services with scopes such as notes.read; {wrong!r} of {service} is none"
            yield "SERVICES", expected
        equal = find_equal(service, settings.SERVICES)
        if (equal, scopes_of(equal)) != (service, scopes_of(service)):
            yield "SERVICES", f"different services; {equal} and {service} are the same URI"


def _set_because(other: str, settings: "Declared") -> str:
    return f"set, because {other} is{' on' if getattr(settings, other) is True else ''}"


def _unfit_keys(settings: "Declared") -> Iterator[tuple[str, str]]:
    of_tokens = token_keys(settings)
    of_apps = _keys("FACTOR_KEY", settings.FACTOR_KEY, settings.FACTOR_KEY_FALLBACKS)
    for name, key in of_apps:
        if key in [secret for _, secret in of_tokens]:
            yield name, "different from the keys that sign tokens"
    keys: list[tuple[str, str, str | None]] = [(*each, None) for each in of_apps]
    keys += [(*each, settings.JWT_ALGORITHM) for each in of_tokens]
    for name, key, algorithm in keys:
        requirement = unmet_requirement(key, algorithm)
        if requirement is not None:
            yield name, f"{requirement}; `python -m wsgiauth secret` prints one"
