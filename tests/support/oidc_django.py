"""A Django application whose users log in with an OpenID provider by a library, for tests.

python oidc_django.py LIBRARY PORT ISSUER CLIENT_ID CLIENT_SECRET FOLDER

The folder has the backend of the documentation, `oidc_backend.py`. There is a superuser, whose
address is boss@example.org. `/` says who the user is, `/later` does so when a session of
mozilla-django-oidc has to be renewed at the provider, and `/begin/oidc` begins a login of
social-auth.
"""

import sys
from types import ModuleType

import django
import waitress
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponseRedirect, JsonResponse
from django.urls import include, path

LIBRARY, PORT, ISSUER, CLIENT_ID, CLIENT_SECRET, FOLDER = sys.argv[1:]
sys.path.insert(0, FOLDER)

APPS = {
    "mozilla_django_oidc": ["mozilla_django_oidc"],
    "allauth": [
        "django.contrib.messages",
        "allauth",
        "allauth.account",
        "allauth.socialaccount",
        "allauth.socialaccount.providers.openid_connect",
    ],
    "social_django": ["social_django"],
}
MIDDLEWARE = {
    "mozilla_django_oidc": ["mozilla_django_oidc.middleware.SessionRefresh"],
    "allauth": [
        "django.contrib.messages.middleware.MessageMiddleware",
        "allauth.account.middleware.AccountMiddleware",
    ],
    "social_django": [],
}
BACKENDS = {
    "mozilla_django_oidc": "oidc_backend.Backend",
    "allauth": "allauth.account.auth_backends.AuthenticationBackend",
    "social_django": "social_core.backends.open_id_connect.OpenIdConnectAuth",
}
ALLAUTH = {
    "provider_id": "example",
    "name": "Example",
    "client_id": CLIENT_ID,
    "secret": CLIENT_SECRET,
    "settings": {"server_url": ISSUER},
}

settings.configure(
    SECRET_KEY="of a test, and at least as long as it has to be",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF="paths",
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": f"{FOLDER}/django.db"}},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    USE_TZ=True,
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
        }
    ],
    INSTALLED_APPS=[
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.sessions",
        *APPS[LIBRARY],
    ],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        *MIDDLEWARE[LIBRARY],
    ],
    AUTHENTICATION_BACKENDS=[BACKENDS[LIBRARY]],
    LOGIN_REDIRECT_URL="/",
    EMAIL_BACKEND="django.core.mail.backends.dummy.EmailBackend",
    OIDC_OP_AUTHORIZATION_ENDPOINT=f"{ISSUER}/auth/authorize",
    OIDC_OP_TOKEN_ENDPOINT=f"{ISSUER}/auth/oauth/token",
    OIDC_OP_USER_ENDPOINT=f"{ISSUER}/auth/userinfo",
    OIDC_OP_JWKS_ENDPOINT=f"{ISSUER}/auth/jwks.json",
    OIDC_RP_CLIENT_ID=CLIENT_ID,
    OIDC_RP_CLIENT_SECRET=CLIENT_SECRET,
    OIDC_RP_SIGN_ALGO="RS256",
    OIDC_USE_PKCE=True,
    SOCIALACCOUNT_LOGIN_ON_GET=True,
    SOCIALACCOUNT_PROVIDERS={"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [ALLAUTH]}},
    SOCIAL_AUTH_OIDC_OIDC_ENDPOINT=ISSUER,
    SOCIAL_AUTH_OIDC_KEY=CLIENT_ID,
    SOCIAL_AUTH_OIDC_SECRET=CLIENT_SECRET,
    SOCIAL_AUTH_OIDC_USE_PKCE=True,
)
django.setup()


def user(request):
    """Answer with the account of the user."""
    names = ("id", "username", "email", "is_superuser")
    return JsonResponse({each: getattr(request.user, each, None) for each in names})


def later(request):
    """Do so after the time of the session."""
    request.session["oidc_id_token_expiration"] = 0
    return HttpResponseRedirect("/")


def begin(request, backend):
    """Begin a login of social-auth, which otherwise needs a form."""
    from social_core.actions import do_auth
    from social_django.utils import psa

    return psa("social:complete")(lambda request, backend: do_auth(request.backend))(
        request, backend
    )


PATHS = {
    "mozilla_django_oidc": ("oidc/", "mozilla_django_oidc.urls"),
    "allauth": ("accounts/", "allauth.urls"),
    "social_django": ("", "social_django.urls"),
}
prefix, urls = PATHS[LIBRARY]
paths = sys.modules["paths"] = ModuleType("paths")
paths.urlpatterns = [
    path("", user),
    path("later", later),
    path("begin/<backend>", begin),
    path(prefix, include(urls)),
]
call_command("migrate", verbosity=0)

from django.contrib.auth.models import User  # noqa: E402 - after `setup`
from django.core.wsgi import get_wsgi_application  # noqa: E402

User.objects.create_superuser("root", "boss@example.org")
waitress.serve(get_wsgi_application(), listen=f"127.0.0.1:{PORT}")
