"""The middleware around an application that a command has imported."""

from wsgiauth.arguments import unwrapped
from wsgiauth.middleware import AuthMiddleware


def middleware_of(application: object) -> AuthMiddleware | None:
    """Return the AuthMiddleware that an application is, or that a Flask application has."""
    found = unwrapped(application)
    found = getattr(found, "wsgi_app", found)  # of Flask
    return found if isinstance(found, AuthMiddleware) else None
