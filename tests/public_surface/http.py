"""The HTTP interface: paths with their fields, schemas, codes, and keys in the environ.

The OpenAPI document has the statuses and codes of each path, and the types of fields. They are not
recorded: one new code can be an answer of most paths.
"""

import json
import re

from tests.docs.pages import PAGES, section
from tests.support.contract import problems
from wsgiauth.app import ROUTES

DOCUMENT = ROUTES["/openapi.json"].document
COMPONENTS = DOCUMENT["components"]


def lines():
    """Yield the lines of the OpenAPI document, and of the keys in the environ."""
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            yield from operation_lines(f"path {method.upper()} /auth{path}", operation)
    for name, schema in COMPONENTS["schemas"].items():
        if not name.endswith("Problem") or name == "Problem":
            yield f"schema {name}"
            for field in fields(schema):
                yield f"schema {name} | {field}"
    for problem in problems():
        for code in problem.codes:
            yield f"code {problem.status} {code}"
    seen = section(PAGES["docs/users.md"], "The current user")
    for key in re.findall(r'`environ\["([\w.]+)"\]`', seen):
        yield f"environ {key}"


def operation_lines(line, operation):
    """Yield the lines of one method of a path: what a client can send, by name."""
    yield line
    for parameter in map(resolved, operation.get("parameters", ())):
        if parameter["in"] != "path":
            yield f"{line} | {parameter['in']} {parameter['name']}"
    for content in operation.get("requestBody", {}).get("content", {}).values():
        for field in fields(content["schema"]):
            yield f"{line} | request {field.partition(':')[0]}"


def fields(schema, before=""):
    """Yield the fields of an object, also of the objects in it."""
    schema = resolved(schema)
    for part in (*schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ())):
        if not before or "$ref" not in part:
            yield from fields(part, before)
    if schema.get("type") == "array":
        yield from fields(schema["items"], f"{before}[].")
    for name, found in schema.get("properties", {}).items():
        needed = ", required" if name in schema.get("required", ()) else ""
        yield f"{before}{name}: {kind(found)}{needed}"
        if "$ref" not in found and "$ref" not in found.get("items", {}):
            yield from fields(found, f"{before}{name}.")


def kind(schema):
    """Return the type of a value in one or a few words."""
    if "$ref" in schema:
        return schema["$ref"].rpartition("/")[2]
    for choice in ("oneOf", "anyOf", "allOf"):
        if choice in schema:
            return " or ".join(map(kind, schema[choice]))
    if values(schema):
        return " ".join(map(word, values(schema)))
    if schema.get("type") == "array":
        return f"list of {kind(schema['items'])}"
    found = schema.get("type", "anything")
    return found if isinstance(found, str) else " or ".join(found)


def word(value):
    """Return a value as one word, in quotes if it would not be one."""
    is_word = isinstance(value, str) and re.fullmatch(r"\S+", value)
    return value if is_word else json.dumps(value)


def values(schema):
    """Return the values that a schema allows, if it lists them."""
    return schema.get("enum", [schema["const"]] if "const" in schema else [])


def resolved(found):
    """Return what a reference leads to."""
    while "$ref" in found:
        _, group, name = found["$ref"].rsplit("/", 2)
        found = COMPONENTS[group][name]
    return found
