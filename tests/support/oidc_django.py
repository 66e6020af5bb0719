"""A Django application whose users log in by mozilla-django-oidc, for tests.

python oidc_django.py PORT ISSUER CLIENT_ID CLIENT_SECRET FOLDER

The folder has the backend of the documentation, `oidc_backend.py`. There is a superuser, whose
address is boss@example.org. `/` says who the user is, and `/later` does so when a session has to be
renewed at the provider.
"""

import sys
from types import ModuleType

import django
import waitress
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponseRedirect, JsonResponse
from django.urls import include, path

PORT, ISSUER, CLIENT_ID, CLIENT_SECRET, FOLDER = sys.argv[1:]
sys.path.insert(0, FOLDER)

settings.configure(
    SECRET_KEY="of a test",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF="paths",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{FOLDER}/django.db"}},
    USE_TZ=True,
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        "mozilla_django_oidc",
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "mozilla_django_oidc.middleware.SessionRefresh",
    ],
    AUTHENTICATION_BACKENDS=["oidc_backend.Backend"],
    OIDC_OP_AUTHORIZATION_ENDPOINT=f"{ISSUER}/auth/authorize",
    OIDC_OP_TOKEN_ENDPOINT=f"{ISSUER}/auth/oauth/token",
    OIDC_OP_USER_ENDPOINT=f"{ISSUER}/auth/userinfo",
    OIDC_OP_JWKS_ENDPOINT=f"{ISSUER}/auth/jwks.json",
    OIDC_RP_CLIENT_ID=CLIENT_ID,
    OIDC_RP_CLIENT_SECRET=CLIENT_SECRET,
    OIDC_RP_SIGN_ALGO="RS256",
    OIDC_USE_PKCE=True,
    LOGIN_REDIRECT_URL="/",
)
django.setup()


def user(request):
    """Answer with the account of the user."""
    names = ("username", "email", "is_superuser")
    return JsonResponse({each: getattr(request.user, each, None) for each in names})


def later(request):
    """Do so after the time of the session."""
    request.session["oidc_id_token_expiration"] = 0
    return HttpResponseRedirect("/")


paths = sys.modules["paths"] = ModuleType("paths")
paths.urlpatterns = [
    path("", user),
    path("later", later),
    path("oidc/", include("mozilla_django_oidc.urls")),
]
call_command("migrate", verbosity=0)

from django.contrib.auth.models import User  # noqa: E402 - after `setup`
from django.core.wsgi import get_wsgi_application  # noqa: E402

User.objects.create_superuser("root", "boss@example.org")
waitress.serve(get_wsgi_application(), listen=f"127.0.0.1:{PORT}")
