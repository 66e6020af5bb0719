"""A Django site with its admin, and users of it.

The tests in this folder also run with other versions of Django: see `test_versions`.
"""

import itertools
from types import SimpleNamespace

import pytest

from tests.conftest import empty_file, require
from tests.frameworks.conftest import Visitor, recipe
from wsgiauth import User, storage, testing

__all__ = ["empty_file", "recipe"]

TEMPLATES = {
    "BACKEND": "django.template.backends.django.DjangoTemplates",
    "APP_DIRS": True,
    "OPTIONS": {
        "context_processors": [
            "django.template.context_processors.request",
            "django.contrib.auth.context_processors.auth",
            "django.contrib.messages.context_processors.messages",
        ]
    },
}
_numbers = itertools.count(1)


@pytest.fixture(scope="package")
def site(recipe):
    """Return the program of docs/frameworks.md, with the admin and the views of `views`."""
    require("django")
    program = recipe("django")
    from django.conf import settings
    from django.core.management import call_command
    from django.core.wsgi import get_wsgi_application
    from django.test import override_settings

    *middleware, _ = settings.MIDDLEWARE  # without the program's own
    apps = ["django.contrib.admin", "django.contrib.messages"]
    with override_settings(
        INSTALLED_APPS=[*settings.INSTALLED_APPS, *apps],
        MIDDLEWARE=[*middleware, "django.contrib.messages.middleware.MessageMiddleware"],
        TEMPLATES=[TEMPLATES],
    ):
        call_command("migrate", verbosity=0)
        with override_settings(ROOT_URLCONF="tests.contrib.django.views"):
            application = program.application.around(get_wsgi_application())
            yield SimpleNamespace(application=application, settings=settings)


@pytest.fixture(autouse=True)
def database(site):
    """Let `User.objects` be those of the site, also if another test has opened a database since."""
    with storage.context.using(site.application.database):
        yield


@pytest.fixture
def rows(site):
    """Return Django's user model."""
    from django.contrib.auth.models import User as DjangoUser

    return DjangoUser


@pytest.fixture
def make(site):
    """Return a function that makes a user with a name that no other test uses."""

    def make_user(name="ada", **fields):
        return testing.make_user(site.application, f"{name}{next(_numbers)}", **fields)

    return make_user


@pytest.fixture
def browser(site):
    """Return a function that returns the browser of a user who is logged in."""
    return lambda user: testing.logged_in(site.application, user)


@pytest.fixture
def bearer(site):
    """Return a function that returns the header of a user's token."""
    return lambda user: testing.bearer(site.application, user)


@pytest.fixture
def key(site):
    """Return a function that returns the header of an API key."""
    return lambda user, *permissions: testing.api_key(site.application, user, permissions)


@pytest.fixture
def visitor(site):
    """Return a browser that is not logged in."""
    return Visitor(site.application)


def change(user, **fields):
    """Change a user by the model, and return them as they are then."""
    current = User.objects.get(id=user.id)
    for name, value in fields.items():
        setattr(current, name, value)
    current.save()
    return current
