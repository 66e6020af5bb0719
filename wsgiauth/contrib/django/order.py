"""The place of our middleware: after that of Django, which otherwise replaces `request.user`."""

from collections.abc import Iterable

from django.conf import settings
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.core import checks
from django.utils.module_loading import import_string

_OURS = "wsgiauth.contrib.django.WSGIAuthMiddleware"
_DJANGOS = "django.contrib.auth.middleware.AuthenticationMiddleware"


def order_errors(middleware: type) -> list[checks.CheckMessage]:
    """Return an error unless our middleware is there once, and after Django's."""
    djangos = positions(settings.MIDDLEWARE, AuthenticationMiddleware)
    ours = positions(settings.MIDDLEWARE, middleware)
    if len(ours) == 1 and djangos and max(djangos) < ours[0]:
        return []
    return [
        checks.Error(
            f"MIDDLEWARE must have {_OURS} once, after Django's AuthenticationMiddleware.",
            hint=f'Write "{_OURS}" in the line after "{_DJANGOS}".',
            id="wsgiauth.E001",
        )
    ]


def positions(names: Iterable[str], wanted: type) -> list[int]:
    """Return where a setting names a class, or a subclass of it."""
    found = [import_string(name) for name in names]
    return [
        position
        for position, each in enumerate(found)
        if isinstance(each, type) and issubclass(each, wanted)
    ]
