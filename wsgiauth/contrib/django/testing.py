"""A client for tests of Django applications, whose requests go through `AuthMiddleware`."""

from collections.abc import Iterable
from typing import Any

from django import test
from django.contrib.auth import get_user_model
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.test.client import ClientHandler

from wsgiauth import testing
from wsgiauth.accounts import find_user
from wsgiauth.accounts.models import User
from wsgiauth.contrib.django.rows import connect, number_of
from wsgiauth.contrib.django.site import find_application
from wsgiauth.storage import context


class Client(test.Client):
    """Django's test client, for applications that use wsgiauth.

    Its requests go through the `AuthMiddleware` that WSGI_APPLICATION names, so that they also
    reach /auth. Use it as `client_class` of a TestCase. `login` has no effect, because wsgiauth has
    the passwords: use `force_login`, or post to /auth/login.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        inner: ClientHandler = self.handler
        self.handler: Any = _Handler(inner)

    def force_login(self, user: Any, backend: str | None = None) -> None:
        """Log a user in.

        Args:
            user: A `User` of wsgiauth, or a row of Django's user model. A row without a user is
                connected with the user of its name, who is created if missing, with its flags.
                With USERNAMES=off, the user of its email address is found, too.
            backend: Has no effect.
        """
        application = find_application()
        with context.using(application.database):
            account = user if isinstance(user, User) else _account_of(user)
        token = testing.bearer(application, account)["Authorization"].removeprefix("Bearer ")
        for scheme in ("http", "https"):
            name = application.site.identifier.cookie_name({"wsgi.url_scheme": scheme})
            self.cookies[name] = token


class _Handler:
    """Calls the handler of Django's test client inside `AuthMiddleware`."""

    def __init__(self, handler: ClientHandler) -> None:
        self._handler = handler

    def __call__(self, environ: dict[str, Any]) -> Any:
        made: list[Any] = []
        started: list[Any] = []

        def django(environ: Any, start_response: Any) -> Iterable[bytes]:
            response = self._handler(environ)
            made.append(response)
            cookies = [("Set-Cookie", each.OutputString()) for each in response.cookies.values()]
            status = f"{response.status_code} {response.reason_phrase}"
            start_response(status, [*response.items(), *cookies])
            return []

        def start_response(status: str, headers: Any, exc_info: Any = None) -> Any:
            started[:] = [int(status[:3]), headers]

        body = b"".join(find_application().around(django)(environ, start_response))
        status, headers = started
        response = made[0] if made and made[0].status_code == status else None
        if response is None:  # of wsgiauth, perhaps in place of Django's
            response = HttpResponse(body, status=status)
            response.wsgi_request = WSGIRequest(environ)
        for name, value in headers:
            if name == "Set-Cookie":
                response.cookies.load(value)
            else:
                response[name] = value
        return response


def _account_of(row: Any) -> User:
    """Return the user of a row, or find or create one by its name, with its flags."""
    number = number_of(row)
    if number is not None:
        return User.objects.get(id=number)
    application, name = find_application(), row.get_username()
    username = name.partition("@")[0]
    email = getattr(row, get_user_model().get_email_field_name(), "") or f"{username}@example.org"
    account = find_user(name)
    if account is None and not application.site.settings.USERNAMES:
        account = find_user(email)
    if account is None:
        account = testing.make_user(application, username, email=email)
    for flag in ("is_staff", "is_superuser"):
        setattr(account, flag, getattr(row, flag, False))
    account.save()
    connect(row, account)
    return account


__all__ = ["Client"]
