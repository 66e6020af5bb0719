"""Settings, checked when they are created and frozen afterwards."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Self

from wsgiauth import secret_keys
from wsgiauth.guessing.breached_passwords import file_problem
from wsgiauth.setting_values import RANGES, out_of_range, parse, wrong_setting

MAX_WORD_LENGTH = 254  # characters

# OWASP Password Storage Cheat Sheet: a bcrypt work factor of at least 10.
MINIMUM_SAFE_ROUNDS = 10

# As browsers write them (the URL standard, "serialization of an origin"); compared exactly.
_ORIGIN = re.compile(r"https?://([a-z0-9.-]+|\[[0-9a-f:.]+\])(:[1-9][0-9]{0,4})?")
_DEFAULT_PORT = re.compile(r"http:.*:80|https:.*:443")
# Origins that anyone on the network can impersonate; localhost is not on the network.
_FORGEABLE = re.compile(r"http://(?!((.+\.)?localhost|127(\.[0-9]+){3}|\[::1\])(:[0-9]+)?$)")
# RFC 6265 section 4.1.1: a token. Browsers give these prefixes a special meaning.
_COOKIE_NAME = re.compile(r"(?!__(?i:host|secure|http)-)[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}")
PER_ADDRESS = (  # limits that identify the client by REMOTE_ADDR
    "LOGIN_FAILURES_PER_ADDRESS",
    "REGISTRATIONS_PER_ADDRESS",
    "HASHING_PER_ADDRESS",
)


def _cores() -> int:
    """Return the number of processors that this process can use."""
    affinity = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))  # Linux only
    return len(affinity(0))


@dataclass(frozen=True, kw_only=True)
class Settings:
    """All settings; their upper-case names are the same in every source.

    Attributes:
        SECRET_KEY: Signs tokens (HMAC, RFC 7518 section 3.2); used exactly as written. Required to
            issue or verify tokens, but not to manage users.
        SECRET_KEY_FALLBACKS: Former keys; they verify tokens but do not sign new ones. Remove a key
            when its last token has expired.
        JWT_ALGORITHM: `HS256`, `HS384` or `HS512`.
        JWT_EXPIRY_MINUTES: How long a login lasts, in whole minutes.
        JWT_ISSUER: The `iss` claim; if set, added to tokens and required in them.
        JWT_AUDIENCE: The `aud` claim; if set, added to tokens and required in them.
        DATABASE_URL: `sqlite:///file.db`, `postgresql://…` or `mysql://…`; `+pool` after the
            scheme selects a connection pool.
        BCRYPT_ROUNDS: bcrypt's cost; each step doubles the time of a hash.
        PASSWORD_MIN_LENGTH: The minimum length of a new password, in characters.
        PASSWORD_WORDS: Words of the site, such as its name; no new password can be one of them.
        BREACHED_PASSWORDS: A file of known breached passwords, in the format that
            `breached_passwords` describes; no new password can be one of them.
        REGISTRATION: Whether anyone can create an account at /auth/register.
        LOGIN_FAILURES_PER_ACCOUNT: Failed logins with one name before the first wait, of one
            second; each further failure doubles the wait; 0 for no limit.
        LOGIN_FAILURES_PER_ADDRESS: The same for one client address, for all names together.
        LOGINS_PER_ACCOUNT: Successful logins to one account in a minute before the first wait, from
            clients that logged in to it before; 0 for no limit.
        REGISTRATIONS_PER_ADDRESS: Registrations from one client address in an hour; a refused one
            counts too if a name was looked up; 0 for no limit.
        HASHING_THREADS: How many passwords a process hashes at the same time.
        HASHING_QUEUE: How many requests of a process can wait to hash; further ones get 503.
        HASHING_WAIT: How long such a request waits before it gets 503, in seconds.
        HASHING_PER_ADDRESS: How many passwords are hashed at the same time for one client (an IPv4
            address, an IPv6 /64 or /48); the same number can wait; 0 for no limit.
        COOKIE_NAME: The name of the browser's cookie; over https it has the prefix `__Host-`. Sites
            on the same host, with different ports or mounts, need different names.
        COOKIE_SECURE: `auto` follows `wsgi.url_scheme`; use `on` behind a proxy that speaks https
            to the browser and does not pass the scheme on.
        TRUSTED_ORIGINS: Other origins, such as `https://app.example.org`, whose pages can send
            requests with the browser's cookie.
        SITE_NAME: The name of the site, in the title and the heading of every page.
        TEMPLATES: A folder whose files replace wsgiauth's pages of the same name.

    Raises:
        ConfigurationError: A value has the wrong type or is out of range. The message names the
            setting and never shows a secret key or the database's password.
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
        """Create settings from a mapping, whose values can be strings.

        Args:
            mapping: Values by setting name. Other names are ignored, so it can be a whole process
                environment or framework configuration. An empty string means "not set".

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
        """Create settings from the process environment.

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
        strings = ("JWT_ISSUER", "JWT_AUDIENCE", "SITE_NAME", "TEMPLATES", "BREACHED_PASSWORDS")
        for name in strings:
            value = getattr(self, name)
            if value is not None and not (isinstance(value, str) and value):
                raise wrong_setting(name, "a non-empty string or unset")
        if self.TEMPLATES is not None and not _is_folder(self.TEMPLATES):
            raise wrong_setting("TEMPLATES", "a folder that exists")
        self._check_trusted_origins()
        self._check_password_rules()
        self._check_secret_keys()

    def secret_keys(self) -> list[tuple[str, str]]:
        """Return pairs of setting name and key; all keys verify tokens, the first one signs them.

        Raises:
            ConfigurationError: SECRET_KEY is not set.
        """
        return [
            ("SECRET_KEY", self.require_secret_key()),
            *(("SECRET_KEY_FALLBACKS", key) for key in self.SECRET_KEY_FALLBACKS),
        ]

    def require_secret_key(self) -> str:
        """Return SECRET_KEY.

        Raises:
            ConfigurationError: SECRET_KEY is not set.
        """
        if self.SECRET_KEY is None:
            raise wrong_setting("SECRET_KEY", "set: `python -m wsgiauth secret` prints a new one")
        return self.SECRET_KEY

    def risks(self) -> list[str]:
        """Return the security risks of these settings, as sentences for an operator."""
        risks = []
        if self.BCRYPT_ROUNDS < MINIMUM_SAFE_ROUNDS:
            risks.append(
                f"BCRYPT_ROUNDS is {self.BCRYPT_ROUNDS}: below {MINIMUM_SAFE_ROUNDS}, stolen"
                " hashes are cheap to crack. Use such a low value in tests only."
            )
        if not self.LOGIN_FAILURES_PER_ACCOUNT:
            risks.append("LOGIN_FAILURES_PER_ACCOUNT is 0: anyone can try any number of passwords.")
        if self.JWT_EXPIRY_MINUTES > 60 * 24 * 30:
            risks.append(
                f"JWT_EXPIRY_MINUTES is {self.JWT_EXPIRY_MINUTES}: a stolen token works for more"
                " than a month unless its session is ended."
            )
        forgeable = list(filter(_FORGEABLE.match, self.TRUSTED_ORIGINS))
        if forgeable:
            risks.append(
                f"TRUSTED_ORIGINS has {', '.join(forgeable)}: without https, anyone on a"
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
            expected = "a list of origins as browsers write them, such as https://app.example.org"
            raise wrong_setting("TRUSTED_ORIGINS", expected)

    def _check_password_rules(self) -> None:
        if not isinstance(self.PASSWORD_WORDS, tuple) or not all(
            isinstance(word, str) and 0 < len(word) <= MAX_WORD_LENGTH
            for word in self.PASSWORD_WORDS
        ):
            expected = f"a list of words of at most {MAX_WORD_LENGTH} characters"
            raise wrong_setting("PASSWORD_WORDS", expected)
        if self.BREACHED_PASSWORDS is not None:
            problem = file_problem(self.BREACHED_PASSWORDS)
            if problem is not None:
                expected = (
                    "a file of SHA-1 hashes, sorted, with one HASH:COUNT on each line;"
                    f" {self.BREACHED_PASSWORDS!r} {problem}"
                )
                raise wrong_setting("BREACHED_PASSWORDS", expected)

    def _check_secret_keys(self) -> None:
        if not isinstance(self.SECRET_KEY_FALLBACKS, tuple):
            raise wrong_setting("SECRET_KEY_FALLBACKS", "a list or tuple of strings")
        if self.SECRET_KEY is not None:
            self._check_key("SECRET_KEY", self.SECRET_KEY)
        for key in self.SECRET_KEY_FALLBACKS:
            self._check_key("SECRET_KEY_FALLBACKS", key)

    def _check_key(self, name: str, key: object) -> None:
        requirement = secret_keys.unmet_requirement(key, self.JWT_ALGORITHM)
        if requirement is not None:
            raise wrong_setting(name, f"{requirement}; `python -m wsgiauth secret` prints one")


def _check_whole_number(settings: Settings, name: str, lowest: int, highest: int) -> None:
    value = getattr(settings, name)
    if type(value) is not int or not lowest <= value <= highest:  # isinstance(True, int) is true
        raise out_of_range(name)


def _is_folder(name: str | os.PathLike[str]) -> bool:
    try:
        return Path(name).is_dir()
    except (OSError, ValueError):  # too long, with NUL, or not accessible
        return False
