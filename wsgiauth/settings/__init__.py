"""Settings, checked when they are created and frozen afterwards.

Each is declared in the file of its subject.
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings.checks import has_host_name
from wsgiauth.settings.factor_settings import FactorSettings
from wsgiauth.settings.kinds import Setting, declarations, wrong_setting
from wsgiauth.settings.limit_settings import LimitSettings
from wsgiauth.settings.login_settings import LoginSettings
from wsgiauth.settings.mail_settings import MailSettings
from wsgiauth.settings.page_settings import PageSettings
from wsgiauth.settings.password_settings import PasswordSettings
from wsgiauth.settings.secret_keys import unmet_requirement


@dataclass(frozen=True, kw_only=True)
class Settings(
    PageSettings, MailSettings, LimitSettings, FactorSettings, PasswordSettings, LoginSettings
):
    """All settings; their upper-case names are the same in every source.

    docs/settings.md describes each. A new setting is one declaration in a base class, with its
    default, range and meaning, and one row there.

    Raises:
        ConfigurationError: A value has the wrong type or is out of range. The message has a line
            for each such setting, which names it; no secret key and no database password is shown.
    """

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
                name: setting.parse(mapping[name])
                for name, setting in declarations(cls).items()
                if mapping.get(name, "") != ""
            }
        )

    @classmethod
    def from_environ(cls) -> Self:
        """Create settings from the process environment.

        Raises:
            ConfigurationError: See the class.
        """
        return cls.from_mapping(os.environ)

    @classmethod
    def for_server(cls, mapping: Mapping[str, Any]) -> Self:
        """Create settings as `from_mapping` does, with a SECRET_KEY, which only servers need.

        Raises:
            ConfigurationError: See the class.
        """
        try:
            settings = cls.from_mapping(mapping)
        except ConfigurationError as error:
            if mapping.get("SECRET_KEY"):
                raise
            raise ConfigurationError(str(_missing_secret_key()), *error.problems) from None
        settings.require_secret_key()
        return settings

    def __post_init__(self) -> None:
        problems: dict[str, str] = {}
        for each in fields(self):
            setting: Setting = each.metadata["setting"]
            try:
                kept = setting.checked(each.name, getattr(self, each.name))
            except ConfigurationError as error:
                problems[each.name] = str(error)
                kept = each.default  # stands in for it below
            object.__setattr__(self, each.name, kept)
        for name, expected in self._contradictions(sends_mail="MAIL_URL" in problems):
            problems.setdefault(name, str(wrong_setting(name, expected)))
        if problems:
            raise ConfigurationError(*problems.values())

    def _contradictions(self, *, sends_mail: bool) -> Iterator[tuple[str, str]]:
        """Yield settings that do not fit others, each with what it must be."""
        for name in ("MAIL_FROM", "PUBLIC_URL"):
            if (sends_mail or self.MAIL_URL is not None) and getattr(self, name) is None:
                yield name, "set, because MAIL_URL is"
        for name in ("VERIFICATION", "LOGIN_NOTICES"):
            if getattr(self, name) and self.MAIL_URL is None:
                expected = f'set, because {name} is on, or "callable:" if your code sends mails'
                yield "MAIL_URL", expected
        if self.PASSKEYS and self.PUBLIC_URL is None:
            yield "PUBLIC_URL", "set, because PASSKEYS is on"
        elif self.PASSKEYS and not has_host_name(self.PUBLIC_URL or ""):
            expected = "a URL with a name such as localhost, not with an IP address"
            yield "PUBLIC_URL", f"{expected}, because PASSKEYS is on"
        if self.SECOND_FACTOR != "offered" and not (self.FACTOR_KEY or self.PASSKEYS):
            expected = f"set, because SECOND_FACTOR is {self.SECOND_FACTOR}"
            yield "FACTOR_KEY", f"{expected}; `python -m wsgiauth secret` prints one"
        if self.FACTOR_KEY in [secret for _, secret in self._keys()]:
            yield "FACTOR_KEY", "another key than those that sign tokens"
        keys: list[tuple[str, str, str | None]]
        keys = [] if self.FACTOR_KEY is None else [("FACTOR_KEY", self.FACTOR_KEY, None)]
        keys += [(*each, self.JWT_ALGORITHM) for each in self._keys()]
        for name, secret, algorithm in keys:
            requirement = unmet_requirement(secret, algorithm)
            if requirement is not None:
                yield name, f"{requirement}; `python -m wsgiauth secret` prints one"

    def secret_keys(self) -> list[tuple[str, str]]:
        """Return pairs of setting name and key; all keys verify tokens, the first one signs them.

        Raises:
            ConfigurationError: SECRET_KEY is not set.
        """
        self.require_secret_key()
        return self._keys()

    def require_secret_key(self) -> str:
        """Return SECRET_KEY.

        Raises:
            ConfigurationError: SECRET_KEY is not set.
        """
        if self.SECRET_KEY is None:
            raise _missing_secret_key()
        return self.SECRET_KEY

    def risks(self) -> list[str]:
        """Return the security risks of these settings, as sentences for an operator."""
        found = [
            (name, setting.risk(getattr(self, name)))
            for name, setting in declarations(self).items()
        ]
        return [f"{name} {risk}" for name, risk in found if risk is not None]

    def _keys(self) -> list[tuple[str, str]]:
        """Return the keys that are set, each with the name of its setting."""
        first = [] if self.SECRET_KEY is None else [("SECRET_KEY", self.SECRET_KEY)]
        return first + [("SECRET_KEY_FALLBACKS", each) for each in self.SECRET_KEY_FALLBACKS]


def _missing_secret_key() -> ConfigurationError:
    return wrong_setting("SECRET_KEY", "set: `python -m wsgiauth secret` prints a new one")


# The limits that identify the client by REMOTE_ADDR.
PER_ADDRESS = tuple(each.name for each in fields(Settings) if each.name.endswith("_PER_ADDRESS"))
