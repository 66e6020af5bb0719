"""The `AuthMiddleware` around Django, for code in front of and outside of requests."""

from django.core.exceptions import ImproperlyConfigured
from django.core.servers.basehttp import get_internal_wsgi_application
from django.urls import get_script_prefix

from wsgiauth.middleware import AuthMiddleware
from wsgiauth.site import Site
from wsgiauth.storage import context
from wsgiauth.web.urls import root_url

MISSING = (
    "No AuthMiddleware is around Django. In wsgi.py, write"
    " `application = AuthMiddleware(get_wsgi_application())`, and in the settings,"
    ' WSGI_APPLICATION = "mysite.wsgi.application" with the name of your module, so that'
    " `manage.py runserver` uses it. In tests, use the Client of wsgiauth.contrib.django.testing."
)


def find_application() -> AuthMiddleware:
    """Return the application that WSGI_APPLICATION names.

    Raises:
        ImproperlyConfigured: It is no `AuthMiddleware`.
    """
    application = get_internal_wsgi_application()
    if not isinstance(application, AuthMiddleware):
        raise ImproperlyConfigured(MISSING)
    return application


def page_url(name: str) -> str:
    """Return the path of a page of wsgiauth, with all prefixes of the current request."""
    environ = context.current_request()[1]
    if environ is None or "wsgiauth.site" not in environ:
        return f"{get_script_prefix()}auth/{name}"
    site: Site = environ["wsgiauth.site"]
    return f"{root_url(environ)}{site.pages.mount}/{name}"
