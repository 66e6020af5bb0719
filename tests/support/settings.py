"""A second key, and settings that are refused."""

import pytest

from tests.support.sites import SECRET_KEY
from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError

LONG_KEY = SECRET_KEY + SECRET_KEY.swapcase()


def refused(name, value):
    """Return the error of a value that `Settings` must refuse by its name."""
    with pytest.raises(ConfigurationError, match=f"^{name} must be ") as caught:
        Settings(**{name: value})
    return caught.value


def accepted(name, values, **others):
    """Return the values of a setting that `Settings` does not refuse by its name."""
    return [value for value in values if not _is_refused(name, value, others)]


def _is_refused(name, value, others):
    try:
        Settings(**{name: value}, **others)
    except ConfigurationError as error:
        if not str(error).startswith(f"{name} must be "):
            raise
        return True
    return False
