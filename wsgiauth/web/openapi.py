"""The parts of the OpenAPI 3.1 document: what an endpoint says of itself, in a few words.

openapi.json has the headers, parameters and schemas that several endpoints use, and
`openapi_failures` the failures. Each is written once, and endpoints refer to it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from wsgiauth.web.openapi_failures import FAILURES, Failure

Described = dict[str, Any]

# "Security Requirement Objects": one of these, of which {} is an anonymous client.
# A request with an API key, which is a bearer token too, is refused where there must be a login.
LOGGED_IN: list[Described] = [{"bearer": []}, {"cookie": []}, {"secureCookie": []}]
LOGGED_IN_OR_KEY: list[Described] = [*LOGGED_IN, {"key": []}]
PERHAPS_LOGGED_IN: list[Described] = [{}, *LOGGED_IN]
ANYONE: list[Described] = []

NEXT: Described = {"$ref": "#/components/parameters/Next"}
PAGE: Described = {"$ref": "#/components/responses/Page"}

_HEADERS = {  # component: the header's name
    "CacheControl": "Cache-Control",
    "ContentTypeOptions": "X-Content-Type-Options",
    "ReferrerPolicy": "Referrer-Policy",
    "PagePolicy": "Content-Security-Policy",
    "Location": "Location",
    "ProfileLocation": "Location",
    "ClearedCookie": "Set-Cookie",
    "Challenge": "WWW-Authenticate",
    "RetryAfter": "Retry-After",
}
_FAILURES_OF_BODIES = ("Malformed", "LengthRequired", "TooLarge", "UnsupportedMediaType")
_FAILURES_OF_FORMS = ("Invalid", "Throttled", "UnavailableOrBusy")


def operation(
    name: str,
    *,
    tag: str,
    summary: str,
    description: str,
    security: list[Described],
    answers: Mapping[int, Described],
    failures: Iterable[str] = (),
    parameters: Iterable[Described] = (),
) -> Described:
    """Return an "Operation Object".

    Args:
        name: Its `operationId`, which generated clients use as the name of a function.
        tag: One of the tags in openapi.json.
        summary: What it does, in a few words.
        description: What the summary leaves out.
        security: `ANYONE`, `PERHAPS_LOGGED_IN`, `LOGGED_IN` or `LOGGED_IN_OR_KEY`.
        answers: The answers that are not failures, by status.
        failures: Names in `FAILURES`.
        parameters: The fields of the query.
    """
    if security is LOGGED_IN and failures:
        failures = ("KeyNotAccepted", *failures)  # unless they have a 403 of their own
    refused = {FAILURES[failure].status: _ref("responses", failure) for failure in failures}
    described = {
        "operationId": name,
        "tags": [tag],
        "summary": summary,
        "description": description,
        "security": security,
        "parameters": list(parameters),
        "responses": {str(status): each for status, each in sorted({**answers, **refused}.items())},
    }
    return {key: value for key, value in described.items() if key != "parameters" or value}


def form_operation(
    name: str,
    *,
    fields: Mapping[str, Described],
    failures: Iterable[str] = (),
    security: list[Described] = ANYONE,
    **described: Any,
) -> Described:
    """Return the "Operation Object" of a form that is sent as JSON; see `forms.Form`.

    Args:
        name: See `operation`.
        fields: See `json_operation`.
        failures: Those that not every form has.
        security: See `operation`.
        described: See `operation`.
    """
    failures = (*_FAILURES_OF_FORMS, *failures)
    return json_operation(name, fields=fields, failures=failures, security=security, **described)


def json_operation(
    name: str,
    *,
    fields: Mapping[str, Described],
    failures: Iterable[str] = (),
    security: list[Described] = ANYONE,
    **described: Any,
) -> Described:
    """Return the "Operation Object" of a request with JSON.

    Args:
        name: See `operation`.
        fields: The JSON schema of each field, perhaps with an example. Those with a default can be
            left out.
        failures: Those that not every request with a body has.
        security: See `operation`.
        described: See `operation`.
    """
    body = {
        "schema": {
            "type": "object",
            "required": [field for field, schema in fields.items() if "default" not in schema],
            "properties": {field: _without_example(schema) for field, schema in fields.items()},
        },
        "example": {
            field: schema["examples"][0] for field, schema in fields.items() if "examples" in schema
        },
    }
    made = operation(
        name, security=security, failures=(*_FAILURES_OF_BODIES, *failures), **described
    )
    made["requestBody"] = {
        "required": True,
        "description": "At most 16 KiB, in UTF-8. Further fields are ignored.",
        "content": {"application/json": body},
    }
    return made


def success(description: str, schema: str | Described, *further_headers: str) -> Described:
    """Return an answer in JSON.

    Args:
        description: When it is given.
        schema: The name of a component, or the schema itself.
        further_headers: Headers that not every answer has, by component.
    """
    chosen = _ref("schemas", schema) if isinstance(schema, str) else schema
    return {
        "description": description,
        "headers": _headers(*further_headers),
        "content": {"application/json": {"schema": chosen}},
    }


def with_page(answer: Described) -> Described:
    """Return an answer that a client which prefers HTML gets as a page."""
    return {
        **answer,
        "headers": {**answer["headers"], **_headers("PagePolicy")},
        "content": {**answer["content"], "text/html": {"schema": _ref("schemas", "Html")}},
    }


def redirection(description: str, *further_headers: str) -> Described:
    """Return a redirect of a browser.

    Args:
        description: When it is given, and where it leads.
        further_headers: Headers that not every redirect has, by component.
    """
    return {"description": description, "headers": _headers("Location", *further_headers)}


def failure_components() -> Described:
    """Return the responses and the schemas of all failures."""
    return {
        "responses": {name: _failure_response(name) for name in FAILURES},
        "schemas": {f"{name}Problem": _problem(failure) for name, failure in FAILURES.items()},
    }


def _failure_response(name: str) -> Described:
    failure = FAILURES[name]
    content = {"application/problem+json": {"schema": _ref("schemas", f"{name}Problem")}}
    if failure.has_page:
        content["text/html"] = {"schema": _ref("schemas", "Html")}
    own = ["PagePolicy"] * failure.has_page + [failure.header] * bool(failure.header)
    return {
        "description": failure.description,
        "headers": _headers(*filter(None, own)),
        "content": content,
    }


def _problem(failure: Failure) -> Described:
    """Return the schema of problem details (RFC 9457) with these codes."""
    names = {"const": failure.codes[0]} if len(failure.codes) == 1 else {"enum": [*failure.codes]}
    properties: Described = {
        "status": {
            "type": "integer",
            "const": failure.status,
            "description": "The HTTP status.",
        },
        "code": {
            "type": "string",
            **names,
            "description": "A stable name of the cause, for programs.",
        },
    }
    if failure.has_errors:
        properties["errors"] = _ref("schemas", "FieldErrors")
    own = {"type": "object", "required": list(properties), "properties": properties}
    return {"allOf": [_ref("schemas", "Problem"), own]}


def _headers(*further: str) -> Described:
    common = ("CacheControl", "ContentTypeOptions", "ReferrerPolicy")
    return {_HEADERS[name]: _ref("headers", name) for name in (*common, *further)}


def _without_example(schema: Described) -> Described:
    return {"$ref": schema["$ref"]} if "$ref" in schema else schema


def _ref(kind: str, name: str) -> Described:
    return {"$ref": f"#/components/{kind}/{name}"}


TO_LOGIN = redirection(
    "For browsers without a login: `Location` is the login page. Where the site demands a second"
    " factor that the login lacks: the page to confirm, or to set one up."
)
TO_CONFIRM = redirection(
    "For browsers whose user has not proven recently who they are: `Location` is the page to"
    " confirm."
)
TO_LOGIN_OR_CONFIRM = redirection(
    "For browsers without a login, or whose user has not proven recently who they are: `Location`"
    " is the login page, or the page to confirm."
)
