"""Fixtures for the tests of your application: `pytest_plugins = ["wsgiauth.pytest_plugin"]`.

Define a fixture `wsgiauth_app` that returns your `AuthMiddleware`; the other fixtures use it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from wsgiauth import AuthMiddleware, Settings, User, testing


@pytest.fixture
def wsgiauth_settings() -> Settings:
    """Return settings for tests: see `wsgiauth.testing.make_settings`."""
    return testing.make_settings()


@pytest.fixture
def wsgiauth_app() -> AuthMiddleware:
    """Fail, because the tests must define this fixture."""
    pytest.fail(
        "Define a fixture `wsgiauth_app` in your conftest.py that returns your application,"
        " as in `return AuthMiddleware(app, wsgiauth_settings)`.",
        pytrace=False,
    )


@pytest.fixture
def wsgiauth_user(wsgiauth_app: AuthMiddleware) -> Callable[..., User]:
    """Return `wsgiauth.testing.make_user` for this application."""
    return partial(testing.make_user, wsgiauth_app)


@pytest.fixture
def wsgiauth_bearer(wsgiauth_app: AuthMiddleware) -> Callable[..., dict[str, str]]:
    """Return `wsgiauth.testing.bearer` for this application."""
    return partial(testing.bearer, wsgiauth_app)


@pytest.fixture
def wsgiauth_client(wsgiauth_app: AuthMiddleware) -> Callable[..., Any]:
    """Return `wsgiauth.testing.logged_in` for this application."""
    return partial(testing.logged_in, wsgiauth_app)
