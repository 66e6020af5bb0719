"""GET /auth/openapi.json: the interface for programs, as an OpenAPI 3.1 document.

The document is written by hand, in the folder `openapi` of the package and in `openapi.json` of
each feature. Tests compare it with the answers of each URL, in both directions. `x-browser` says
how a form is answered, where it is not only 303 to the next page. docs/endpoints.md is made from
the document.
"""

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Any
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts.field_kinds import TICKED, UNTICKED
from wsgiauth.accounts.registration import FeatureField, Field
from wsgiauth.forms import Form
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.languages import Languages
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.version import __version__
from wsgiauth.web.cookies import shared_prefix
from wsgiauth.web.responses import Response, json_response
from wsgiauth.web.urls import mount_url

_PACKAGE = Path(__file__).parents[1]
_FILES = (
    *(_PACKAGE / "openapi" / f"{name}.json" for name in ("common", "accounts", "sessions")),
    *sorted(_PACKAGE.glob("features/*/openapi.json")),
)
# In every answer; written here once instead of in each description of one.
_HEADERS = {
    "Cache-Control": {"$ref": "#/components/headers/CacheControl"},
    "X-Content-Type-Options": {"$ref": "#/components/headers/ContentTypeOptions"},
    "Referrer-Policy": {"$ref": "#/components/headers/ReferrerPolicy"},
}
_IN_WORDS = frozenset(("application/problem+json", "text/html"))
_LANGUAGE = {
    "Content-Language": {"$ref": "#/components/headers/ContentLanguage"},
    "Vary": {"$ref": "#/components/headers/Vary"},
}


class OpenApi(Endpoint):
    """The document, without the URLs that the settings turn off, with the fields of the site.

    Args:
        endpoints: The other endpoints, by path.
    """

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        self._endpoints = {**endpoints, "/openapi.json": self}

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with the description of this service, as it is mounted and configured."""
        components, settings = self.document["components"], site.settings
        schemes = _named(components["securitySchemes"], settings)
        offered = {
            path: self.variants.get(type(endpoint.variant(settings)).__name__)
            or self.document["paths"][path]
            for path, endpoint in self._endpoints.items()
            if endpoint.is_offered(settings)
        }
        document = {
            **self.document,
            "servers": [{"url": mount_url(environ)}],
            "paths": offered,
            "components": {
                **components,
                "schemas": _with_languages(components["schemas"], site.pages.readers.languages),
                "securitySchemes": schemes,
            },
        }
        if site.registration.fields:
            document = deepcopy(document)
            for path in offered:
                endpoint = self._endpoints[path].variant(settings)
                if isinstance(endpoint, Form) and endpoint.strings(site) != endpoint.fields:
                    _add_fields(document["paths"][path]["post"], site.registration.fields)
            names = document["components"]["schemas"]["FieldErrors"]["propertyNames"]
            names["enum"] = sorted({*names["enum"], *site.registration.names})
        return json_response(document)

    @property
    def document(self) -> dict[str, Any]:
        """The document with every path, at the usual mount."""
        return self._read[0]

    @property
    def variants(self) -> dict[str, Any]:
        """The descriptions of what `Endpoint.variant` returns, by the name of its class."""
        return self._read[1]

    @cached_property
    def _read(self) -> tuple[dict[str, Any], dict[str, Any]]:
        made, *others = (json.loads(path.read_text(encoding="utf-8")) for path in _FILES)
        made["info"]["version"] = __version__
        made["servers"] = [{"url": "/auth", "description": "Where wsgiauth is mounted."}]
        components = made["components"]
        for other in others:
            made["paths"] |= other["paths"]
            for kind, named in other["components"].items():
                components.setdefault(kind, {}).update(named)
        variants: dict[str, Any] = components.pop("pathItems")
        items = [*made["paths"].values(), *variants.values()]
        operations = [operation for item in items for operation in item.values()]
        described = [each["responses"] for each in operations] + [components["responses"]]
        for responses in described:
            for response in responses.values():
                if "$ref" not in response:
                    further = {} if _IN_WORDS.isdisjoint(response.get("content", ())) else _LANGUAGE
                    response["headers"] = {**_HEADERS, **further, **response.get("headers", {})}
        return made, variants


def _with_languages(schemas: Mapping[str, Any], languages: Languages) -> dict[str, Any]:
    names = [each.name for each in languages]
    return {**schemas, "Language": {**schemas["Language"], "enum": names}}


def _add_fields(operation: dict[str, Any], fields: Iterable[Field]) -> None:
    """Add the fields of the application to the description of a request."""
    content = operation["requestBody"]["content"]["application/json"]
    schema = content["schema"]
    always_asks = "password" in schema["required"]  # not only for some links
    for each in fields:
        is_required = always_asks and each.required
        schema["properties"][each.name] = _described(each, is_required)
        if is_required:
            schema["required"].append(each.name)
            content.pop("example", None)  # which lacks it


def _described(field: Field, is_required: bool) -> dict[str, Any]:
    """Return the schema of a field of the application, or of a feature."""
    if isinstance(field, FeatureField):
        return field.schema()
    hint = f" ({field.hint})" if field.hint else ""
    described: dict[str, Any] = {"type": "string", "description": f"{field.label}{hint}"}
    described |= {} if is_required else {"default": ""}
    values = [value for value, _label in field.choices]
    if field.kind == "checkbox":
        values = [TICKED] if is_required else [TICKED, UNTICKED]
    if values:
        return {**described, "enum": values if is_required else ["", *values]}
    described |= {"minLength": 1} if is_required else {}
    described |= {"maxLength": field.max_length}
    return described | ({"format": field.format} if field.format else {})


def _named(schemes: Mapping[str, dict[str, str]], settings: Settings) -> dict[str, dict[str, str]]:
    """Return the security schemes with the names of this site's cookies."""
    prefix, name = shared_prefix(settings.COOKIE_DOMAIN), settings.COOKIE_NAME
    names = {"cookie": name, "secureCookie": prefix + name}
    named = {scheme: {**schemes[scheme], "name": name} for scheme, name in names.items()}
    return {**schemes, **named}
