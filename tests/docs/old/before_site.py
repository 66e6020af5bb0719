"""A site with Django's own accounts."""

import os

import django
from django.conf import settings

settings.configure(
    SECRET_KEY=os.environ["SECRET_KEY"],
    ALLOWED_HOSTS=["localhost"],
    ROOT_URLCONF=__name__,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "site.db"}},
    USE_TZ=True,
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
    ],
    LOGIN_URL="/login",
)
django.setup()

from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.views import LoginView, LogoutView
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse
from django.urls import path


@login_required
def account(request):
    return HttpResponse(request.user.username)


@permission_required("auth.add_user", raise_exception=True)
def hire(request):
    return HttpResponse("hired")


urlpatterns = [
    path("account", account),
    path("hire", hire),
    path("login", LoginView.as_view()),
    path("logout", LogoutView.as_view(next_page="/")),
]
application = get_wsgi_application()
