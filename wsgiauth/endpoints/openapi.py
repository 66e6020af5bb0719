"""GET /auth/openapi.json: the interface for programs, as an OpenAPI 3.1 document."""

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any
from wsgiref.types import WSGIEnvironment

import wsgiauth.web.openapi
from wsgiauth.authentication.identity import SECURE_PREFIX
from wsgiauth.forms import Form
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.site import Site
from wsgiauth.version import __version__
from wsgiauth.web.openapi import ANYONE, failure_components, operation, success
from wsgiauth.web.request import QUERY
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import mount_url

_COMMON = Path(wsgiauth.web.openapi.__file__).with_suffix(".json")


class OpenApi(Endpoint):
    """Puts together what every endpoint says of itself.

    Args:
        endpoints: The other endpoints, by path.
    """

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        self._endpoints = {**endpoints, "/openapi.json": self}

    operations = {
        "get": operation(
            "describe",
            tag="contract",
            summary="This document",
            description="Its server is the path at which this service is mounted. It leaves out the"
            " paths that the configuration turns off.",
            security=ANYONE,
            answers={
                200: success(
                    "An OpenAPI 3.1 document.",
                    {
                        "type": "object",
                        "required": ["openapi", "info", "servers", "tags", "paths", "components"],
                        "properties": {
                            "openapi": {"type": "string", "pattern": r"^3\.1\."},
                            "info": {"type": "object"},
                            "servers": {"type": "array", "items": {"type": "object"}},
                            "tags": {"type": "array", "items": {"type": "object"}},
                            "paths": {"type": "object"},
                            "components": {"type": "object"},
                        },
                    },
                )
            },
        )
    }

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the description of this service, as it is mounted and configured."""
        components = self.document["components"]
        schemes = _named(components["securitySchemes"], site.settings.COOKIE_NAME)
        offered = {
            path: endpoint.variant(site.settings).operations
            for path, endpoint in self._endpoints.items()
            if endpoint.is_offered(site.settings)
        }
        return json_response(
            {
                **self.document,
                "servers": [{"url": mount_url(environ)}],
                "paths": offered,
                "components": {**components, "securitySchemes": schemes},
            }
        )

    @cached_property
    def document(self) -> dict[str, Any]:
        """The document with every path, at the usual mount."""
        made: dict[str, Any] = json.loads(_COMMON.read_text(encoding="utf-8"))
        made["info"]["version"] = __version__
        made["servers"] = [{"url": "/auth", "description": "Where wsgiauth is mounted."}]
        made["paths"] = {path: each.operations for path, each in self._endpoints.items()}
        failures = failure_components()
        components = made["components"]
        components["responses"] |= failures["responses"]
        components["schemas"] |= failures["schemas"]
        for endpoint in self._endpoints.values():
            components["schemas"] |= endpoint.schemas
        components["schemas"]["FieldErrors"]["propertyNames"] = {"enum": self._field_names()}
        return made

    def _field_names(self) -> list[str]:
        forms = (each for each in self._endpoints.values() if isinstance(each, Form))
        refused = (  # with messages about their query
            each.operations["get"]
            for each in self._endpoints.values()
            if "422" in each.operations.get("get", {}).get("responses", {})
        )
        parameters = {each["name"] for operation in refused for each in operation["parameters"]}
        return sorted(parameters.union([QUERY], *(form.fields for form in forms)))


def _named(schemes: Mapping[str, dict[str, str]], cookie_name: str) -> dict[str, dict[str, str]]:
    """Return the security schemes with the names of this site's cookies."""
    names = {"cookie": cookie_name, "secureCookie": SECURE_PREFIX + cookie_name}
    named = {scheme: {**schemes[scheme], "name": name} for scheme, name in names.items()}
    return {**schemes, **named}
