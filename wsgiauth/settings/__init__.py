"""Settings, checked when they are created and frozen afterwards; `declared` has each of them."""

import os
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, Self, TypeVar

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.settings.contradictions import token_keys
from wsgiauth.settings.declared import Declared
from wsgiauth.settings.features import with_settings_of
from wsgiauth.settings.kinds import declarations, wrong_setting

_Settings = TypeVar("_Settings", bound=Declared)


class Settings(Declared):
    """All settings; their upper-case names are the same in every source.

    docs/settings.md describes each.

    Raises:
        ConfigurationError: A value has the wrong type or is out of range. The message has a line
            for each such setting, which names it; no secret key and no database password is shown.
    """

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, object]) -> Self:
        """Create settings from a mapping, whose values can be strings.

        Args:
            mapping: Values by setting name, also by those of FEATURES. An empty string means "not
                set". Other names are ignored, so this can be a process environment or a
                framework's configuration.
        """
        kind = class_for(mapping, cls)
        values: dict[str, Any] = {
            name: setting.parse(mapping[name])
            for name, setting in declarations(kind).items()
            if mapping.get(name, "") != ""
        }
        return kind(**values)

    @classmethod
    def from_environ(cls) -> Self:
        """Create settings from the process environment."""
        return cls.from_mapping(os.environ)

    @classmethod
    def for_server(cls, mapping: Mapping[str, object]) -> Self:
        """Create settings as `from_mapping` does, with a SECRET_KEY. Internal."""
        try:
            settings = cls.from_mapping(mapping)
        except ConfigurationError as error:
            if mapping.get("SECRET_KEY"):
                raise
            raise ConfigurationError(str(_missing_secret_key()), *error.problems) from None
        settings.require_secret_key()
        return settings

    def secret_keys(self) -> list[tuple[str, str]]:
        """Return pairs of setting name and key, the key that signs tokens first. Internal."""
        self.require_secret_key()
        return token_keys(self)

    def require_secret_key(self) -> str:
        """Return SECRET_KEY, or raise ConfigurationError if it is not set. Internal."""
        if self.SECRET_KEY is None:
            raise _missing_secret_key()
        return self.SECRET_KEY

    def risks(self) -> list[str]:
        """Return the security risks of these settings, as sentences for an operator. Internal."""
        found = {
            name: each.risk_of(getattr(self, name)) for name, each in declarations(self).items()
        }
        return [f"{name} {risk}" for name, risk in found.items() if risk is not None]


def class_for(mapping: Mapping[str, object], kind: type[_Settings]) -> type[_Settings]:
    """Return the class of the settings of a mapping: `kind`, with the settings of its FEATURES.

    Raises:
        ConfigurationError: A feature cannot be used.
    """
    entries = declarations(kind)["FEATURES"].parse(mapping.get("FEATURES", ()))
    return with_settings_of(kind, entries)


def _missing_secret_key() -> ConfigurationError:
    return wrong_setting("SECRET_KEY", "set: `python -m wsgiauth secret` prints a new one")


# The limits that identify the client by REMOTE_ADDR.
PER_ADDRESS = tuple(each.name for each in fields(Settings) if each.name.endswith("_PER_ADDRESS"))
