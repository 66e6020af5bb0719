"""The generated parts of docs/endpoints.md, made from the OpenAPI document.

The page is its own template: a comment begins each generated part, and names the paths that it
describes; `…` stands for those that no comment names. Everything outside of these parts is written
by hand. `make endpoints` makes them anew.
"""

import re
import sys
from collections import Counter
from dataclasses import fields
from importlib import import_module
from itertools import combinations
from types import SimpleNamespace

from tests.docs.pages import ROOT
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
# What codes mean that several endpoints use in senses of their own.
MEANINGS = {
    "embedded": "The request is for a part of a page, such as an image or a frame.",
    "forbidden": "The caller lacks a right, a group or a permission.",
    "insufficient_scope": "An API key lacks a permission, or cannot be used here.",
    "insufficient_user_authentication": "A recent proof of identity is needed (RFC 9470): send the"
    " password, or a code of the second factor, to /confirm.",
    "invalid": "A field or a parameter is missing or breaks a rule; see `errors`.",
    "invalid_credentials": "The password is wrong, or no active account has the name.",
    "malformed": "The body or the query cannot be read, or a field has another type.",
    "not_found": "Nothing is here with these settings, or for this caller.",
    "other_account": "The link, or the page with the form, is for another account.",
    "taken": "Another account has the username or the email address; see `errors`.",
    "throttled": "Too many attempts: this one was not tried. `Retry-After` says when to try again.",
}
# The introductions of the groups say that their URLs need them.
OF_GROUPS = {"ADMIN_PANEL", "OAUTH_SERVER", "OIDC_PROVIDERS"}
CODES = re.compile(r"(?<=\(code )`\w+`(?=\))|(?<=\()`\w+`(?=\))")  # of RFC 6749
LISTED = 3  # members of an object that has a row
LONG = 3  # parameters of a query that is not listed twice
SHORT = 7  # words of a description that says no more than the status
PATHS = "|".join(re.escape(path[1:]) for path in sorted(DOCUMENT["paths"], key=len, reverse=True))


def filled(page):
    """Return the page with its generated parts made anew."""

    def make(part):
        name = part[1]
        if name == "objects":
            made = _objects()
        elif name == "pages":
            made = _pages()
        elif name == "failures":
            made = _failures()
        else:
            made = "\n\n".join(
                _section(method, path)
                for path in _paths(name, page)
                for method in DOCUMENT["paths"][path]
                if not _is_page(method, path)
            )
        return f"<!-- made: {name} -->\n\n{made}\n\n<!-- end -->"

    return PART.sub(make, page)


def _paths(name, page):
    """Return the paths that the comment of a part names."""
    listed = {path for names in PART.findall(page) for path in names.split()}
    others = [path for path in DOCUMENT["paths"] if path not in listed]
    paths = [path for each in name.split() for path in (others if each == "…" else [each])]
    return [path for path in paths if path.startswith("/")]


# An endpoint.


def _is_page(method, path):
    """Return whether a GET only shows the form of the POST."""
    operations = DOCUMENT["paths"][path]
    return operations[method]["responses"].get("200") == PAGE and "post" in operations


def _pages():
    paths = [
        path for path in DOCUMENT["paths"] if _is_page(next(iter(DOCUMENT["paths"][path])), path)
    ]
    return ", ".join(f"`/auth{path}`" for path in paths) + "."


def _section(method, path):
    operations = DOCUMENT["paths"][path]
    operation, first = operations[method], next(iter(operations.values()))
    answers = _answers(operation)
    if operation is not first and answers == _answers(first):
        answers = [f"Answers as for `GET /auth{path}`."]
    about = " ".join(filter(None, [_about(operation), _needs(method, path)]))
    lines = "\n".join(f"- {line}" for line in filter(None, [_sent(path, operation), *answers]))
    return "\n\n".join(filter(None, [f"### `{method.upper()} /auth{path}`", about, lines]))


def _about(operation):
    """Return the summary and the first paragraph of the description."""
    about, _, _ = operation["description"].partition("\n\n")
    return _prose(f"{operation['summary']}. {about}")


def _needs(method, path):
    operation = DOCUMENT["paths"][path][method]
    callers = [CALLERS[scheme] for each in operation["security"] for scheme in each]
    is_public = {} in operation["security"] and "a session" in callers
    caller = "" if is_public else " or ".join(dict.fromkeys(callers))
    if caller == "a session" and _is_fresh(method, path):
        caller = "a fresh session"
    if caller == "a session" and operation["tags"] == ["administration"]:
        caller = ""  # as OF_GROUPS
    needs = [*filter(None, [caller]), *_settings(path)]
    return f"Needs {_joined(needs)}." if needs else ""


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
    return [" or ".join(f"`{name}`" for name in each) for each in needed if not {*each} & OF_GROUPS]


def _sent(path, operation):
    """Return the members that a request has, with those of its query and its headers."""
    given = {}
    for each in map(_resolved, operation.get("parameters", ())):
        if each["in"] != "path" or "enum" in each["schema"]:
            place = "" if each["in"] == "path" else each["in"]
            is_required = each.get("required") or each["in"] == "path"
            if each != NEXT:
                given.setdefault(place, {})[each["name"]] = each["schema"], is_required
    for kind, body in operation.get("requestBody", {}).get("content", {}).items():
        required = body["schema"].get("required", ())
        members = _members_of(body["schema"]).items()
        place = "JSON" if kind == JSON else "form"
        given[place] = {name: (each, name in required) for name, each in members}
    earlier = _earlier(path, operation, given.get("query", {}))
    if earlier:
        given["query"] = {}
    texts = [f"query as for `{earlier}`"] if earlier else []
    for place, members in given.items():
        parts = [
            ", ".join(_sent_member(*each) for each in members.items() if each[1][1] is is_required)
            for is_required in (True, False)
        ]
        if any(parts):
            texts.append(f"{place} {parts[0]}{f' [{parts[1]}]' if parts[1] else ''}".strip())
    return f"Send {'; '.join(texts)}" if texts else ""


def _sent_member(name, described):
    kind = _type(_resolved(described[0]))
    return f"`{name}`" if kind == "string" else f"`{name}` ({kind})"


def _earlier(path, operation, query):
    """Return the heading of an earlier endpoint that has the same long query, or None."""
    if len(query) < LONG:
        return None
    for other, operations in DOCUMENT["paths"].items():
        for method, each in operations.items():
            if each is operation:
                return None
            listed = {it["name"] for it in map(_resolved, each.get("parameters", ()))}
            if listed >= query.keys():
                return f"{method.upper()} /auth{other}"
    return None


def _answers(operation):
    """Return the successes, a line for each failure of its own, and one for shared failures."""
    lines, successes, failures = [], [], []
    for status, reference in sorted(operation["responses"].items()):
        response = _resolved(reference)
        problem = response.get("content", {}).get(PROBLEM, {}).get("schema", {})
        codes = _values(_members_of(problem).get("code", {}))
        is_shared = "$ref" in reference and not (problem and not codes)
        answer = _answer(status, response)
        if is_shared:
            named = [f"`{each}`" for each in codes if each not in ALWAYS]
        else:
            named = CODES.findall(response["description"]) if status > "399" else []
        if not named if is_shared else answer in REPEATED:
            continue  # the introductions have it
        if named:
            failures.append(f"{status} {', '.join(named)}")
        elif status < "300":
            successes.append(answer)
        else:
            lines.append(answer)
    first = f"Answers {'; or '.join(successes)}" if successes else ""
    last = f"Failures: {'; '.join(failures)}" if failures else ""
    return [*filter(None, [first, *lines, last])]


def _answer(status, response):
    """Return the status, with the shape of the body or the first sentence of its meaning."""
    text, schema = _prose(response["description"]), response.get("content", {}).get(JSON)
    shape = _shape(schema["schema"]) if schema and schema["schema"] != DETAIL else ""
    if shape and shape != "`error` and `error_description`":  # of which the introduction tells
        return f"{status} {shape}"
    sentence = text.partition(". ")[0].removesuffix(".")
    says_more = len(sentence.split()) >= SHORT or status > "299"
    return f"{status}: {sentence}" if says_more else status


# Failures.


def _failures():
    """Return a list of the codes, each with what it means, or what it means everywhere."""
    found = {}
    for each in sorted(problems(), key=lambda each: each.status):
        for code, about in each.codes.items():
            found.setdefault((each.status, code), _prose(MEANINGS.get(code, about)))
    return "\n".join(f"- {status} `{code}`: {about}" for (status, code), about in found.items())


# Objects.


def _objects():
    names = [name for name in SCHEMAS if _is_listed(name)]
    return "\n".join(
        ["| object | members |", "|---|---|"]
        + [f"| `{name}` | {_described(SCHEMAS[name])} |" for name in names]
    )


def _described(schema):
    members = ", ".join(map(_member, _members_of(schema).items()))
    return members or _prose(schema["description"])


def _member(item):
    """Return the name of a member, and what its list consists of."""
    name, member = item
    items = member.get("items", {})
    return f"`{name}`" + (f" ({_shape(items)})" if "$ref" in items else "")


def _is_listed(name):
    """Return whether a schema has a row of the table."""
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
        return f"`{name}`"
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


# The introductions of the groups have the failures of several endpoints.
REPEATED = {
    failure
    for failure, times in Counter(
        _answer(status, _resolved(each))
        for operations in DOCUMENT["paths"].values()
        for operation in operations.values()
        for status, each in operation["responses"].items()
        if status > "399"
    ).items()
    if times > 1
}

if __name__ == "__main__":
    FILE.write_text(filled(FILE.read_text(encoding="utf-8")), encoding="utf-8")
