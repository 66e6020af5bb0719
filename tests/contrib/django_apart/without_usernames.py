"""Django with USERNAMES=off: its rows have the username that wsgiauth made.

Run by `tests/contrib/test_django_users.py`.
"""

import sys
from types import ModuleType

import django
import pytest
from django.conf import settings

settings.configure(
    SECRET_KEY="of a test",
    ALLOWED_HOSTS=["localhost", "testserver"],
    ROOT_URLCONF="paths",
    WSGI_APPLICATION="paths.application",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
    USE_TZ=True,
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "wsgiauth.contrib.django",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "wsgiauth.contrib.django.WSGIAuthMiddleware",
    ],
    AUTHENTICATION_BACKENDS=["wsgiauth.contrib.django.WSGIAuthBackend"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates"}],
)
django.setup()

from django.contrib.auth.models import User as Row
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse
from django.template import engines
from django.urls import path

from wsgiauth import AuthMiddleware, User
from wsgiauth.accounts import names
from wsgiauth.contrib.django.testing import Client
from wsgiauth.testing import logged_in, make_settings, make_user


def who(request):
    greeting = engines["django"].from_string("{{ user.email }}")
    return JsonResponse(
        {
            "username": request.user.username,
            "greeting": greeting.render({"user": request.user}),
            "label": getattr(request.META["wsgiauth.user"], "label", None),
            "remote_user": request.META.get("REMOTE_USER"),
        }
    )


paths = ModuleType("paths")
paths.urlpatterns = [path("who", who)]
sys.modules["paths"] = paths


@pytest.fixture(scope="module")
def application():
    application = AuthMiddleware(get_wsgi_application(), make_settings(USERNAMES=False))
    paths.application = application
    call_command("migrate", verbosity=0)
    return application


def test_a_row_has_the_username_and_templates_show_the_address(application):
    ada = make_user(application, "ada")
    seen = logged_in(application, ada).get("/who").json
    assert seen == {
        "username": ada.username,
        "greeting": "ada@example.org",
        "label": "ada@example.org",
        "remote_user": ada.username,
    }
    assert names.is_made(str(Row.objects.get(email=ada.email)))


@pytest.mark.parametrize("email", ["", "hopper@example.net"])
def test_a_row_of_djangos_is_logged_in_by_its_address(application, email):
    user = make_user(application, "grace", email=email or "grace@example.org")
    row = Row.objects.create_user("grace", email)
    client = Client()
    client.force_login(row)
    assert client.get("/who").json()["username"] == user.username
    row.refresh_from_db()
    assert (row.username, row.email) == (user.username, user.email)


def test_a_row_without_a_user_gets_one(application):
    row = Row.objects.create_user("emmy", "noether@example.org", is_staff=True)
    client = Client()
    client.force_login(row)
    assert client.get("/who").json()["label"] == "noether@example.org"
    made = User.objects.get(email="noether@example.org")
    assert (names.is_made(made.username), made.is_staff) == (True, True)
