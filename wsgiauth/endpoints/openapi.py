"""GET /auth/openapi.json: what is answered under /auth, for programs that make clients."""

import json
from pathlib import Path
from wsgiref.types import WSGIEnvironment

from wsgiauth.endpoints import Auth
from wsgiauth.responses import Response, json_response
from wsgiauth.urls import mount_url

_DOCUMENT = json.loads(Path(__file__).parent.with_name("openapi.json").read_text(encoding="utf-8"))


def show(environ: WSGIEnvironment, auth: Auth) -> Response:
    """Answer with the OpenAPI 3.1 description of this very service, at the path it is mounted."""
    paths = dict(_DOCUMENT["paths"])
    if not auth.settings.REGISTRATION:
        del paths["/register"]
    return json_response({**_DOCUMENT, "servers": [{"url": mount_url(environ)}], "paths": paths})
