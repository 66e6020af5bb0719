"""System checks: `manage.py check` names what is missing or in the wrong order."""

from django.conf import settings
from django.core import checks

from wsgiauth.contrib.django.backends import WSGIAuthBackend
from wsgiauth.contrib.django.middleware import WSGIAuthMiddleware
from wsgiauth.contrib.django.order import order_errors, positions

BACKEND = "wsgiauth.contrib.django.WSGIAuthBackend"


def check_settings(app_configs: object = None, **_: object) -> list[checks.CheckMessage]:
    """Return what is wrong with the settings of the site."""
    return [*order_errors(WSGIAuthMiddleware), *_check_backend(), *_check_application()]


def _check_backend() -> list[checks.CheckMessage]:
    ours = positions(settings.AUTHENTICATION_BACKENDS, WSGIAuthBackend)
    if ours[:1] == [0]:
        return []
    return [
        checks.Error(
            f"The first of AUTHENTICATION_BACKENDS must be {BACKEND}.",
            hint=f'Write AUTHENTICATION_BACKENDS = ["{BACKEND}"]. A backend before it could give'
            " an API key more than its permissions.",
            id="wsgiauth.E002",
        )
    ]


def _check_application() -> list[checks.CheckMessage]:
    if settings.WSGI_APPLICATION:
        return []
    return [
        checks.Warning(
            "WSGI_APPLICATION is not set, so `manage.py runserver` and the tests do not know"
            " the AuthMiddleware around Django.",
            hint='Set it to the name of the application in wsgi.py: "mysite.wsgi.application".',
            id="wsgiauth.W003",
        )
    ]
