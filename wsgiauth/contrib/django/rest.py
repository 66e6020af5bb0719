"""Authentication for Django REST framework, in DEFAULT_AUTHENTICATION_CLASSES."""

from typing import Any

from rest_framework.authentication import SessionAuthentication

from wsgiauth.authentication.identity import COOKIE
from wsgiauth.web.www_authenticate import challenges


class WSGIAuthentication(SessionAuthentication):
    """Takes the user from `request.user` of Django, whatever identified them.

    With the cookie, unsafe requests need Django's CSRF token. With a bearer token or an API key
    they do not: wsgiauth ignores a key that a browser sends by itself from another site.
    """

    def enforce_csrf(self, request: Any) -> None:
        """Check the CSRF token of a request with the cookie."""
        if request.META.get("AUTH_TYPE") == COOKIE:
            super().enforce_csrf(request)

    def authenticate_header(self, request: Any) -> str:
        """Return the challenges, so that anonymous clients get 401 instead of 403 (RFC 6750)."""
        return ", ".join(value for _, value in challenges(request.META, None))
