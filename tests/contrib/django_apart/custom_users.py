"""A user model of the application's own, one SQLite file for both, and the debug toolbar.

Run by `tests/contrib/test_django_users.py`.
"""

import unicodedata
from tempfile import TemporaryDirectory
from types import ModuleType

import django
import pytest
from django.conf import settings
from webtest import TestApp

FOLDER = TemporaryDirectory()
FILE = f"{FOLDER.name}/both.db"

settings.configure(
    SECRET_KEY="of a test",
    ALLOWED_HOSTS=["localhost"],
    INTERNAL_IPS=["127.0.0.1"],
    DEBUG=True,
    ROOT_URLCONF="paths",
    WSGI_APPLICATION="paths.application",
    AUTH_USER_MODEL="people.Person",
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": FILE,
            "ATOMIC_REQUESTS": True,
            "OPTIONS": {"timeout": 1},
        }
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
    STATIC_URL="static/",
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.staticfiles",
        "debug_toolbar",
        "wsgiauth.contrib.django",
        "tests.contrib.django_apart.people",
    ],
    MIDDLEWARE=[
        "debug_toolbar.middleware.DebugToolbarMiddleware",
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "wsgiauth.contrib.django.WSGIAuthMiddleware",
    ],
    AUTHENTICATION_BACKENDS=["wsgiauth.contrib.django.WSGIAuthBackend"],
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
)
django.setup()

from django.db.backends.signals import connection_created


def letters(name):
    return "".join(filter(str.isascii, unicodedata.normalize("NFD", name)))


@connection_created.connect
def collate(connection, **_):
    """Add a collation to SQLite for which é and e are equal, as for MariaDB's usual one."""
    connection.connection.create_collation(
        "letters", lambda a, b: (letters(a) > letters(b)) - (letters(a) < letters(b))
    )


from debug_toolbar.toolbar import debug_toolbar_urls
from django.contrib.auth import get_user_model, login, logout
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import path

from tests.support.sites import BROWSER
from wsgiauth import AuthMiddleware, User
from wsgiauth.contrib.django import connect, row_of
from wsgiauth.contrib.django.testing import Client
from wsgiauth.testing import api_key, logged_in, make_settings, make_user

Person = get_user_model()


def who(request):
    user = request.user
    seen = user.is_authenticated and [user.email, user.nickname, user.is_staff]
    return JsonResponse({"user": seen})


def write_and_leave(request):
    Person.objects.filter(pk=request.user.pk).update(nickname="left")
    logout(request)
    return HttpResponse("left")


def write_and_enter(request):
    row = Person.objects.get(email=request.GET["email"])
    row.nickname = "entered"
    row.save()
    login(request, row)
    return HttpResponse("entered")


def page(request):
    return HttpResponse(f"<html><body>{request.user.email}</body></html>")


@pytest.fixture(scope="module")
def application():
    import sys

    application = AuthMiddleware(
        get_wsgi_application(), make_settings(DATABASE_URL=f"sqlite:///{FILE}")
    )
    paths.application = application
    call_command("migrate", run_syncdb=True, verbosity=0)
    yield application
    del sys.modules["paths"]
    FOLDER.cleanup()


paths = ModuleType("paths")
paths.urlpatterns = [
    path("who", who),
    path("leave", write_and_leave),
    path("enter", write_and_enter),
    path("page", page),
    *debug_toolbar_urls(),
]
__import__("sys").modules["paths"] = paths


def change(user, **fields):
    current = User.objects.get(id=user.id)
    for name, value in fields.items():
        setattr(current, name, value)
    current.save()


def test_the_row_has_the_address_as_its_name(application):
    ada = make_user(application, "ada")
    client = logged_in(application, ada)
    assert client.get("/who").json == {"user": [ada.email, "-", False]}
    change(ada, email="countess@example.org")
    assert client.get("/who").json == {"user": ["countess@example.org", "-", False]}
    assert not Person.objects.filter(email=ada.email).exists()


def test_a_right_of_the_model_is_not_given_to_a_key(application):
    grace = make_user(application, "grace")
    row_of(grace)
    Person.objects.filter(email=grace.email).update(is_admin=True)
    assert logged_in(application, grace).get("/who").json["user"][2] is True
    headers = api_key(application, grace)
    assert TestApp(application).get("/who", headers=headers).json["user"][2] is False


def test_an_address_that_changes_hands_moves_no_row(application):
    emmy, mallory = (make_user(application, name) for name in ("emmy", "mallory"))
    rows = {user: row_of(user).pk for user in (emmy, mallory)}
    address = emmy.email
    # As by another process without Django, such as the command line.
    for user, email in ((emmy, "new@example.org"), (mallory, address.upper())):
        User.update(email=email, email_key=email.lower()).where(User.id == user.id).execute()
    seen = logged_in(application, mallory).get("/who").json["user"][0]
    assert seen == address.upper()
    assert Person.objects.get(email=seen).pk == rows[mallory]
    assert Person.objects.get(pk=rows[emmy]).email == f"{emmy.id}@wsgiauth.invalid"
    assert logged_in(application, emmy).get("/who").json["user"][0] == "new@example.org"


def test_an_address_with_other_accents_takes_no_name_away(application):
    jose, other = (
        make_user(application, name, email=email)
        for name, email in (("jose", "jose@example.org"), ("joseph", "josé@example.org"))
    )
    for _ in range(2):
        assert logged_in(application, jose).get("/who").json["user"][0] == jose.email
        placeholder = f"{other.id}@wsgiauth.invalid"
        assert logged_in(application, other).get("/who").json["user"][0] == placeholder
    assert row_of(jose).pk != row_of(other).pk


def test_a_row_of_djangos_own_is_connected_by_its_address(application):
    lise = make_user(application, "lise")
    own = Person.objects.create(email=lise.email, nickname="own")
    client = logged_in(application, lise)
    assert client.get("/who").json == {"user": False}
    call_command("connect_wsgiauth", verbosity=0)
    assert client.get("/who").json == {"user": [lise.email, "own", False]}
    other = make_user(application, "other")
    with pytest.raises(django.db.IntegrityError):
        connect(own, other)


def test_logins_and_logouts_wait_for_no_transaction_of_django(application):
    mary = make_user(application, "mary")
    row_of(mary)
    client = TestApp(application)
    assert client.get(f"/enter?email={mary.email}").text == "entered"
    assert client.get("/who").json == {"user": [mary.email, "entered", False]}
    assert client.get("/leave").text == "left"
    assert client.get("/who").json == {"user": False}
    assert Person.objects.get(email=mary.email).nickname == "left"


def test_the_test_client_makes_a_user_of_an_address(application):
    client = Client()
    client.force_login(Person.objects.create(email="zoe@example.org"))
    assert client.get("/who").json()["user"] == ["zoe@example.org", "-", False]


def test_the_debug_toolbar_shows_itself(application):
    ada = make_user(application, "toolbar")
    client = logged_in(application, ada)
    client.extra_environ["REMOTE_ADDR"] = "127.0.0.1"
    shown = client.get("/page", headers=BROWSER)
    assert ada.email in shown
    assert 'id="djDebug"' in shown
