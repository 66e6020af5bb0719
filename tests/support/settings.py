"""A second key, and a setting that is refused."""

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
