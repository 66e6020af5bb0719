"""Settings: checked once, when they are made, and frozen from then on."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from wsgiauth import secret_keys
from wsgiauth.guessing.breached_passwords import file_problem
from wsgiauth.setting_values import RANGES, out_of_range, parse, wrong_setting

MAX_WORD_LENGTH = 254  # characters of a word that no password can be

# OWASP Password Storage Cheat Sheet: a bcrypt work factor of 10 at the least.
MINIMUM_SAFE_ROUNDS = 10

# As browsers write them (the URL standard, "serialization of an origin"); compared exactly.
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?")
_DEFAULT_PORT = re.compile(r"http:.*:80|https:.*:443")
# What anybody on the network can impersonate; this computer's own names are not on the network.
_FORGEABLE = re.compile(r"http://(?!((.+\.)?localhost|127(\.[0-9]+){3}|\[::1\])(:[0-9]+)?$)")
# RFC 6265 section 4.1.1: a token. Browsers give names with these prefixes a meaning of their own.
_COOKIE_NAME = re.compile(r"(?!__(?i:host|secure|http)-)[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
PER_ADDRESS = (  # limits that take REMOTE_ADDR for the client
    "LOGIN_FAILURES_PER_ADDRESS",
    "REGISTRATIONS_PER_ADDRESS",
    "HASHING_PER_ADDRESS",
)


def _cores() -> int:
    """Return how many processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))  # Linux only
    return len(affinity(0))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything that can be configured, by the same upper-case names everywhere.

    Attributes:
        SECRET_KEY: Signs tokens (HMAC, RFC 7518 section 3.2), used exactly as written. Needed
            wherever tokens are issued or verified; managing users works without it.
        SECRET_KEY_FALLBACKS: Keys that have signed before; they still verify, until their last
            token has expired.
        JWT_ALGORITHM: `HS256`, `HS384` or `HS512`.
        JWT_EXPIRY_MINUTES: How long a login lasts, in whole minutes.
        JWT_ISSUER: The `iss` claim, set and demanded when given.
        JWT_AUDIENCE: The `aud` claim, set and demanded when given.
        DATABASE_URL: `sqlite:///file.db`, `postgresql://…` or `mysql://…`; `+pool` after the
            scheme asks for a connection pool.
        BCRYPT_ROUNDS: bcrypt's cost: each step doubles the time of a hash.
        PASSWORD_MIN_LENGTH: The shortest new password, in characters.
        PASSWORD_WORDS: Names of the site and the like, which no new password may be.
        BREACHED_PASSWORDS: A file of the passwords of known breaches, as `breached_passwords`
            describes it; no new password may be in it.
        REGISTRATION: Whether strangers may create accounts at /auth/register.
        LOGIN_FAILURES_PER_ACCOUNT: Failed logins under one name until the first wait, of a
            second; each further one doubles it; 0 for no limit.
        LOGIN_FAILURES_PER_ADDRESS: Likewise from one client address, whatever the names.
        LOGINS_PER_ACCOUNT: Successful logins to one account in a minute until the first wait, from
            clients that logged in to it before; 0 for no limit.
        REGISTRATIONS_PER_ADDRESS: How often one client address can register in an hour; what is
            refused counts if a name was looked up; 0 for no limit.
        HASHING_THREADS: How many passwords a process hashes at once.
        HASHING_QUEUE: How many requests of a process wait for their turn to hash; more get 503.
        HASHING_WAIT: How long they wait, in seconds.
        HASHING_PER_ADDRESS: How many passwords are hashed at once for one client (an IPv4 address,
            an IPv6 /64 or /48); as many more wait; 0 for no limit.
        COOKIE_NAME: The name of the browser's cookie; over https with `__Host-` before it. Sites
            that share a host, on several ports or mounts, need different names.
        COOKIE_SECURE: `auto` goes by `wsgi.url_scheme`; `on` is for a server behind a proxy that
            speaks https to the browser without saying so.
        TRUSTED_ORIGINS: Other origins, such as `https://app.example.org`, whose pages may send
            requests with the browser's cookie.
        SITE_NAME: The name of the site, shown in the title and the heading of every page.
        TEMPLATES: A folder; a file there replaces wsgiauth's page of the same name.

    Raises:
        ConfigurationError: A value is of the wrong type or out of range. The message names the
            setting and never shows the secret key or the database's password.
    """

    SECRET_KEY: str | None = field(default=None, repr=False)
    SECRET_KEY_FALLBACKS: tuple[str, ...] = field(default=(), repr=False)
    JWT_ALGORITHM: str = "HS256"
    JWT_EXPIRY_MINUTES: int = 60
    JWT_ISSUER: str | None = None
    JWT_AUDIENCE: str | None = None
    DATABASE_URL: str = field(default="sqlite:///wsgiauth.db", repr=False)
    BCRYPT_ROUNDS: int = 12
    PASSWORD_MIN_LENGTH: int = 8
    PASSWORD_WORDS: tuple[str, ...] = ()
    BREACHED_PASSWORDS: str | os.PathLike[str] | None = None
    REGISTRATION: bool = True
    LOGIN_FAILURES_PER_ACCOUNT: int = 5
    LOGIN_FAILURES_PER_ADDRESS: int = 50
    LOGINS_PER_ACCOUNT: int = 60
    REGISTRATIONS_PER_ADDRESS: int = 20
    HASHING_THREADS: int = field(default_factory=_cores)
    HASHING_QUEUE: int = field(default_factory=_cores)
    HASHING_WAIT: int = 4
    HASHING_PER_ADDRESS: int = 1
    COOKIE_NAME: str = "wsgiauth"
    COOKIE_SECURE: str = "auto"
    TRUSTED_ORIGINS: tuple[str, ...] = ()
    SITE_NAME: str | None = None
    TEMPLATES: str | os.PathLike[str] | None = None

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Self:
        """Make settings of a mapping, whose values may be written as text.

        Args:
            mapping: Values by setting name. Names that are not settings are ignored, so a whole
                process environment or framework configuration may be given; an empty text is how
                an environment says "not set".

        Raises:
            ConfigurationError: See the class.
        """
        return cls(
            **{
                each.name: parse(each.name, mapping[each.name])
                for each in fields(cls)
                if mapping.get(each.name, "") != ""
            }
        )

    @classmethod
    def from_environ(cls) -> Self:
        """Make settings of the process environment.

        Raises:
            ConfigurationError: See the class.
        """
        return cls.from_mapping(os.environ)

    def __post_init__(self) -> None:
        for name in ("SECRET_KEY_FALLBACKS", "TRUSTED_ORIGINS", "PASSWORD_WORDS"):
            if isinstance(getattr(self, name), list):
                object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("TEMPLATES", "BREACHED_PASSWORDS"):
            if isinstance(getattr(self, name), os.PathLike):
                object.__setattr__(self, name, os.fspath(getattr(self, name)))
        if self.JWT_ALGORITHM not in tuple(secret_keys.MINIMUM_BYTES):
            raise wrong_setting("JWT_ALGORITHM", "one of HS256, HS384, HS512")
        for name, (lowest, highest) in RANGES.items():
            _check_whole_number(self, name, lowest, highest)
        if not isinstance(self.DATABASE_URL, str) or ":" not in self.DATABASE_URL:
            raise wrong_setting("DATABASE_URL", "a URL such as sqlite:///wsgiauth.db")
        if not isinstance(self.REGISTRATION, bool):
            raise wrong_setting("REGISTRATION", "on or off")
        if not (isinstance(self.COOKIE_NAME, str) and _COOKIE_NAME.fullmatch(self.COOKIE_NAME)):
            expected = "up to 64 of the characters that RFC 6265 allows, without a prefix"
            raise wrong_setting("COOKIE_NAME", f"{expected} such as __Host-, which https adds")
        if self.COOKIE_SECURE not in ("auto", "on"):
            raise wrong_setting("COOKIE_SECURE", "auto or on")
        texts = ("JWT_ISSUER", "JWT_AUDIENCE", "SITE_NAME", "TEMPLATES", "BREACHED_PASSWORDS")
        for name in texts:
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value):
                raise wrong_setting(name, "a non-empty string or unset")
        if self.TEMPLATES is not None and not _is_folder(self.TEMPLATES):
            raise wrong_setting("TEMPLATES", "a folder that exists")
        self._check_trusted_origins()
        self._check_password_rules()
        self._check_secret_keys()

    def secret_keys(self) -> list[tuple[str, str]]:
        """Return the keys that verify, each after the name of its setting; the first one signs.

        Raises:
            ConfigurationError: There is no SECRET_KEY.
        """
        return [
            ("SECRET_KEY", self.require_secret_key()),
            *(("SECRET_KEY_FALLBACKS", key) for key in self.SECRET_KEY_FALLBACKS),
        ]

    def require_secret_key(self) -> str:
        """Return SECRET_KEY.

        Raises:
            ConfigurationError: There is none.
        """
        if self.SECRET_KEY is None:
            raise wrong_setting("SECRET_KEY", "set: `python -m wsgiauth secret` prints a new one")
        return self.SECRET_KEY

    def risks(self) -> list[str]:
        """Return what is allowed but unwise in these settings, as sentences for an operator."""
        risks = []
        if self.BCRYPT_ROUNDS < MINIMUM_SAFE_ROUNDS:
            risks.append(
                f"BCRYPT_ROUNDS is {self.BCRYPT_ROUNDS}: below {MINIMUM_SAFE_ROUNDS}, stolen"
                " hashes are cheap to guess. Only tests should go so low."
            )
        if not self.LOGIN_FAILURES_PER_ACCOUNT:
            risks.append(
                "LOGIN_FAILURES_PER_ACCOUNT is 0: anybody may guess at a password without end."
            )
        if self.JWT_EXPIRY_MINUTES > 60 * 24 * 30:
            risks.append(
                f"JWT_EXPIRY_MINUTES is {self.JWT_EXPIRY_MINUTES}: a stolen token works for more"
                " than a month unless its session is ended."
            )
        forgeable = list(filter(_FORGEABLE.match, self.TRUSTED_ORIGINS))
        if forgeable:
            risks.append(
                f"TRUSTED_ORIGINS has {', '.join(forgeable)}: without https, anybody on a"
                " visitor's network can impersonate it and act with the visitor's cookie."
            )
        return risks

    def _check_trusted_origins(self) -> None:
        if not isinstance(self.TRUSTED_ORIGINS, tuple) or not all(
            isinstance(origin, str)
            and _ORIGIN.fullmatch(origin)
            and not _DEFAULT_PORT.fullmatch(origin)
            for origin in self.TRUSTED_ORIGINS
        ):
            expected = "several origins as browsers write them, such as https://app.example.org"
            raise wrong_setting("TRUSTED_ORIGINS", expected)

    def _check_password_rules(self) -> None:
        if not isinstance(self.PASSWORD_WORDS, tuple) or not all(
            isinstance(word, str) and 0 < len(word) <= MAX_WORD_LENGTH
            for word in self.PASSWORD_WORDS
        ):
            expected = f"several words of at most {MAX_WORD_LENGTH} characters"
            raise wrong_setting("PASSWORD_WORDS", expected)
        if self.BREACHED_PASSWORDS is not None:
            problem = file_problem(self.BREACHED_PASSWORDS)
            if problem is not None:
                expected = (
                    "a file of SHA-1 hashes in order, with one HASH:COUNT a line;"
                    f" {self.BREACHED_PASSWORDS!r} {problem}"
                )
                raise wrong_setting("BREACHED_PASSWORDS", expected)

    def _check_secret_keys(self) -> None:
        if not isinstance(self.SECRET_KEY_FALLBACKS, tuple):
            raise wrong_setting("SECRET_KEY_FALLBACKS", "several keys: a list or tuple of texts")
        if self.SECRET_KEY is not None:
            self._check_key("SECRET_KEY", self.SECRET_KEY)
        for key in self.SECRET_KEY_FALLBACKS:
            self._check_key("SECRET_KEY_FALLBACKS", key)

    def _check_key(self, name: str, key: object) -> None:
        demand = secret_keys.unmet_demand(key, self.JWT_ALGORITHM)
        if demand is not None:
            raise wrong_setting(name, f"{demand}; `python -m wsgiauth secret` prints a good one")


def _check_whole_number(settings: Settings, name: str, lowest: int, highest: int) -> None:
    value = getattr(settings, name)
    if type(value) is not int or not lowest <= value <= highest:  # bool is an int to isinstance
        raise out_of_range(name)


def _is_folder(name: str | os.PathLike[str]) -> bool:
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):  # a name too long, with NUL, or out of our reach
        return False
