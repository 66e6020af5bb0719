"""The settings of second factors."""

from dataclasses import dataclass

from wsgiauth.settings.kinds import choice, key, switch


@dataclass(frozen=True, kw_only=True)
class FactorSettings:
    """The part of `Settings` for second factors."""

    FACTOR_KEY: str | None = key(
        "derives the keys of authenticator apps; without it, there are none"
    )
    PASSKEYS: bool = switch(False, "whether users can log in with passkeys")
    SECOND_FACTOR: str = choice(("offered", "staff", "all"), "who must have a second factor")
