"""`before_site.py` with wsgiauth, as docs/migration.md and docs/django.md change it."""

import os

import django
from django.conf import settings

settings.configure(
    SECRET_KEY=os.environ["SECRET_KEY"],
    ALLOWED_HOSTS=["localhost"],
    ROOT_URLCONF=__name__,
    WSGI_APPLICATION=f"{__name__}.application",  # new
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db"}},
    USE_TZ=True,
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "wsgiauth.contrib.django",  # new
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "wsgiauth.contrib.django.WSGIAuthMiddleware",  # new
    ],
    AUTHENTICATION_BACKENDS=["wsgiauth.contrib.django.WSGIAuthBackend"],  # new
)
django.setup()

from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.views import LogoutView  # changed
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path

from wsgiauth import AuthMiddleware  # new


@login_required
def account(request):
    return HttpResponse(request.user.username)


@permission_required("auth.add_user", raise_exception=True)
def hire(request):
    return HttpResponse("hired")


urlpatterns = [
    path("account", account),
    path("hire", hire),
    path("logout", LogoutView.as_view(next_page="/")),
]
application = AuthMiddleware(get_wsgi_application())  # changed
