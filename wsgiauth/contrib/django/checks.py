"""System checks: `manage.py check` finds settings that are missing or in the wrong order."""

from collections.abc import Iterable

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.core import checks
from django.utils.module_loading import import_string

from wsgiauth.contrib.django.backends import WSGIAuthBackend

BACKEND = "wsgiauth.contrib.django.WSGIAuthBackend"
MIDDLEWARE = "wsgiauth.contrib.django.WSGIAuthMiddleware"
_DJANGOS = "django.contrib.auth.middleware.AuthenticationMiddleware"


def check_settings(app_configs: object = None, **_: object) -> list[checks.CheckMessage]:
    """Return the errors in the settings of the site."""
    found = order_errors()
    if _positions(settings.AUTHENTICATION_BACKENDS, WSGIAuthBackend)[:1] != [0]:
        error = checks.Error(
            f"The first of AUTHENTICATION_BACKENDS must be {BACKEND}.",
            hint=f'Write AUTHENTICATION_BACKENDS = ["{BACKEND}"]. A backend before it could give'
            " an API key more than its permissions.",
            id="wsgiauth.E002",
        )
        found.append(error)
    if not settings.WSGI_APPLICATION:
        warning = checks.Warning(
            "WSGI_APPLICATION is not set, so `manage.py runserver` and the tests do not know"
            " the AuthMiddleware around Django.",
            hint='Set it to the name of the application in wsgi.py: "mysite.wsgi.application".',
            id="wsgiauth.W003",
        )
        found.append(warning)
    return found


def order_errors() -> list[checks.CheckMessage]:
    """Return an error unless our middleware is there once, and after Django's.

    Before it, Django's would replace our `request.user`.
    """
    djangos = _positions(settings.MIDDLEWARE, AuthenticationMiddleware)
    ours = _positions(settings.MIDDLEWARE, import_string(MIDDLEWARE))
    if len(ours) == 1 and djangos and max(djangos) < ours[0]:
        return []
    return [
        checks.Error(
            f"MIDDLEWARE must have {MIDDLEWARE} once, after Django's AuthenticationMiddleware.",
            hint=f'Write "{MIDDLEWARE}" in the line after "{_DJANGOS}".',
            id="wsgiauth.E001",
        )
    ]


def _positions(names: Iterable[str], wanted: type) -> list[int]:
    """Return the indexes at which a setting names a class, or a subclass of it."""
    found = [import_string(name) for name in names]
    return [
        index
        for index, each in enumerate(found)
        if isinstance(each, type) and issubclass(each, wanted)
    ]
