"""Django with wsgiauth: the current user, a protected view, and a protected path."""

import os
from posixpath import normpath

import django
from django.conf import settings

settings.configure(
    SECRET_KEY=os.environ["SECRET_KEY"],
    ALLOWED_HOSTS=["localhost", "127.0.0.1"],
    ROOT_URLCONF=__name__,
    WSGI_APPLICATION=f"{__name__}.application",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "django.db"}},
    USE_TZ=True,
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "wsgiauth.contrib.django",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "wsgiauth.contrib.django.WSGIAuthMiddleware",
        f"{__name__}.MembersOnly",
    ],
    AUTHENTICATION_BACKENDS=["wsgiauth.contrib.django.WSGIAuthBackend"],
)
django.setup()

from django.contrib.auth.decorators import login_required
from django.core.wsgi import get_wsgi_application
from django.http import HttpResponse, JsonResponse
from django.urls import include, path

from wsgiauth import AuthMiddleware


class MembersOnly:
    def __init__(self, get_response):
        self.get_response = get_response

    def __call__(self, request):
        return self.get_response(request)

    def process_view(self, request, view, args, kwargs):
        path = request.path_info
        spellings = path, normpath(path), request.resolver_match.route
        is_below = any(f"/{each.lstrip('/')}/".startswith("/members/") for each in spellings)
        if is_below and not request.user.is_authenticated:
            return HttpResponse(status=401)


def home(request):
    return JsonResponse({"user": request.user.username or None})


def news(request):
    return JsonResponse({"news": "for members"})


urlpatterns = [
    path("", home),
    path("account", login_required(home)),
    path("members/", include([path("news", news)])),
]
application = AuthMiddleware(get_wsgi_application(), challenge=True)
