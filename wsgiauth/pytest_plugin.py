"""Fixtures for the tests of your application: `pytest_plugins = ["wsgiauth.pytest_plugin"]`.

Define a fixture `wsgiauth_app` that returns your `AuthMiddleware`; the other fixtures use it.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from wsgiauth import AuthMiddleware, Group, Settings, User, testing


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
def wsgiauth_group(wsgiauth_app: AuthMiddleware) -> Callable[..., Group]:
    """Return `wsgiauth.testing.make_group` for this application."""
    return partial(testing.make_group, wsgiauth_app)


@pytest.fixture
def wsgiauth_bearer(wsgiauth_app: AuthMiddleware) -> Callable[..., dict[str, str]]:
    """Return `wsgiauth.testing.bearer` for this application."""
    return partial(testing.bearer, wsgiauth_app)


@pytest.fixture
def wsgiauth_api_key(wsgiauth_app: AuthMiddleware) -> Callable[..., dict[str, str]]:
    """Return `wsgiauth.testing.api_key` for this application."""
    return partial(testing.api_key, wsgiauth_app)


@pytest.fixture
def wsgiauth_app_client(wsgiauth_app: AuthMiddleware) -> Callable[..., testing.AppClient]:
    """Return `wsgiauth.testing.app_client` for this application."""
    return partial(testing.app_client, wsgiauth_app)


@pytest.fixture
def wsgiauth_authenticator(wsgiauth_app: AuthMiddleware) -> Callable[..., testing.Authenticator]:
    """Return `wsgiauth.testing.add_authenticator` for this application."""
    return partial(testing.add_authenticator, wsgiauth_app)


@pytest.fixture
def wsgiauth_recovery_codes(wsgiauth_app: AuthMiddleware) -> Callable[..., list[str]]:
    """Return `wsgiauth.testing.recovery_codes` for this application."""
    return partial(testing.recovery_codes, wsgiauth_app)


@pytest.fixture
def wsgiauth_provider_account(wsgiauth_app: AuthMiddleware) -> Callable[..., None]:
    """Return `wsgiauth.testing.provider_account` for this application."""
    return partial(testing.provider_account, wsgiauth_app)


@pytest.fixture
def wsgiauth_client(wsgiauth_app: AuthMiddleware) -> Callable[..., Any]:
    """Return `wsgiauth.testing.logged_in` for this application."""
    return partial(testing.logged_in, wsgiauth_app)


@pytest.fixture
def wsgiauth_mailbox(wsgiauth_app: AuthMiddleware) -> Callable[[], testing.Mails]:
    """Return `wsgiauth.testing.mailbox` for this application, which sends no email from now on."""
    testing.mailbox(wsgiauth_app)
    return partial(testing.mailbox, wsgiauth_app)


@pytest.fixture
def wsgiauth_webhooks(wsgiauth_app: AuthMiddleware) -> Callable[[], list[testing.Sent]]:
    """Return `wsgiauth.testing.webhooks` for this application, which sends none from now on."""
    testing.webhooks(wsgiauth_app)
    return partial(testing.webhooks, wsgiauth_app)
