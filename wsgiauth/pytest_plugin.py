"""Fixtures for the tests of your application; they do nothing until a test asks for one.

Define a fixture `wsgiauth_app` that returns your `AuthMiddleware`, and the others are about it.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from wsgiauth import AuthMiddleware, Settings, User


@pytest.fixture
def wsgiauth_settings() -> "Settings":
    """Return settings for tests: see `wsgiauth.testing.make_settings`."""
    from wsgiauth.testing import make_settings

    return make_settings()


@pytest.fixture
def wsgiauth_app() -> "AuthMiddleware":
    """Fail: which application is tested, only its tests can say."""
    pytest.fail(
        "Define a fixture `wsgiauth_app` in your conftest.py that returns your application,"
        " as in `return AuthMiddleware(app, wsgiauth_settings)`.",
        pytrace=False,
    )


@pytest.fixture
def wsgiauth_user(wsgiauth_app: "AuthMiddleware") -> Callable[..., "User"]:
    """Return `wsgiauth.testing.make_user` for this application."""
    from wsgiauth import testing

    return partial(testing.make_user, wsgiauth_app)


@pytest.fixture
def wsgiauth_bearer(wsgiauth_app: "AuthMiddleware") -> Callable[..., dict[str, str]]:
    """Return `wsgiauth.testing.bearer` for this application."""
    from wsgiauth import testing

    return partial(testing.bearer, wsgiauth_app)


@pytest.fixture
def wsgiauth_client(wsgiauth_app: "AuthMiddleware") -> Callable[..., Any]:
    """Return `wsgiauth.testing.logged_in` for this application."""
    from wsgiauth import testing

    return partial(testing.logged_in, wsgiauth_app)
