"""The login site of `serve`, and the middleware around an application that a command imports."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from wsgiauth.arguments import read_settings, unwrapped
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.web.failures import failure
from wsgiauth.web.responses import redirect
from wsgiauth.web.urls import root_url

# Every user is admitted where a proxy asks for no permission, so strangers must not become users.
_DEFAULTS: Mapping[str, Any] = {"FORWARD_AUTH": True, "REGISTRATION": False}


def middleware_of(application: object) -> AuthMiddleware | None:
    """Return the AuthMiddleware that an application is, or that a Flask application has."""
    found = unwrapped(application)
    found = getattr(found, "wsgi_app", found)  # of Flask
    return found if isinstance(found, AuthMiddleware) else None


def make_login_site() -> AuthMiddleware:
    """Return a site with the login alone, for a proxy that asks /auth/check.

    It takes its settings from the process environment, with other defaults.
    """
    changed = {name: value for name, value in _DEFAULTS.items() if not os.environ.get(name)}
    return AuthMiddleware(_nothing_else, replace(read_settings(None), **changed))


def _nothing_else(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    if environ.get("PATH_INFO", "") in ("", "/"):
        response = redirect(HTTPStatus.SEE_OTHER, f"{root_url(environ)}/auth/account")
    else:
        detail = "Only the paths below /auth exist here."
        response = failure(environ, HTTPStatus.NOT_FOUND, "not_found", detail)
    return response(environ, start_response)
