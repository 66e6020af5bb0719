"""JSON Schemas (draft 2020-12) and other objects of an OpenAPI 3.1 document.

A `Component` has a name in the document: wherever it stands, the document has a reference to it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

Schema = Mapping[str, Any]  # a JSON Schema, in which components stand for references


@dataclass(frozen=True, eq=False)
class Component(Mapping[str, Any]):
    """An object that the document has once, in its `components`.

    Attributes:
        kind: The member of `components`: `schemas`, `responses`, `headers` and so on.
        name: In that member. Two components of a kind cannot have the same name.
        value: Its content, in which further components can stand.

    Example:
        BADGE: Component = obj("Badge", name=text())
    """

    kind: str
    name: str
    value: Mapping[str, Any]

    def __getitem__(self, key: str) -> Any:
        """Return a member of the content."""
        return self.value[key]

    def __iter__(self) -> Any:
        """Iterate over the names of the members."""
        return iter(self.value)

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.value)

    @property
    def reference(self) -> dict[str, str]:
        """What stands for it in the document."""
        return {"$ref": f"#/components/{self.kind}/{self.name}"}


def text(about: str = "", **keywords: Any) -> dict[str, Any]:
    """Return the schema of a string; `keywords` are those of JSON Schema.

    Example:
        name = text("The name of the badge.", maxLength=50)
    """
    return _schema("string", about, keywords)


def time(about: str = "", **keywords: Any) -> dict[str, Any]:
    """Return the schema of a moment (RFC 3339).

    Example:
        given_at = time("When the user got it.")
    """
    return _schema("string", about, {"format": "date-time", **keywords})


def integer(about: str = "", **keywords: Any) -> dict[str, Any]:
    """Return the schema of a whole number.

    Example:
        colour = integer("The number of the colour.", minimum=1)
    """
    return _schema("integer", about, keywords)


def row_id(about: str = "", **keywords: Any) -> dict[str, Any]:
    """Return the schema of the number of a user or a group.

    Example:
        owner = row_id("The number of the user.")
    """
    return integer(about, format="int64", minimum=1, **keywords)


def boolean(about: str = "", **keywords: Any) -> dict[str, Any]:
    """Return the schema of true and false.

    Example:
        is_public = boolean("Whether everyone sees it.")
    """
    return _schema("boolean", about, keywords)


def array(items: Schema, about: str = "", **keywords: Any) -> dict[str, Any]:
    """Return the schema of a list.

    Example:
        names = array(text(), "The badges of the user.")
    """
    return _schema("array", about, {"items": items, **keywords})


def nullable(schema: Schema) -> dict[str, Any]:
    """Return the schema of a value that can be null.

    Example:
        given_by = nullable(row_id("The member of the staff, or null."))
    """
    return {**schema, "type": [schema["type"], "null"]}


class Optional(NamedTuple):
    """A member that an object can lack.

    Example:
        BADGE = obj("BadgeWithColour", name=text(), colour=Optional(integer()))
    """

    schema: Schema


def object_of(**members: Schema | Optional) -> dict[str, Any]:
    """Return the schema of an object.

    Example:
        badge = object_of(name=text(), given_at=time())
    """
    required = [name for name, each in members.items() if not isinstance(each, Optional)]
    properties = {
        name: each.schema if isinstance(each, Optional) else each for name, each in members.items()
    }
    return {"type": "object", "required": required, "properties": properties}


def schema(name: str, value: Schema) -> Component:
    """Return a schema with a name.

    Example:
        COLOUR = schema("Colour", {"enum": ["green", "red"]})
    """
    return Component("schemas", name, value)


def obj(name: str, /, *parents: Component, **members: Schema | Optional) -> Component:
    """Return the schema of an object with a name, perhaps with all members of others.

    Example:
        BADGE = obj("Badge", name=text("The name of the badge."))
    """
    own = object_of(**members)
    return schema(name, {"allOf": [*parents, own]} if parents else own)


def header(name: str, about: str, value: Schema, **further: Any) -> Component:
    """Return the description of a header; `required` is true unless `further` says otherwise.

    Example:
        LEFT = header("BadgesLeft", "How many badges are left.", {"type": "integer"})
    """
    described = {"description": about, "required": True, "schema": value, **further}
    if not described["required"]:
        del described["required"]
    return Component("headers", name, described)


def query(name: str, about: str, value: Schema, **further: Any) -> dict[str, Any]:
    """Return a parameter of the query.

    Example:
        colour = query("colour", "Only badges of this colour.", {"type": "integer"})
    """
    return {"name": name, "in": "query", "description": about, "schema": value, **further}


def in_path(name: str, about: str, value: Schema, **further: Any) -> dict[str, Any]:
    """Return a named part of the path.

    Example:
        name = in_path("name", "The name of the badge.", {"type": "string"})
    """
    parameter = {"name": name, "in": "path", "required": True, "description": about}
    return {**parameter, "schema": value, **further}


def parameter(component: str, value: Mapping[str, Any]) -> Component:
    """Return a parameter with a name in the document.

    Example:
        COLOUR = parameter("BadgeColour", query("colour", "Only these.", {"type": "integer"}))
    """
    return Component("parameters", component, value)


def _schema(kind: str, about: str, keywords: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": kind, **({"description": about} if about else {}), **keywords}
