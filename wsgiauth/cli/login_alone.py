"""A site that is nothing but the login, for what a proxy protects with /auth/check."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from http import HTTPStatus
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from wsgiauth.arguments import read_settings
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.web.failures import failure
from wsgiauth.web.responses import redirect
from wsgiauth.web.urls import root_url

# Every user is admitted where a proxy asks for no permission, so strangers must not become users.
_DEFAULTS: Mapping[str, Any] = {"FORWARD_AUTH": True, "REGISTRATION": False}


def make_site() -> AuthMiddleware:
    """Return the site of the process environment, with other defaults for what is not set."""
    changed = {name: value for name, value in _DEFAULTS.items() if not os.environ.get(name)}
    return AuthMiddleware(_nothing_else, replace(read_settings(None), **changed))


def _nothing_else(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    if environ.get("PATH_INFO", "") in ("", "/"):
        response = redirect(HTTPStatus.SEE_OTHER, f"{root_url(environ)}/auth/account")
    else:
        detail = "Only the paths below /auth exist here."
        response = failure(environ, HTTPStatus.NOT_FOUND, "not_found", detail)
    return response(environ, start_response)
