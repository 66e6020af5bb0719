"""The rules for the OpenAPI document."""

import ast
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from wsgiauth.testing.feature_rules.scene import MOUNT, Finding, Scene

_SENTENCES = re.compile(r"[^a-z\s].*[.:]|`.*\.", re.DOTALL)
_OPERATION_ID = re.compile(r"[a-z]+([A-Z][a-z0-9]*)*")


def check_document(scene: Scene) -> Iterator[Finding]:
    """Yield what the document lacks of the feature's URLs, and what it has beside them."""
    feature = scene.feature
    if not scene.endpoints:
        return
    if not feature.openapi:
        yield Finding("document", feature.name, "name the module of its OPERATIONS in `openapi`")
        return
    document = scene.program().client.get(f"{MOUNT}/openapi.json").json
    for place, advice in (
        *_classes(scene),
        *_operations(scene, document),
        *_answers(scene, document),
        *_codes_in_modules(scene, document),
    ):
        yield Finding("document", place, advice)


def _classes(scene: Scene) -> Iterator[tuple[str, str]]:
    urls = [each for feature in scene.site.features for each in feature.urls.values()]
    used = {kind for each in (*urls, *scene.endpoints.values()) for kind in type(each).__mro__}
    for kind in import_module(scene.feature.openapi).OPERATIONS:
        if kind not in used:
            yield kind.__name__, "OPERATIONS describe a class that no URL of the feature has"


def _operations(scene: Scene, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    ids = [each["operationId"] for path in document["paths"].values() for each in path.values()]
    for path, endpoint in scene.endpoints.items():
        described = document["paths"].get(path, {})
        for method in described.keys() ^ {each.lower() for each in endpoint.handlers}:
            is_extra = method in described
            advice = "no handler answers it" if is_extra else "OPERATIONS do not describe it"
            yield f"{method.upper()} {path}", advice
        for method, operation in described.items():
            place, name = f"{method.upper()} {path}", operation["operationId"]
            if ids.count(name) > 1 or not _OPERATION_ID.fullmatch(name):
                yield place, f"give it a unique id such as showBadge, instead of {name!r}"
            parameters = [_resolved(document, each) for each in operation.get("parameters", ())]
            answers = {
                status: _resolved(document, each) for status, each in operation["responses"].items()
            }
            for rule in (_words(operation, answers), _parts(path, parameters), _body(operation)):
                yield from ((place, advice) for advice in rule)


def _words(operation: Mapping[str, Any], answers: Mapping[str, Any]) -> Iterator[str]:
    if operation["summary"].endswith("."):
        yield "end the summary without a full stop"
    sentences = {"the description": operation["description"]}
    for status, each in answers.items():
        sentences[f"the description of {status}"] = each["description"]
    for name, text in sentences.items():
        if not _SENTENCES.fullmatch(text):
            yield f"write {name} as sentences, instead of {text!r}"


def _parts(path: str, parameters: list[Any]) -> Iterator[str]:
    described = {each["name"] for each in parameters if each["in"] == "path"}
    for name in described ^ {*re.findall(r"{(\w+)}", path)}:
        yield f"describe the part {name!r} of the path as a parameter, and no other one"


def _body(operation: Mapping[str, Any]) -> Iterator[str]:
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema, example = content["schema"], content.get("example", {})
        properties = schema.get("properties") or example  # of the body of another standard
        for name in example.keys() - properties.keys():
            yield f"the example has the member {name!r}, which is not in the `fields` of the form"
        for name in {*schema.get("required", ())} - (example or properties).keys():
            yield f"the example lacks {name!r}, which is required"


def _answers(scene: Scene, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Compare what the URLs have answered with what is described."""
    for drawn in sorted(scene.drawn):
        operation = document["paths"].get(drawn.path, {}).get(drawn.method.lower())
        if operation is None:  # which another rule has found
            continue
        response = _resolved(document, operation["responses"].get(drawn.status, {"content": {}}))
        content, place = response.get("content", {"": {}}), f"{drawn.method} {drawn.path}"
        if drawn.media_type not in content:
            yield place, f"it answers {drawn.status} {drawn.media_type}, which is not described"
        elif drawn.code and drawn.code not in {*_codes(document, content[drawn.media_type])}:
            yield place, f"describe the code {drawn.code} of {drawn.status} in a `Problem`"


def _codes_in_modules(scene: Scene, document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the codes of errors that no operation describes."""
    described = {*_codes(document, [*document["components"]["schemas"].values()])}
    statuses = {
        status
        for path in scene.endpoints
        for operation in document["paths"].get(path, {}).values()
        for status in operation["responses"]
    }
    for module, tree in scene.modules.items():
        for node in ast.walk(tree):
            match node:
                case ast.Call(ast.Name("RequestError"), [_, ast.Constant(str(code)), *_]):
                    if code not in described:
                        yield module, f"describe the code {code} in a `Problem`"
                case ast.Call(ast.Attribute(attr="attempt"), [_, _]):
                    if "429" not in statuses:
                        yield module, "describe the 429 of a `Limit` by THROTTLED in `refusals`"


def _resolved(document: Mapping[str, Any], described: Any) -> Any:
    """Return what an object is, or refers to."""
    if "$ref" not in described:
        return described
    found: Any = document
    for name in described["$ref"].split("/")[1:]:
        found = found[name]
    return found


def _codes(document: Mapping[str, Any], described: Any) -> Iterator[str]:
    """Yield the values of `code` in a schema, and in the schemas that it is made of."""
    if isinstance(described, list):
        for each in described:
            yield from _codes(document, each)
    elif isinstance(described, Mapping):
        schema = _resolved(document, described)
        code = schema.get("properties", {}).get("code", {})
        yield from code.get("enum", [code["const"]] if "const" in code else [])
        for name in ("schema", "allOf", "anyOf", "oneOf"):
            yield from _codes(document, schema.get(name))
