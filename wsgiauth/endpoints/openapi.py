"""GET /auth/openapi.json: the interface for programs, as an OpenAPI 3.1 document.

The document is written by hand, in the folder `openapi` of the package and in `openapi.json` of
each feature. Tests compare it with the answers of each URL, in both directions. `x-browser` says
how a form is answered, where it is not only 303 to the next page. docs/endpoints.md is made from
the document.

Two members of a feature's part describe what only some sites answer; there, `get` adds it to the
operations. `x-demands` has the responses to a session that does not meet a demand of the feature,
by the error of the demand and the status; a redirect is 302 for GET, and 303 for POST. `x-fields`
has further responses of a request that creates an account, by the name of the feature's field.
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
_DEMANDS, _FIELDS = "x-demands", "x-fields"  # in the part of a feature
_UNMET = "x-unmet"  # of an operation: further statuses for a session that lacks something
_RESTRICTION = "What the session lacks, from `/me` alone."
_OF_EVERY_PROBLEM = frozenset(("type", "title", "detail", "status", "code"))
_PROBLEM = "application/problem+json"
_IN_WORDS = frozenset((_PROBLEM, "text/html"))
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
        served = {name: self.document[name] for name in self.document.keys() - {_DEMANDS, _FIELDS}}
        document = {
            **served,
            "servers": [{"url": mount_url(environ)}],
            "paths": offered,
            "components": {
                **components,
                "schemas": _with_languages(components["schemas"], site.pages.readers.languages),
                "securitySchemes": schemes,
            },
        }
        described = self.document[_DEMANDS]
        demands = [each.error for each in site.admission.demands if each.error in described]
        if site.registration.fields or demands:
            document = deepcopy(document)
            for path in offered:
                endpoint = self._endpoints[path].variant(settings)
                if isinstance(endpoint, Form) and endpoint.strings(site) != endpoint.fields:
                    operation = document["paths"][path]["post"]
                    _add_fields(operation, site.registration.fields)
                    for name in site.registration.names:
                        for status, response in self.document[_FIELDS].get(name, {}).items():
                            _add_response(document, operation, status, response)
            for error in demands:
                _add_demand(document, error, described[error])
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
            for name in (_DEMANDS, _FIELDS):
                made.setdefault(name, {}).update(other.get(name, {}))
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


def _add_demand(document: dict[str, Any], error: str, responses: Mapping[str, Any]) -> None:
    """Describe what a session gets that does not meet a demand.

    Args:
        error: Of the demand.
        responses: By status.
    """
    (problem,) = (each for each in responses.values() if "content" in _resolved(document, each))
    described, components = _resolved(document, problem), document["components"]
    members = _members(document, described["content"][_PROBLEM]["schema"])
    operations = [
        (method, operation)
        for item in document["paths"].values()
        for method, operation in item.items()
        if {"cookie": []} in operation["security"] and {} not in operation["security"]
    ]
    for method, operation in operations:
        for status, response in responses.items():
            if status != ("302" if method == "post" else "303"):
                _add_response(document, operation, status, response)
        for status in operation.get(_UNMET, ()):
            properties = {**members, "status": {"type": "integer", "const": int(status)}}
            schema = {"type": "object", "required": [*properties], "properties": properties}
            name = f"{_name_in(problem)}{status}"
            components["responses"][name] = {**described, "content": {_PROBLEM: {"schema": schema}}}
            response = {"$ref": f"#/components/responses/{name}"}
            _add_response(document, operation, status, response)
    for name in ("Token", "Profile"):
        properties = components["schemas"][name]["properties"]
        lacking = properties.setdefault("restriction", {"enum": [], "description": _RESTRICTION})
        lacking["enum"].append(error)
        lacking["description"] += f" {described['description']}"
        further = {name: each for name, each in members.items() if name not in _OF_EVERY_PROBLEM}
        properties |= further


def _add_response(
    document: dict[str, Any], operation: dict[str, Any], status: str, further: dict[str, Any]
) -> None:
    """Describe one more cause of a status of an operation."""
    first = operation["responses"].setdefault(status, further)
    if first == further:
        return
    both = _either(_resolved(document, first), _resolved(document, further))
    if "$ref" in first:  # shared by many operations
        name = f"{_name_in(first)}Or{_name_in(further)}"
        document["components"]["responses"][name] = both
        both = {"$ref": f"#/components/responses/{name}"}
    operation["responses"][status] = both


def _either(first: dict[str, Any], further: dict[str, Any]) -> dict[str, Any]:
    """Return the description of a response with one of two causes."""
    content = dict(first.get("content", {}))
    for media_type, body in further.get("content", {}).items():
        if content.setdefault(media_type, body) != body:
            schemas = [content[media_type]["schema"], body["schema"]]
            content[media_type] = {"schema": {"anyOf": schemas}}
    both = {**further, **first, "description": f"{first['description']} {further['description']}"}
    return {**both, "content": content} if content else both


def _members(document: Mapping[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    """Return the members of an object, also those of the schemas that it consists of."""
    schema = _resolved(document, schema)
    members = dict(schema.get("properties", {}))
    for each in schema.get("allOf", ()):
        members |= _members(document, each)
    return members


def _resolved(document: Mapping[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """Return what a reference leads to, or `value` itself."""
    if "$ref" not in value:
        return value
    kind, name = value["$ref"].split("/")[2:]
    found: dict[str, Any] = document["components"][kind][name]
    return found


def _name_in(reference: Mapping[str, str]) -> str:
    return reference["$ref"].rpartition("/")[2]


def _named(schemes: Mapping[str, dict[str, str]], settings: Settings) -> dict[str, dict[str, str]]:
    """Return the security schemes with the names of this site's cookies."""
    prefix, name = shared_prefix(settings.COOKIE_DOMAIN), settings.COOKIE_NAME
    names = {"cookie": name, "secureCookie": prefix + name}
    named = {scheme: {**schemes[scheme], "name": name} for scheme, name in names.items()}
    return {**schemes, **named}
