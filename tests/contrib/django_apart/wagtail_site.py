"""Wagtail's admin: its login, logout and permissions are those of wsgiauth.

Run by `tests/contrib/test_django_versions.py`.
"""

import sys
from tempfile import TemporaryDirectory
from types import ModuleType

import django
import pytest
from django.conf import settings
from webtest import TestApp

FOLDER = TemporaryDirectory()


class NoMigrations(dict):
    """Creates all tables at once: Wagtail's migrations take half a minute."""

    def __contains__(self, app):
        return True

    def __getitem__(self, app):
        return None


settings.configure(
    MIGRATION_MODULES=NoMigrations(),
    SECRET_KEY="of a test",
    ALLOWED_HOSTS=["localhost"],
    ROOT_URLCONF="paths",
    WSGI_APPLICATION="paths.application",
    DATABASES={
        "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{FOLDER.name}/wagtail.db"}
    },
    DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
    USE_TZ=True,
    STATIC_URL="static/",
    MEDIA_ROOT=FOLDER.name,
    WAGTAIL_SITE_NAME="Site",
    WAGTAILADMIN_BASE_URL="http://localhost",
    INSTALLED_APPS=[
        "wagtail.contrib.forms",
        "wagtail.contrib.redirects",
        "wagtail.embeds",
        "wagtail.sites",
        "wagtail.users",
        "wagtail.snippets",
        "wagtail.documents",
        "wagtail.images",
        "wagtail.search",
        "wagtail.admin",
        "wagtail",
        "modelcluster",
        "taggit",
        "django_tasks",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "django.contrib.messages",
        "django.contrib.staticfiles",
        "wsgiauth.contrib.django",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "wsgiauth.contrib.django.WSGIAuthMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ],
    AUTHENTICATION_BACKENDS=["wsgiauth.contrib.django.WSGIAuthBackend"],
    TEMPLATES=[
        {
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
    ],
)
django.setup()

from django.core.management import call_command
from django.core.wsgi import get_wsgi_application
from django.urls import include, path

from tests.support.sites import BROWSER, PASSWORD, SAME_ORIGIN
from wsgiauth import AuthMiddleware
from wsgiauth.testing import logged_in, make_settings, make_user

paths = sys.modules["paths"] = ModuleType("paths")


@pytest.fixture(scope="module")
def application():
    from wagtail import urls
    from wagtail.admin import urls as admin_urls
    from wagtail.models import Locale, Page, Site

    paths.urlpatterns = [path("cms/", include(admin_urls)), path("", include(urls))]
    paths.application = AuthMiddleware(get_wsgi_application(), make_settings())
    call_command("migrate", run_syncdb=True, verbosity=0)
    Locale.objects.create(language_code="en")
    home = Page.add_root(title="Root", slug="root").add_child(title="Home", slug="home")
    Site.objects.create(hostname="localhost", root_page=home, is_default_site=True)
    yield paths.application
    FOLDER.cleanup()


def test_the_admin_logs_in_and_out_by_wsgiauth(application):
    make_user(application, "boss", is_superuser=True, password=PASSWORD)
    client = TestApp(application)
    sent = client.get("/cms/", headers=BROWSER, status=302)
    form = sent.maybe_follow(headers=BROWSER).forms[0]
    form["username"], form["password"] = "boss", PASSWORD
    page = form.submit(headers=SAME_ORIGIN, status=303).follow(status=200)
    assert page.request.path == "/cms/"
    token = client.cookies["csrftoken"]
    client.post("/cms/logout/", {"csrfmiddlewaretoken": token}, headers=SAME_ORIGIN, status=302)
    client.get("/cms/", headers=BROWSER, status=302)


def test_the_admin_is_for_those_with_the_permission(application):
    client = logged_in(application, make_user(application, "grace"))
    client.get("/cms/", headers=BROWSER, status=302)
    editor = make_user(application, "editor", permissions=["wagtailadmin.access_admin"])
    assert "editor" in logged_in(application, editor).get("/cms/", headers=BROWSER, status=200)


def test_a_page_is_served_to_everybody(application):
    user = make_user(application, "reader")
    for client in (TestApp(application), logged_in(application, user)):
        assert "Home" in client.get("/", headers=BROWSER, status=200)


def test_a_private_page_asks_for_a_login(application):
    from wagtail.models import Page, PageViewRestriction

    home = Page.objects.get(slug="home")
    page = home.add_child(title="Members", slug="members")
    PageViewRestriction.objects.create(page=page, restriction_type=PageViewRestriction.LOGIN)
    sent = TestApp(application).get("/members/", headers=BROWSER, status=302)
    assert sent.follow(status=302).location == "/auth/login?next=%2Fmembers%2F"
    user = make_user(application, "member")
    assert "Members" in logged_in(application, user).get("/members/", headers=BROWSER, status=200)
