"""The declaration of each setting, in the order of the checks; see docs/settings.md."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.guessing.known_passwords import file_problem
from wsgiauth.languages.catalogues import folder_problem, is_language
from wsgiauth.settings import checks, features, mail, oidc, webhook_entries
from wsgiauth.settings.contradictions import contradictions
from wsgiauth.settings.kinds import (
    choice,
    declarations,
    key,
    limit,
    objects,
    parse_word,
    path,
    string,
    switch,
    whole_number,
    words,
    wrong_setting,
)
from wsgiauth.settings.secret_keys import ALGORITHMS
from wsgiauth.settings.service_entries import read_services
from wsgiauth.web.colours import is_colour
from wsgiauth.web.urls import is_safe_path


@dataclass(frozen=True, kw_only=True)
class Declared:
    """The fields of `Settings`."""

    SECRET_KEY: str | None = key("signs tokens (HMAC), used as written")
    SECRET_KEY_FALLBACKS: tuple[str, ...] = words(
        "former keys, which verify tokens but sign none",
        expected="a list of random strings",
        separator=" ",
        is_secret=True,
    )
    JWT_ALGORITHM: str = choice(ALGORITHMS, "the algorithm that signs tokens")
    JWT_EXPIRY_MINUTES: int = whole_number(
        60,
        1,
        5_256_000,
        "how long an access token lasts, and a browser's session without use, in minutes",
        risk=checks.longer_than(checks.MINUTES),
    )
    SESSION_HOURS: int = whole_number(
        12,
        1,
        87_600,
        "the maximum duration of a session by the form or with a refresh token, in hours",
        risk=checks.longer_than(checks.HOURS),
    )
    REMEMBER_DAYS: int = whole_number(
        30,
        0,
        3_650,
        'the maximum duration of a session with "Keep me logged in", in days; `0` removes the'
        " choice; browsers keep no cookie for more than 400 days",
        risk=checks.longer_than(checks.DAYS),
    )
    REMEMBER_IDLE_DAYS: int = whole_number(
        14, 1, 3_650, 'how long a session with "Keep me logged in" lasts without use, in days'
    )
    FRESH_MINUTES: int = whole_number(
        15,
        1,
        1_440,
        "for how long users can make sensitive changes after they proved their identity, by the"
        " password or the second factor, in minutes",
    )
    AUDIT_DAYS: int = whole_number(
        90, 0, 36_500, "how long the audit trail keeps a change, in days; `0`: forever"
    )
    JWT_ISSUER: str | None = string(
        None,
        "the `iss` claim, added to tokens and required in them; another value ends refresh tokens",
    )
    JWT_AUDIENCE: str | None = string(
        None,
        "the `aud` claim, added to tokens and required in them; another value ends refresh tokens",
    )
    DATABASE_URL: str = string(
        "sqlite:///wsgiauth.db",
        "where the accounts are",
        expected="a URL such as sqlite:///wsgiauth.db",
        is_valid=lambda url: ":" in url,
        is_secret=True,
    )
    BCRYPT_ROUNDS: int = whole_number(
        12, 4, 31, "bcrypt's cost; each step doubles the time of a hash", risk=checks.cheap_hashes
    )
    PASSWORD_MIN_LENGTH: int = whole_number(
        8, 8, 72, "the minimum length of a new password, in characters"
    )
    PASSWORD_WORDS: tuple[str, ...] = words(
        "words of the site, such as its products, which cannot be passwords",
        expected=f"a list of words of at most {checks.MAX_WORD_LENGTH} characters",
        is_valid=checks.is_word,
    )
    BREACHED_PASSWORDS: str | os.PathLike[str] | None = path(
        "known breached passwords, which are refused as new passwords",
        expected="a file of SHA-1 hashes, sorted, with one HASH:COUNT on each line",
        problem=file_problem,
    )
    FORMER_PEPPER: str | None = string(
        None,
        "the key with which other software made an HMAC of each password before it hashed it, such"
        " as Flask-Security's `SECURITY_PASSWORD_SALT`",
        is_secret=True,
    )
    REGISTRATION: bool = switch(True, "whether anyone can create an account at /auth/register")
    USERNAMES: bool = switch(
        True, "whether people have a username; otherwise, they are known by their email address"
    )
    PASSWORD_LOGIN: bool = switch(True, "whether users log in with a password")
    VERIFICATION: bool = switch(
        False, "whether /auth/register sends a link first, so that every address is proven"
    )
    FACTOR_KEY: str | None = key(
        "derives the keys of authenticator apps; without it, there are none"
    )
    FACTOR_KEY_FALLBACKS: tuple[str, ...] = words(
        "former keys, for the apps that were set up with them",
        expected="a list of random strings",
        separator=" ",
        is_secret=True,
    )
    PASSKEYS: bool = switch(False, "whether users can log in with passkeys")
    LOGIN_CODES: bool = switch(False, "whether users can log in with a code that an email brings")
    SECOND_FACTOR: str = choice(("offered", "staff", "all"), "who must have a second factor")
    TRUSTED_BROWSER_DAYS: int = whole_number(
        0,
        0,
        365,
        "for how many days a browser that a user trusts is not asked for the second factor; `0`"
        " does not offer it",
    )
    LOGIN_FAILURES_PER_ACCOUNT: int = limit(
        5, 1000, "failed logins with one name before a wait", risk=checks.free_guesses
    )
    LOGIN_FAILURES_PER_ADDRESS: int = limit(
        50, 1_000_000, "failed logins of one client address before a wait"
    )
    LOGINS_PER_ACCOUNT: int = limit(
        60, 1_000_000, "logins to one account in a minute before a wait"
    )
    REGISTRATIONS_PER_ADDRESS: int = limit(
        20, 1_000_000, "registrations from one client address in an hour"
    )
    HASHING_THREADS: int = whole_number(
        checks.processors(), 1, 1000, "how many passwords a process hashes at the same time"
    )
    HASHING_PER_ADDRESS: int = limit(
        1, 1000, "how many passwords of one client a process hashes at the same time"
    )
    MAIL_URL: str | None = string(
        None,
        "how emails are sent",
        expected="a URL such as smtp://user:password@mail.example.org:587, smtps://…, console: or"
        " file:///folder, whose folder exists",
        is_valid=mail.is_mail_url,
        is_secret=True,
        risk=mail.insecure_mail,
    )
    MAIL_FROM: str | None = string(
        None,
        "the sender of emails",
        expected="an address, perhaps with a name, as in Library <accounts@example.org>",
        is_valid=mail.is_sender,
    )
    PUBLIC_URL: str | None = string(
        None,
        "where the site is, for the links in emails",
        expected="an https URL in lower case, without a query and without the port 443 or 80, such"
        " as https://example.org; http is only for localhost",
        is_valid=mail.is_public_url,
    )
    LINK_MINUTES: int = whole_number(60, 5, 1_440, "how long the link in an email can be used")
    LOGIN_NOTICES: bool = switch(
        False, "whether users get an email about a login from a new address or browser"
    )
    MAILS_PER_ACCOUNT: int = limit(3, 1000, "emails that can be requested with one name in an hour")
    MAILS_PER_ADDRESS: int = limit(
        20, 1_000_000, "emails that can be requested from one client address in an hour"
    )
    COOKIE_NAME: str = string(
        "wsgiauth",
        "the name of the browser's cookie; over https, `__Host-` is put before it, or `__Secure-`"
        " with `COOKIE_DOMAIN`",
        expected="up to 64 of the characters that RFC 6265 allows, without a prefix such as"
        " __Host-, which https adds",
        is_valid=checks.is_cookie_name,
    )
    COOKIE_SECURE: str = choice(
        ("auto", "on"),
        "whether the cookie is `Secure`; `auto` follows `wsgi.url_scheme`",
        parse=parse_word(True, "on"),
    )
    COOKIE_DOMAIN: str | None = string(
        None,
        "the domain whose hosts share the login",
        expected="a domain in lower case such as example.org, without a dot at the start, which is"
        " neither an IP address nor a public suffix such as org or co.uk",
        is_valid=checks.is_cookie_domain,
    )
    NEXT_HOSTS: tuple[str, ...] = words(
        "other hosts to which `next` can lead, by https",
        expected="a list of hosts in lower case such as files.example.org, app.example.org:8443 or"
        " *.example.org, without the port 443",
        is_valid=checks.is_next_host,
    )
    TRUSTED_ORIGINS: tuple[str, ...] = words(
        "other origins whose pages can send requests with the cookie",
        expected="a list of origins as browsers write them, such as https://app.example.org",
        is_valid=checks.is_origin,
        risk=checks.forgeable_origins,
    )
    BASIC_AUTH: str = choice(
        ("off", "keys"),
        "whether Basic authentication accepts a username or email address with an API key as the"
        " password",
        parse=parse_word(False, "off"),
    )
    SITE_NAME: str | None = string(
        None, "the name of the site, in the title and above the heading of every page"
    )
    SITE_LOGO: str | None = string(
        None,
        "the logo of the site, which replaces its name above the heading",
        expected="a path of the site such as /static/logo.svg",
        is_valid=is_safe_path,
    )
    SITE_LOGO_DARK: str | None = string(
        None,
        "another logo for dark pages",
        expected="a path of the site such as /static/logo-dark.svg",
        is_valid=is_safe_path,
        needs="SITE_LOGO",
    )
    SITE_LOGO_EMAIL: str | None = string(
        None,
        "another logo for emails, because few mail programs show an SVG image",
        expected="a path of the site or an https URL of a PNG, JPEG, GIF or WebP image such as"
        " /static/logo.png",
        is_valid=checks.is_email_image,
    )
    SITE_COLOR: str | None = string(
        None,
        "the colour of buttons and links",
        expected="a colour in the form #rrggbb, such as #0b6868",
        is_valid=is_colour,
    )
    SUPPORT_URL: str | None = string(
        None,
        "where people get help who cannot help themselves, for pages and emails",
        expected="an https: or mailto: URL such as mailto:help@example.org",
        is_valid=checks.is_contact,
    )
    TERMS_URL: str | None = string(
        None,
        "the terms of use, which a registration accepts",
        expected="a path of the site such as /terms, or an https URL",
        is_valid=checks.is_link,
    )
    PRIVACY_URL: str | None = string(
        None,
        "the privacy policy",
        expected="a path of the site such as /privacy, or an https URL",
        is_valid=checks.is_link,
    )
    TERMS_VERSION: str | None = string(
        None,
        "the version of the terms that each user must have accepted",
        expected="the day of the version, such as 2026-11-28",
        is_valid=checks.is_day,
        needs="TERMS_URL",
    )
    PAGE_SOURCES: tuple[str, ...] = words(
        "other origins from which the pages can load fonts and images",
        expected="a list of https origins such as https://fonts.example.org",
        is_valid=checks.is_page_source,
    )
    TEMPLATES: str | os.PathLike[str] | None = path(
        "a folder of templates that replace or extend the pages",
        expected="a folder that exists",
        problem=checks.folder_problem,
        risk=checks.shared_folder,
    )
    LANGUAGES: tuple[str, ...] = words(
        "the languages of pages, messages and emails; the first is the default",
        expected="a list of languages such as en or pt-BR",
        is_valid=is_language,
    )
    TRANSLATIONS: str | os.PathLike[str] | None = path(
        "a folder of catalogues, which add languages or change translations",
        expected="a folder of catalogues such as de/LC_MESSAGES/wsgiauth.mo",
        problem=folder_problem,
        risk=checks.shared_folder,
    )
    FORWARD_AUTH: bool = switch(
        False, "whether /auth/check tells a proxy who sent a request, and whether they are admitted"
    )
    SERVICE_KEYS: str | os.PathLike[str] | None = path(
        "the private keys that sign tokens for other services and apps; without it, there are none",
        expected="a file or folder of private keys in PEM form",
    )
    SERVICES: tuple[str, ...] = words(
        "the services for which tokens are issued",
        expected="a list of names or URLs, separated by spaces, such as reports or"
        " https://api.example.org",
        is_valid=checks.is_audience,
        separator=" ",
        convert=read_services,
        needs="SERVICE_KEYS",
    )
    SERVICE_TOKEN_MINUTES: int = whole_number(
        5, 1, 60, "how long a token for another service lasts, in minutes"
    )
    OAUTH_SERVER: bool = switch(
        False,
        "whether users log in to other apps with their account here (OpenID Connect)",
        needs="SERVICE_KEYS",
    )
    OAUTH_REGISTRATION: bool = switch(
        False,
        "whether apps can register themselves (RFC 7591) or have a document, as MCP clients do",
        needs="OAUTH_SERVER",
    )
    OAUTH_SCHEMES: tuple[str, ...] = words(
        "schemes without a dot to which apps that register themselves can lead",
        expected="a list of schemes such as cursor, each the own scheme of an app",
        is_valid=checks.is_scheme,
        default=("cursor", "vscode", "vscode-insiders"),
    )
    OAUTH_REGISTRATIONS_PER_ADDRESS: int = limit(
        20, 1_000_000, "apps that one client address can register in an hour"
    )
    OIDC_PROVIDERS: tuple[str, ...] = words(
        "the OpenID providers with which users can log in",
        expected=oidc.EXPECTED,
        separator=" ",
        is_secret=True,
    )
    PROVIDER_BUTTONS: str = choice(
        ("below", "above"), "where the buttons of these providers are: below or above the form"
    )
    OIDC_PROXY: str | None = string(
        None,
        "the proxy for the requests to these providers, and for documents of apps",
        expected=oidc.EXPECTED_PROXY,
        is_valid=oidc.is_proxy,
        is_secret=True,
    )
    ADMIN_PANEL: bool = switch(True, "whether staff administer accounts at /auth/admin")
    METRICS: bool = switch(False, "whether /auth/metrics serves figures for Prometheus")
    WEBHOOKS: tuple[str, ...] = words(
        "the URLs to which changes of accounts are sent",
        expected=webhook_entries.EXPECTED,
        is_valid=webhook_entries.is_entry,
        separator=" ",
        is_secret=True,
        risk=webhook_entries.insecure,
        needs="WEBHOOK_KEY",
    )
    WEBHOOK_KEY: tuple[str, ...] = words(
        "the key that signs webhooks; perhaps with the former one, which signs, too",
        expected=webhook_entries.EXPECTED_KEYS,
        is_valid=webhook_entries.is_key,
        separator=" ",
        is_secret=True,
    )
    WEBHOOK_EMAILS: bool = switch(False, "whether webhooks have the email addresses of users")
    FEATURES: tuple[features.Entry, ...] = objects(
        "further features, each by its module and its name in it",
        expected=features.EXPECTED,
        is_valid=features.check_entry,
    )

    # Type checkers read the arguments of the dataclass.
    if not TYPE_CHECKING:  # pragma: no branch - they alone set it

        def __new__(cls, **values: Any) -> Self:
            """Return settings of the class that also has the settings of FEATURES."""
            return object.__new__(features.with_settings_of(cls, values.get("FEATURES", ())))

    def __post_init__(self) -> None:
        problems: dict[str, str] = {}
        for name, setting in declarations(self).items():
            try:
                kept = setting.checked(name, getattr(self, name))
            except ConfigurationError as error:
                problems[name] = str(error)
                kept = getattr(type(self), name)  # the default stands in for it below
            object.__setattr__(self, name, kept)
        for name, expected in self._contradictions(sends_mail="MAIL_URL" in problems):
            problems.setdefault(name, str(wrong_setting(name, expected)))
        if problems:
            raise ConfigurationError(*problems.values())

    def _contradictions(self, *, sends_mail: bool) -> Iterator[tuple[str, str]]:
        yield from contradictions(self, sends_mail=sends_mail)
        declared = features.load(features.valid(self.FEATURES))
        for kind in (each.settings for each in declared if each.settings is not None):
            if not isinstance(self, kind):  # by dataclasses.replace
                yield "FEATURES", "the same in a copy of settings; create new ones"
                return
            yield from kind.contradictions(self)
