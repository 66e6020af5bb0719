"""The generated parts of docs/endpoints.md, made from the OpenAPI document.

The page is its own template: a comment begins each generated part, and names the paths that it
describes; `…` stands for those that no comment names. Everything outside of these parts is written
by hand. `make endpoints` makes them anew.
"""

import json
import re
import sys
from dataclasses import fields
from importlib import import_module
from itertools import combinations, groupby
from types import SimpleNamespace

from tests.docs.pages import ROOT, slug
from tests.support.contract import problems
from wsgiauth import Settings
from wsgiauth.app import ROUTES
from wsgiauth.features.registry import FEATURES
from wsgiauth.openapi import callers
from wsgiauth.openapi.answers import Scheme
from wsgiauth.openapi.problems import (
    APPLICATION_FAILED,
    BUSY,
    FACTOR_DEMANDED,
    INVALID,
    KEY_NOT_ACCEPTED,
    NO_SESSION,
    NOT_FRESH,
    NOT_OF_STAFF,
    OF_BODY,
    UNAVAILABLE,
)

FILE = ROOT / "docs" / "endpoints.md"
PART = re.compile(r"^<!-- made: (.*?) -->$.*?^<!-- end -->$", re.MULTILINE | re.DOTALL)
GROUP = re.compile(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
DOCUMENT = ROUTES["/openapi.json"].document
COMPONENTS = DOCUMENT["components"]
SCHEMAS = COMPONENTS["schemas"]
JSON, PROBLEM = "application/json", "application/problem+json"

NAMES = tuple(import_module(each.openapi).__name__ for each in FEATURES if each.openapi)
# Also those of which a feature makes its operations.
MODULES = [callers, *(each for name, each in sys.modules.items() if name.startswith(NAMES))]
# Who sends a request, in words, by the names of the security schemes.
CALLERS = {
    each.component.name: each.caller
    for module in MODULES
    for each in vars(module).values()
    if isinstance(each, Scheme)
}
# The page says once when any endpoint answers so.
SHARED = (*OF_BODY, INVALID, NO_SESSION, NOT_FRESH, FACTOR_DEMANDED, KEY_NOT_ACCEPTED)
SHARED += (NOT_OF_STAFF, APPLICATION_FAILED, UNAVAILABLE, BUSY)
ALWAYS = {code for each in SHARED for code in each.codes}
PAGE = {"$ref": "#/components/responses/Page"}
SETTINGS = "|".join(each.name for each in fields(Settings) if "_" in each.name)
DETAIL = {"$ref": "#/components/schemas/Detail"}
NEXT = COMPONENTS["parameters"]["Next"]
LISTED = 3  # members of an object that has a section
PATHS = "|".join(re.escape(path[1:]) for path in sorted(DOCUMENT["paths"], key=len, reverse=True))


def filled(page):
    """Return the page with its generated parts made anew."""

    def make(part):
        name = part[1]
        if name == "index":
            made = _index(page)
        elif name == "objects":
            made = _objects()
        elif name == "failures":
            made = _failures()
        else:
            made = "\n\n".join(
                _section(method, path)
                for path in _paths(name, page)
                for method in DOCUMENT["paths"][path]
            )
        return f"<!-- made: {name} -->\n\n{made}\n\n<!-- end -->"

    return PART.sub(make, page)


def _paths(name, page):
    """Return the paths that the comment of a part names."""
    listed = {path for names in PART.findall(page) for path in names.split()}
    others = [path for path in DOCUMENT["paths"] if path not in listed]
    paths = [path for each in name.split() for path in (others if each == "…" else [each])]
    return [path for path in paths if path.startswith("/")]


def _index(page):
    rows = ["| group | URLs |", "|---|---|"]
    for title, text in GROUP.findall(page):
        paths = [path for part in PART.findall(text) for path in _paths(part, page)]
        links = ", ".join(f"[`/auth{path}`](#{_anchor(path)})" for path in paths)
        if links:
            rows.append(f"| [{title}](#{slug(title)}) | {links} |")
    return "\n".join(rows)


def _anchor(path):
    return slug(f"{next(iter(DOCUMENT['paths'][path]))} /auth{path}")


# An endpoint.


def _section(method, path):
    operations = DOCUMENT["paths"][path]
    operation, first = operations[method], next(iter(operations.values()))
    parts = [f"### `{method.upper()} /auth{path}`", _about(operation)]
    needs, sent, answers = _needs(method, path), _sent(path, operation), _answers(operation)
    if operation["responses"].get("200") == PAGE and "post" in operations:
        needs = answers = ""  # as the form, which the introduction of the page says
    elif operation is not first and answers == _answers(first):
        answers = f"Answers as for `GET /auth{path}`."
    return "\n\n".join(filter(None, [*parts, needs, *sent, answers]))


def _about(operation):
    summary, description = operation["summary"], operation["description"]
    if summary.startswith("The page"):
        description = description.removeprefix("For browsers.").strip()
    return _prose(f"{summary}. {description}")


def _needs(method, path):
    operation = DOCUMENT["paths"][path][method]
    callers = [CALLERS[scheme] for each in operation["security"] for scheme in each]
    is_public = {} in operation["security"] and "a session" in callers
    caller = "" if is_public else " or ".join(dict.fromkeys(callers))
    if caller == "a session" and _is_fresh(method, path):
        caller = "a fresh session"
    if caller == "a session" and operation["tags"] == ["administration"]:
        caller = ""  # the introduction of the group says so
    needs = [*filter(None, [caller]), *_settings(path)]
    return f"**Needs** {', '.join(needs)}." if needs else ""


def _is_fresh(method, path):
    """Return whether every caller needs a fresh session, also for what follows a page."""
    operations = DOCUMENT["paths"][path]
    return all(
        operations[each]["responses"]
        .get("401", {})
        .get("$ref", "")
        .endswith("/UnauthenticatedOrNotFresh")
        for each in {method, "post"} & {*operations}
    )


def _settings(path):
    """Return the settings without which the URL does not exist."""
    names = [each.name for each in fields(Settings)]

    def needs(*off):
        on = dict.fromkeys(names, True) | dict.fromkeys(off)
        return not ROUTES[path].is_offered(SimpleNamespace(**on))

    needed = [(name,) for name in names if needs(name)]
    needed = needed or [each for each in combinations(names, 2) if needs(*each)]
    return [
        " or ".join(f"`{name}`" for name in each) for each in needed if each != ("ADMIN_PANEL",)
    ]


def _sent(path, operation):
    """Yield the query, the headers, the body and an example of it."""
    listed = _parameters(operation)
    if NEXT in listed:
        yield "Query: [`next`](#the-page-after-a-form)."
        listed.remove(NEXT)
    earlier = _earlier(path, operation, listed)
    if earlier:
        yield f"{listed[0]['in'].capitalize()} as for `{earlier}`."
    else:
        for place, group in groupby(listed, lambda each: each["in"]):
            rows = [(each["name"], each["schema"], each.get("required"), each) for each in group]
            yield _table(place, rows)
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        members, required = _members_of(body["schema"]), body["schema"].get("required", ())
        yield _table(
            "JSON" if kind == JSON else "form",
            [(name, each, name in required, each) for name, each in members.items()],
        )
        if len(body.get("example", {})) > 1:
            yield f"```json\n{json.dumps(body['example'], ensure_ascii=False)}\n```"


def _parameters(operation):
    """Return the parameters, without parts of the path that their names or a form explain."""
    given = [_resolved(each) for each in operation.get("parameters", ())]
    is_page = operation["responses"].get("200") == PAGE
    return [
        each for each in given if each["in"] != "path" or ("enum" in each["schema"] and not is_page)
    ]


def _earlier(path, operation, parameters):
    """Return the heading of an endpoint that has all of these parameters, or None.

    It is another method of the path; or of any path, if it saves more than a line.
    """
    others = DOCUMENT["paths"] if len(parameters) > 1 else [path] if parameters else []
    for other in others:
        for method, each in DOCUMENT["paths"][other].items():
            if each is operation:
                return None
            given = _parameters(each)
            if all(parameter in given for parameter in parameters):
                return f"{method.upper()} /auth{other}"
    return None


def _answers(operation):
    """Return a line for each answer of its own, and one for the failures of several endpoints."""
    lines, failures = [], []
    for status, reference in sorted(operation["responses"].items()):
        response = _resolved(reference)
        problem = response.get("content", {}).get(PROBLEM, {}).get("schema", {})
        codes = _values(_members_of(problem).get("code", {}))
        if "$ref" not in reference or (problem and not codes):
            lines.append(f"- **{status}** {_answer(response)}")
        elif not ALWAYS.issuperset(codes):
            named = [f"`{each}`" for each in codes if each not in ALWAYS]
            failures.append(f"{status} {', '.join(named)}")
    if "x-browser" in operation:
        lines.append(f"- **Browser** {_prose(operation['x-browser'])}")
    if failures:
        lines.append(f"- **Failures** {', '.join(failures)}.")
    return "\n".join(lines)


def _answer(response):
    text, schema = _prose(response["description"]), response.get("content", {}).get(JSON)
    if not schema or schema["schema"] == DETAIL:
        return text
    return f"{text.removesuffix('.')}: {_shape(schema['schema'])}."


# Failures.


def _failures():
    """Return a table of the codes, with the sentences of the failures that have them."""
    found = {}
    for each in sorted(problems(), key=lambda each: each.status):
        for code, about in each.codes.items():
            found.setdefault((each.status, code), {})[_prose(about)] = True
    rows = [
        f"| {status} | `{code}` | {' '.join(about)} |" for (status, code), about in found.items()
    ]
    return "\n".join(["| status | code | meaning |", "|---|---|---|", *rows])


# Objects.


def _objects():
    names = [name for name in SCHEMAS if _is_listed(name)]
    members = {name: ", ".join(map(_member, _members_of(SCHEMAS[name]).items())) for name in names}
    return "\n\n".join(
        f"### `{name}`\n\n{members[name] or _prose(SCHEMAS[name]['description'])}" for name in names
    )


def _member(item):
    """Return the name of a member, and what its list consists of."""
    name, member = item
    items = member.get("items", {})
    return f"`{name}`" + (f" (list of {_shape(items)})" if "$ref" in items else "")


def _is_listed(name):
    """Return whether a schema has a section."""
    is_string = name in ("Username", "Email", "NewPassword")
    is_object = name in SCHEMAS and len(_members_of(SCHEMAS[name])) >= LISTED
    return is_string or (is_object and not name.endswith("Problem"))


def _members_of(schema):
    """Return the members of an object, also those of the schemas that it consists of."""
    schema = _resolved(schema)
    members = dict(schema.get("properties", {}))
    for each in schema.get("allOf", ()):
        members |= _members_of(each)
    return members


def _table(title, rows):
    """Return a table of names with their schemas; a column without content is left out."""
    if not rows:
        return ""
    cells = [
        (
            f"`{name}`",
            _type(schema).removeprefix("string"),
            "yes" if required else "",
            _meaning(schema, described),
        )
        for name, schema, required, described in rows
    ]
    columns = [
        [heading, *column]
        for heading, *column in zip((title, "type", "required", "meaning"), *cells, strict=True)
        if any(column)
    ]
    head, *lines = (f"| {' | '.join(line)} |" for line in zip(*columns, strict=True))
    return "\n".join([head, "|---" * len(columns) + "|", *lines])


def _meaning(schema, described):
    if not _is_listed(described.get("$ref", "").rpartition("/")[2]):
        described = _resolved(described)
    default, description = schema.get("default"), described.get("description", "")
    return _prose(f"{description} Default {default}." if default else description)


def _type(schema):
    """Return the type of a member or a parameter in words."""
    if "$ref" in schema:
        return _shape(schema)
    if _values(schema):
        return ", ".join(f"`{each}`" for each in _values(schema))
    if schema["type"] == "array":
        return f"list of {_type(schema['items'])}"
    return schema["type"]


def _values(schema):
    """Return the values that a schema lists."""
    return [each for each in (*schema.get("enum", ()), schema.get("const")) if each]


def _shape(schema):
    """Return a link to an object, or the names of its members."""
    if "anyOf" in schema or "oneOf" in schema:
        return ", or ".join(map(_shape, schema.get("anyOf") or schema["oneOf"]))
    name = schema.get("$ref", "").rpartition("/")[2]
    if _is_listed(name):
        return f"[`{name}`](#{slug(name)})"
    members = _members_of(schema)
    return _joined([*map(_member, members.items())]) if members else _type(_resolved(schema))


def _joined(words):
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _resolved(value):
    """Return what a reference of the document leads to."""
    if "$ref" not in value:
        return value
    _, _, kind, name = value["$ref"].split("/")
    return COMPONENTS[kind][name]


def _prose(text):
    """Return a description with the paths of the page, as one line of Markdown."""
    text = re.sub(r"\(code (`\w+`)", r"(\1", text)
    text = re.sub(rf"(?<![\w`])(?:{SETTINGS})(?![\w`])", r"`\g<0>`", text)
    text = re.sub(rf"`(?=/(?:{PATHS})\b)", "`/auth", text)
    text = re.sub(rf"(?<![\w/}}`])/(?:{PATHS})(?![\w/{{])", r"`/auth\g<0>`", text)
    return text.replace("|", "\\|").strip()


if __name__ == "__main__":
    FILE.write_text(filled(FILE.read_text(encoding="utf-8")), encoding="utf-8")
