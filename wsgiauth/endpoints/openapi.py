"""GET /auth/openapi.json: what is answered under /auth, for programs that make clients."""

import json
from pathlib import Path
from wsgiref.types import WSGIEnvironment

from wsgiauth.authentication.identity import SECURE_PREFIX
from wsgiauth.endpoints import Auth
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import mount_url

_DOCUMENT = json.loads(Path(__file__).parent.with_name("openapi.json").read_text(encoding="utf-8"))


def show(environ: WSGIEnvironment, auth: Auth) -> Response:
    """Answer with the OpenAPI 3.1 description of this service, as it is mounted and configured."""
    paths = dict(_DOCUMENT["paths"])
    if not auth.settings.REGISTRATION:
        del paths["/register"]
    components = {**_DOCUMENT["components"], "securitySchemes": _schemes(auth.settings.COOKIE_NAME)}
    servers = [{"url": mount_url(environ)}]
    return json_response(
        {**_DOCUMENT, "servers": servers, "paths": paths, "components": components}
    )


def _schemes(cookie_name: str) -> dict[str, object]:
    schemes: dict[str, dict[str, str]] = _DOCUMENT["components"]["securitySchemes"]
    names = {"cookie": cookie_name, "secureCookie": SECURE_PREFIX + cookie_name}
    named = {scheme: {**schemes[scheme], "name": name} for scheme, name in names.items()}
    return {**schemes, **named}
