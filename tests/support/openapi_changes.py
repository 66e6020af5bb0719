"""What an OpenAPI document says, without how it is written, and how two documents differ.

`python -m tests.support.openapi_changes before.json after.json` prints the differences: references
are followed, a response is its statuses, codes, members and headers, and prose is compared apart.
"""

import json
import sys
from pathlib import Path

PROSE = {"description", "summary", "examples", "example", "x-browser"}
OF_REQUESTS = ("requestBody", "parameters", "security", "tags", "operationId")


def resolved(document, value, seen=()):
    """Return a value with every reference followed, except those in a circle."""
    if isinstance(value, list):
        return [resolved(document, each, seen) for each in value]
    if not isinstance(value, dict):
        return value
    reference = value.get("$ref")
    if reference is not None:
        if reference in seen:
            return {"$ref": reference}
        target = document
        for part in reference.removeprefix("#/").split("/"):
            target = target[part]
        return resolved(
            document, target | {n: v for n, v in value.items() if n != "$ref"}, (*seen, reference)
        )
    found = {name: resolved(document, each, seen) for name, each in value.items()}
    return joined(found)


def joined(schema):
    """Return a schema whose parents, in `allOf`, are one object with its own members."""
    parents = schema.get("allOf")
    if parents is None:
        return schema
    members, required = {}, set()
    for each in parents:
        members |= each.get("properties", {})
        required |= {*each.get("required", ())}
    return {"type": "object", "properties": members, "required": sorted(required)}


def without_prose(value):
    """Return a value without sentences and examples, and with lists whose order has no meaning."""
    if isinstance(value, list):
        return [without_prose(each) for each in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, each in value.items():
        if name == "properties":
            found[name] = {member: without_prose(of) for member, of in each.items()}
        elif name in PROSE and not isinstance(each, dict):
            continue
        elif name in ("required", "enum") and isinstance(each, list):
            if each:
                found[name] = sorted(each, key=str)
        else:
            found[name] = without_prose(each)
    return found


def facts(document):
    """Yield each fact of a document: where it is, and what it says."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            where = f"{method.upper()} {path}"
            for name in OF_REQUESTS:
                value = without_prose(resolved(document, operation.get(name)))
                yield from leaves(f"{where} {name}", value)
            for status, response in operation["responses"].items():
                response = resolved(document, response)
                yield from leaves(
                    f"{where} {status} headers", without_prose(response.get("headers", {}))
                )
                content = response.get("content", {None: {}})
                for media_type, body in content.items():
                    schema = without_prose(body.get("schema", {}))
                    yield from leaves(f"{where} {status} {media_type}", schema)


def prose(document):
    """Yield each sentence of a document that is not of a response with problem details."""
    for path, item in document["paths"].items():
        for method, operation in item.items():
            where = f"{method.upper()} {path}"
            for name in ("summary", "description", "x-browser"):
                yield f"{where} {name}", operation.get(name)
            for name in ("requestBody", "parameters"):
                yield (
                    f"{where} {name}",
                    json.dumps(resolved(document, operation.get(name)), sort_keys=True),
                )
            for status, response in operation["responses"].items():
                response = resolved(document, response)
                yield f"{where} {status}", response["description"]
                if int(status) < 400:
                    yield (
                        f"{where} {status} content",
                        json.dumps(response.get("content"), sort_keys=True),
                    )


def leaves(where, value):
    """Yield the leaves of a value, with their places."""
    if isinstance(value, dict) and value:
        for name, each in value.items():
            yield from leaves(f"{where}/{name}", each)
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        for number, each in enumerate(value):
            yield from leaves(f"{where}/{each.get('name', number)}", each)
    else:
        yield where, json.dumps(value)


def differences(before, after, what=facts):
    """Yield what only one of two documents says."""
    former, present = dict(what(before)), dict(what(after))
    for where in sorted({*former, *present}):
        if former.get(where) != present.get(where):
            yield where, former.get(where), present.get(where)


def main(before, after):
    """Print the differences."""
    documents = [json.loads(Path(each).read_text(encoding="utf-8")) for each in (before, after)]
    for title, what in (("Meaning", facts), ("Prose", prose)):
        print(f"## {title}")
        for where, former, present in differences(*documents, what):
            print(f"- {where}\n    before: {former}\n    after:  {present}")


if __name__ == "__main__":
    main(*sys.argv[1:])
