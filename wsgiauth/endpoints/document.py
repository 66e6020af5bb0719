"""Makes the OpenAPI 3.1 document from what endpoints and features declare.

The prose is in `OPERATIONS` of `endpoints.operations` and of the module that a feature names as its
`openapi`. The fields of a request are those of the form. The statuses and codes of failures are
those that the class of the endpoint and its base classes declare: `Endpoint.problems` and
`Form.refusals`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple

from wsgiauth.accounts.field_kinds import TICKED, UNTICKED
from wsgiauth.accounts.registration import FeatureField, Field
from wsgiauth.authentication.demands import Demand
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.forms import Form
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.forms.fields import Input, offered
from wsgiauth.openapi.answers import (
    HTML,
    HTML_PAGE,
    JSON,
    PAGE_POLICY,
    PROBLEM,
    Answer,
    Operation,
    Problem,
    leads,
    page,
)
from wsgiauth.openapi.callers import BEARER, COOKIE
from wsgiauth.openapi.objects import PROFILE, TOKEN
from wsgiauth.openapi.schemas import Component, header, integer, object_of, schema, text
from wsgiauth.settings import Settings
from wsgiauth.version import __version__
from wsgiauth.web.request import QUERY

_ABOUT = """\
The operations describe the JSON interface, for programs.

**Pages and forms.** Browsers get pages, and send their forms to the same addresses: each POST with\
 a body, except for `/refresh`, also accepts `application/x-www-form-urlencoded` with the same\
 fields, from pages of this site only (otherwise 403, code `cross_origin`); `/login`, `/register`,\
 `/password` and `/confirm` also take `next`. A form is answered with 303, after a login with a\
 cookie, or with the page again and its messages; `/keys` answers with a page that shows the new\
 key. If the `Accept` of a form names `application/json`, the answer is JSON (200 with `detail` and\
 `next`, 201 with the profile for a registration, or the list for `/sessions`; for `/keys` as for\
 JSON; failures are the same) and the cookie, so that a script of this site can log in without\
 holding a token. Forms are not described as request bodies, because many generators of clients\
 support one body type for each operation.

**HTML or JSON.** Where a response has both media types, clients whose `Accept` prefers `text/html`\
 to `application/json` get HTML, and all others get JSON.

**Failures** are problem details (RFC 9457) with a stable `code` for programs. An address that is\
 not listed here is answered 404 (code `not_found`); a method that is not listed, 405 (code\
 `method_not_allowed`) with `Allow`. HEAD is answered like GET, without the body, but for `/logout`.

**Credentials.** A login gives a program a token, to be sent as `Authorization: Bearer`. It gives a\
 browser the same token in a cookie, which is accepted on a POST only if a page of this site sent\
 it; `Sec-Fetch-Site` and `Origin` decide. A bearer token, valid or not, takes precedence over the\
 cookie."""
_INFO = {
    "title": "wsgiauth",
    "summary": "Accounts for a WSGI application: registration, logins, second factors, API keys and"
    " the staff panel.",
    "description": _ABOUT,
    "license": {"name": "MIT", "identifier": "MIT"},
    "version": __version__,
}

# In every response.
_HEADERS = {
    "Cache-Control": header("CacheControl", "No response is stored.", text(const="no-store")),
    "X-Content-Type-Options": header(
        "ContentTypeOptions", "No browser guesses another media type.", text(const="nosniff")
    ),
    "Referrer-Policy": header(
        "ReferrerPolicy",
        "Other sites do not see `next`, and no site sees the `token` of a link.",
        text(enum=["same-origin", "strict-origin"]),
    ),
}
# In those with sentences.
_LANGUAGE = {
    "Content-Language": header(
        "ContentLanguage",
        "The language of the page, or of `detail` and `errors`: that of the user who sent the"
        " request, then that of the language's cookie, then what `Accept-Language` asks for (RFC"
        " 4647, section 3.4).",
        text(),
        required=False,
        example="en",
    ),
    "Vary": header(
        "Vary",
        "What chooses the language.",
        text(const="Accept-Language, Cookie"),
        required=False,
    ),
}
_PAGE = replace(page("The page, whatever `Accept` says."), name="Page")
_OF_FORM = "At most 16 KiB, in UTF-8. Further fields are ignored."
_PROBLEM = schema(
    "Problem",
    {
        **object_of(
            type=text(const="about:blank"),
            title=text("The name of the status."),
            detail=text("A sentence for people."),
        ),
        "description": "The members that all problem details (RFC 9457) share; `code` tells them"
        " apart.",
    },
)
_FIELD_ERRORS = schema(
    "FieldErrors",
    {
        "type": "object",
        "description": "Messages for people, by field.",
        "minProperties": 1,
        "additionalProperties": {"type": "array", "minItems": 1, "items": {"type": "string"}},
    },
)
_RESTRICTION = "What the session lacks, from `/me` alone."


class Described(NamedTuple):
    """What is described for one site, or for all.

    Attributes:
        demands: Those of the site.
        fields: The fields of a registration, by the path of each form that asks for them.
        languages: The tags of the languages of the site.
        settings: Those of the site.
    """

    demands: tuple[Demand, ...]
    fields: Mapping[str, tuple[Field, ...]]
    languages: tuple[str, ...]
    settings: Settings | None


def make_document(
    endpoints: Mapping[str, Endpoint], modules: Iterable[str], described: Described
) -> dict[str, Any]:
    """Return the document with these endpoints, by path, at the usual mount.

    Args:
        modules: The names of the modules with `OPERATIONS`.
    """
    return _Document(endpoints, [*map(import_module, modules)], described).made()


class _Document:
    def __init__(
        self, endpoints: Mapping[str, Endpoint], sources: list[ModuleType], described: Described
    ) -> None:
        self._described = described
        self._operations: dict[type[Endpoint], dict[str, Operation]] = {}
        self._members: dict[str, dict[str, Any]] = {}  # that features add to the objects of others
        for each in sources:
            self._operations |= {kind: {**own} for kind, own in each.OPERATIONS.items()}
            for name, members in getattr(each, "MEMBERS", {}).items():
                self._members.setdefault(name, {}).update(members)
        for each in sources:
            for (kind, method), addition in getattr(each, "ADDITIONS", {}).items():
                operations = self._operations[kind]
                operations[method] = addition.added_to(operations[method])
        self._endpoints = {path: each for path, each in endpoints.items() if self._of(each)}
        self._tags: dict[str, str] = {}
        self._components: dict[str, dict[str, Any]] = {}
        self._origins: dict[tuple[str, str], Any] = {}

    def made(self) -> dict[str, Any]:
        paths = {
            path: {
                method: self._operation(path, endpoint, method, operation)
                for method, operation in self._of(endpoint).items()
            }
            for path, endpoint in self._endpoints.items()
        }
        schemas = self._components["schemas"]
        schemas["Language"]["enum"] = [*self._described.languages]
        schemas["FieldErrors"]["propertyNames"] = {"enum": sorted(self._names(paths))}
        self._name_demands(schemas)
        return {
            "openapi": "3.1.1",
            "info": _INFO,
            "servers": [{"url": "/auth", "description": "Where wsgiauth is mounted."}],
            "tags": [
                {"name": name, "description": about} for name, about in sorted(self._tags.items())
            ],
            "components": {
                kind: dict(sorted(self._components[kind].items()))
                for kind in sorted(self._components)
            },
            "paths": paths,
        }

    def _of(self, endpoint: Endpoint) -> Mapping[str, Operation]:
        """Return the operations of an endpoint; none if a feature does not describe it."""
        kinds = type(endpoint).__mro__
        return next((self._operations[each] for each in kinds if each in self._operations), {})

    def _names(self, paths: Mapping[str, Any]) -> set[str]:
        """Return the names of fields and parameters that messages can be about."""
        names = {QUERY}
        for path, endpoint in self._endpoints.items():
            if isinstance(endpoint, Form):
                names |= {each.name for each in self._fields(endpoint)}
                names |= {each.name for each in self._described.fields.get(path, ())}
            get = paths[path].get("get", {})
            if "422" in get.get("responses", ()):
                operation = self._of(endpoint)["get"]
                names |= {each["name"] for each in operation.parameters if each["in"] == "query"}
        return names

    def _fields(self, form: Form[Any]) -> tuple[Input, ...]:
        return offered(form.fields, self._described.settings)

    # An operation.

    def _operation(
        self, path: str, endpoint: Endpoint, method: str, operation: Operation
    ) -> dict[str, Any]:
        tag = operation.tag or endpoint.tag
        self._tags[tag.name] = tag.about
        security = operation.security
        if security is None:
            security = endpoint.security(method)
            if _is_page_alone(endpoint, method):
                security = tuple(each for each in security if each is not BEARER)
        made: dict[str, Any] = {
            "operationId": operation.id,
            "tags": [tag.name],
            "summary": operation.summary,
            "description": operation.about,
            "security": [self._scheme(each and each.component) for each in security],
        }
        if operation.browser:
            made["x-browser"] = operation.browser
        if operation.parameters:
            made["parameters"] = self._resolved(operation.parameters)
        body = self._body(path, endpoint, operation) if method == "post" else None
        if body is not None:
            made["requestBody"] = body
        demands = self._described.demands if COOKIE in security and None not in security else ()
        responses = _Responses(endpoint, method, operation, self._refusals(path), demands)
        made["responses"] = {
            str(status): self._resolved(response) for status, response in responses.made()
        }
        return made

    def _scheme(self, component: Component | None) -> dict[str, list[str]]:
        if component is None:
            return {}
        self._resolved(component)
        return {component.name: []}

    def _refusals(self, path: str) -> tuple[Problem, ...]:
        """Return the failures of the fields of features."""
        fields = self._described.fields.get(path, ())
        return tuple(
            problem
            for each in fields
            if isinstance(each, FeatureField)
            for problem in each.refusals
        )

    def _body(self, path: str, endpoint: Endpoint, operation: Operation) -> dict[str, Any] | None:
        if operation.body is not None:
            body = operation.body
            content = {
                media_type: {"schema": self._resolved(each)}
                for media_type, each in body.content.items()
            }
            if body.example is not None:
                content[JSON]["example"] = body.example
            needed = {"required": True} if body.required else {}
            return {**needed, "description": body.about, "content": content}
        if not isinstance(endpoint, Form):
            return None
        fields = [each for each in self._fields(endpoint) if each.is_described]
        properties = {each.name: self._resolved(each.schema) for each in fields}
        required = [each.name for each in fields if each.required]
        always_asks = "password" in required  # not only for some links
        further = self._described.fields.get(path, ())
        for each in further:
            is_required = always_asks and each.required
            properties[each.name] = schema_of(each, is_required)
            required += [each.name] if is_required else []
        schema = {"type": "object", "required": required, "properties": properties}
        of_json: dict[str, Any] = {"schema": schema}
        lacks_one = any(each.required for each in further) and always_asks
        example = {} if operation.example is None and not fields else operation.example
        if example is not None and not lacks_one:
            of_json["example"] = example
        return {"required": True, "description": _OF_FORM, "content": {JSON: of_json}}

    # References.

    def _resolved(self, value: Any) -> Any:
        """Return a copy of a value, with references to its components."""
        if isinstance(value, Component):
            self._add(value)
            return value.reference
        if isinstance(value, Mapping):
            return {name: self._resolved(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._resolved(each) for each in value]
        return value

    def _add(self, component: Component) -> None:
        key = component.kind, component.name
        if key in self._origins:
            if self._origins[key] != component.value:
                problem = f"the OpenAPI document has two {component.kind} named {component.name}"
                raise ConfigurationError(problem)
            return
        self._origins[key] = component.value
        made = self._resolved(component.value)
        further = self._members.get(component.name, {}) if component.kind == "schemas" else {}
        if further:
            own = made["allOf"][-1] if "allOf" in made else made
            own["properties"] |= self._resolved(further)
        self._components.setdefault(component.kind, {})[component.name] = made

    def _name_demands(self, schemas: dict[str, Any]) -> None:
        """Let the objects that name what a session lacks name each demand of the site."""
        for demand in self._described.demands:
            problem = demand.problem
            if problem is None:
                continue
            members = () if problem.members is None else problem.members.value["properties"]
            for each in (TOKEN, PROFILE):
                properties = schemas[each.name]["properties"]
                lacking = properties.setdefault(
                    "restriction", {"enum": [], "description": _RESTRICTION}
                )
                lacking["enum"] = [*lacking["enum"], *problem.codes]
                lacking["description"] += f" {' '.join(problem.codes.values())}"
                properties |= {name: self._resolved(members[name]) for name in members}


class _Responses:
    """The responses of an operation, by status."""

    def __init__(
        self,
        endpoint: Endpoint,
        method: str,
        operation: Operation,
        refusals: tuple[Problem, ...],
        demands: tuple[Demand, ...],
    ) -> None:
        self._answers: dict[int, list[Answer]] = {}
        self._problems: dict[int, dict[Problem, frozenset[str]]] = {}
        for each in operation.answers:
            self._answers.setdefault(each.status, []).append(each)
        is_form = isinstance(endpoint, Form)
        if is_form and method == "get" and 200 not in self._answers:
            self._answers[200] = [_PAGE]
        both = {HTML} if _is_page_alone(endpoint, method) else {PROBLEM, HTML}
        for found in endpoint.problems(method):
            if isinstance(found, Answer):
                known = self._answers.setdefault(found.status, [])
                known += [] if found in known else [found]
            else:
                self._add(found, both)
        if isinstance(endpoint, Form) and method == "post":
            for problem in (*endpoint.refusals, *refusals):
                self._add(problem, {PROBLEM})
        for demand in demands:
            self._demand(demand, method, operation, both)

    def _add(self, problem: Problem, media_types: set[str]) -> None:
        of_status = self._problems.setdefault(problem.status, {})
        of_status[problem] = of_status.get(problem, frozenset()) | media_types

    def _demand(self, demand: Demand, method: str, operation: Operation, both: set[str]) -> None:
        problem = demand.problem
        if problem is None:
            return
        about = f"For browsers whose session lacks it: `Location` is {demand.page}."
        status = 302 if method == "get" else 303
        self._answers.setdefault(status, []).append(leads(status, about, name=f"To{problem.name}"))
        self._add(problem, both)
        for status in operation.unmet:
            self._add(replace(problem, name=f"{problem.name}{status}", status=status), both)

    def made(self) -> Iterable[tuple[int, Any]]:
        for status in sorted({*self._answers, *self._problems}):
            if status in self._problems:
                answers = self._answers.get(status, [])
                yield status, _failure(status, self._problems[status], answers)
            else:
                yield status, _success(self._answers[status])


def _is_page_alone(endpoint: Endpoint, method: str) -> bool:
    """Return whether everything that is answered is a page, whatever `Accept` says."""
    return endpoint.is_navigation and method == "get"


def _success(answers: list[Answer]) -> Any:
    content: dict[str, Any] = {}
    headers: dict[str, Any] = {}
    for each in reversed(answers):
        content |= each.content
        headers |= each.headers
    response = _response(" ".join(each.about for each in answers), content, headers)
    if all(each.name for each in answers):
        return Component("responses", "Or".join(each.name for each in answers), response)
    return response


def _failure(
    status: int, found: Mapping[Problem, frozenset[str]], answers: list[Answer]
) -> Component:
    """Return the response with failures, and with answers of the same status in another form."""
    problems = sorted(found, key=lambda each: not each.name)
    name = "Or".join(each.name for each in problems if each.name)
    media_types = frozenset().union(*found.values())
    content: dict[str, Any] = {}
    if PROBLEM in media_types:
        content[PROBLEM] = _schema_of(status, name, problems)
    if HTML in media_types:
        content[HTML] = HTML_PAGE
    headers: dict[str, Any] = {}
    for each in problems:
        headers |= each.headers
    codes: dict[str, str] = {}
    for each in problems:
        codes = {**each.codes, **codes}
    about = " ".join(f"`{code}`: {sentence}" for code, sentence in codes.items())
    about = about if len(codes) > 1 else "".join(codes.values())
    for further in answers:
        content |= further.content
        headers |= further.headers
        about += f" {further.about}"
        name += f"Or{further.name}"
    suffix = "" if PROBLEM in media_types else "Page"
    return Component("responses", f"{name}{suffix}", _response(about, content, headers))


def _schema_of(status: int, name: str, problems: list[Problem]) -> Component:
    """Return the schema of the problem details with one of several codes."""
    codes = [*dict.fromkeys(code for each in problems for code in each.codes)]
    about = "A stable name of the cause, for programs."
    members = {
        "status": integer("The HTTP status.", const=status),
        "code": text(about, const=codes[0]) if len(codes) == 1 else text(about, enum=codes),
    }
    own: dict[str, Any] = object_of(**members)
    if any(each.has_errors for each in problems):
        own["properties"]["errors"] = _FIELD_ERRORS
        if all(each.has_errors for each in problems):
            own["required"].append("errors")
    parents = [each.members for each in problems if each.members is not None]
    if parents and len(problems) > 1:  # only with some codes
        own["properties"] |= {
            name: each for parent in parents for name, each in parent["properties"].items()
        }
        parents = []
    return schema(f"{name}Problem", {"allOf": [_PROBLEM, own, *parents]})


def _response(about: str, content: Mapping[str, Any], headers: Mapping[str, Any]) -> dict[str, Any]:
    further = _LANGUAGE if {PROBLEM, HTML} & content.keys() else {}
    policy = {"Content-Security-Policy": PAGE_POLICY} if HTML in content else {}
    response: dict[str, Any] = {
        "description": about,
        "headers": {**_HEADERS, **further, **policy, **headers},
    }
    if content:
        response["content"] = {name: {"schema": each} for name, each in content.items()}
    return response


def schema_of(field: Field, is_required: bool) -> dict[str, Any]:
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
