"""Parse settings that are strings, and make the errors for invalid ones."""

import re
from collections.abc import Callable
from typing import Any

from wsgiauth.exceptions import ConfigurationError

RANGES = {
    "JWT_EXPIRY_MINUTES": (1, 5_256_000),  # ten years
    "BCRYPT_ROUNDS": (4, 31),
    "PASSWORD_MIN_LENGTH": (8, 72),
    "LOGIN_FAILURES_PER_ACCOUNT": (0, 1000),
    "LOGIN_FAILURES_PER_ADDRESS": (0, 1_000_000),
    "LOGINS_PER_ACCOUNT": (0, 1_000_000),
    "REGISTRATIONS_PER_ADDRESS": (0, 1_000_000),
    "HASHING_THREADS": (1, 1000),
    "HASHING_QUEUE": (0, 1000),
    "HASHING_WAIT": (0, 60),
    "HASHING_PER_ADDRESS": (0, 1000),
}
_BOOLS = {"on": True, "true": True, "yes": True, "1": True}
_BOOLS |= {"off": False, "false": False, "no": False, "0": False}


def parse(name: str, value: Any) -> Any:
    """Return the value of a setting, parsed if it is a string but the setting has another type.

    Args:
        name: The setting's name.
        value: The value from a mapping or the process environment.

    Raises:
        ConfigurationError: The string cannot be parsed.
    """
    parser = _PARSERS.get(name)
    return value if parser is None else parser(name, value)


def parse_bool(name: str, value: Any) -> Any:
    """Return True or False for a string, and any other value unchanged.

    Raises:
        ConfigurationError: The string is not a boolean.
    """
    if not isinstance(value, str):
        return value
    if value.strip().lower() not in _BOOLS:
        raise wrong_setting(name, "on or off")
    return _BOOLS[value.strip().lower()]


def wrong_setting(name: str, expected: str) -> ConfigurationError:
    """Return the error for an invalid setting; the message never shows the value."""
    return ConfigurationError(f"{name} must be {expected}.")


def out_of_range(name: str) -> ConfigurationError:
    """Return the error for a setting of `RANGES` that is not a whole number in its range."""
    lowest, highest = RANGES[name]
    return wrong_setting(name, f"a whole number from {lowest} to {highest}")


def _parse_whole_number(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        return value
    if not re.fullmatch(r"[0-9]{1,9}", value.strip()):
        raise out_of_range(name)
    return int(value)


def _parse_auto_or_on(_name: str, value: Any) -> Any:
    if value is True or (isinstance(value, str) and _BOOLS.get(value.strip().lower())):
        return "on"
    return value.strip().lower() if isinstance(value, str) else value


def _split_keys(_name: str, value: Any) -> Any:
    if isinstance(value, str):
        return tuple(value.split())
    return value


def _split_words(_name: str, value: Any) -> Any:
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    return value


_PARSERS: dict[str, Callable[[str, Any], Any]] = {
    **dict.fromkeys(RANGES, _parse_whole_number),
    "REGISTRATION": parse_bool,
    "COOKIE_SECURE": _parse_auto_or_on,
    "TRUSTED_ORIGINS": _split_words,
    "PASSWORD_WORDS": _split_words,
    "SECRET_KEY_FALLBACKS": _split_keys,
}
