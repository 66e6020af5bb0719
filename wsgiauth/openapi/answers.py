"""What endpoints answer: the operations of the OpenAPI document, their responses and failures."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from wsgiauth.openapi.schemas import Component, Schema, header, schema

JSON, HTML, PROBLEM = "application/json", "text/html", "application/problem+json"
FORM = "application/x-www-form-urlencoded"

PAGE_POLICY = header(
    "PagePolicy",
    "In every answer: no scripts and no frames. A page loads its own style and sends forms to this"
    " site only; what is no page loads nothing.",
    {"type": "string", "pattern": "^default-src 'none'; "},
    required=False,
)
LOCATION = header(
    "Location",
    "A path of this site, or an https URL of a host in NEXT_HOSTS or of PUBLIC_URL, with its"
    " query.",
    {"type": "string", "pattern": "^(/|https://)"},
    example="/reports?year=1843",
)
HTML_PAGE = schema("Html", {"type": "string", "description": "A page, in UTF-8."})


class Scheme(NamedTuple):
    """How a request proves who sent it: a security scheme.

    Example:
        schemes: tuple[Scheme, ...] = SESSION
    """

    component: Component
    caller: str  # in words, for docs/endpoints.md


class Tag(NamedTuple):
    """A group of operations.

    Example:
        tag = Tag("badges", "The badges of users.")
    """

    name: str
    about: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Answer:
    """A response that is no failure.

    Attributes:
        about: Sentences.
        content: The schemas by media type; empty for a response without a body.
        headers: Further ones, by name.
        name: In the document; empty for a response of one operation alone.

    Example:
        def problems(method: str) -> tuple[Problem | Answer, ...]:
            return (NO_BADGES_LEFT, INVALID)
    """

    status: int
    about: str
    content: Mapping[str, Schema] = field(default_factory=dict)
    headers: Mapping[str, Schema] = field(default_factory=dict)
    name: str = ""


def answer(status: int, about: str, body: Schema, **headers: Schema) -> Answer:
    """Return a response with JSON alone.

    Example:
        created = answer(201, "The badge is given.", DETAIL)
    """
    return Answer(status=status, about=about, content={JSON: body}, headers=_named(headers))


def answer_or_page(about: str, body: Schema) -> Answer:
    """Return the response 200 with JSON or, for browsers, a page.

    Example:
        listed = answer_or_page("The badges.", obj("BadgeNames", names=array(text())))
    """
    return Answer(status=200, about=about, content={JSON: body, HTML: HTML_PAGE})


def page(about: str, **headers: Schema) -> Answer:
    """Return the response 200 with a page alone.

    Example:
        shown = page("The badge.")
    """
    return Answer(status=200, about=about, content={HTML: HTML_PAGE}, headers=_named(headers))


def leads(status: int, about: str, *, name: str = "", **headers: Schema) -> Answer:
    """Return a redirect.

    Example:
        led_on = leads(303, "To the badges.")
    """
    return Answer(
        status=status, about=about, headers={"Location": LOCATION, **_named(headers)}, name=name
    )


@dataclass(frozen=True, eq=False)
class Problem:
    """A failure, as problem details (RFC 9457) and as a page.

    Several of one status become one response of an operation, with all codes.

    Attributes:
        name: In the document; empty for one that adds nothing to the names of others.
        codes: The values of `code`, each with a sentence that says when.
        headers: Further ones, by name.
        has_errors: Whether it has messages by field.
        members: An object whose members it also has.

    Example:
        NO_BADGES_LEFT = Problem("NoBadgesLeft", 409, {"no_badges_left": "All badges are given."})
    """

    name: str
    status: int
    codes: Mapping[str, str]
    headers: Mapping[str, Schema] = field(default_factory=dict, kw_only=True)
    has_errors: bool = field(default=False, kw_only=True)
    members: Component | None = field(default=None, kw_only=True)


@dataclass(frozen=True, kw_only=True)
class Body:
    """The body of a request that is no form of this site.

    Example:
        body = Body(content={"text/csv": text()}, about="A badge a line.")
    """

    content: Mapping[str, Schema]
    about: str
    example: Mapping[str, Any] | None = None
    required: bool = True


@dataclass(frozen=True)
class Operation:
    """One method of one URL, in words.

    Its responses are `answers` and what the class of the endpoint says of failures; see
    `Endpoint.problems`.

    Attributes:
        id: Its name for generators of clients.
        summary: What it does, without a full stop.
        about: Sentences.
        answers: The responses that are no failures; () for the page of a form alone.
        browser: How a form is answered, where it is not only 303 to the next page.
        example: The body of a request.
        parameters: Of the path, the query and the headers.
        body: Of the request, if it is not that of a `Form`.
        tag: The group; the class of the endpoint knows a default.
        security: The schemes of which a request needs one; by default `Endpoint.security`.
        unmet: Further statuses for a session that does not meet a demand.

    Example:
        OPERATIONS = {Endpoint: {"get": Operation("listBadges", "The badges of the caller")}}
    """

    id: str
    summary: str
    about: str = "For browsers."
    answers: tuple[Answer, ...] = field(default=(), kw_only=True)
    browser: str = field(default="", kw_only=True)
    example: Mapping[str, Any] | None = field(default=None, kw_only=True)
    parameters: tuple[Mapping[str, Any], ...] = field(default=(), kw_only=True)
    body: Body | None = field(default=None, kw_only=True)
    tag: Tag | None = field(default=None, kw_only=True)
    security: tuple[Scheme | None, ...] | None = field(default=None, kw_only=True)
    unmet: tuple[int, ...] = field(default=(), kw_only=True)


@dataclass(frozen=True, kw_only=True)
class Addition:
    """What a feature adds to an operation of another one.

    Attributes:
        about: Sentences.
        answers: Further ones. One with the status of a failure has a name.
        security: Further schemes.
    """

    about: str
    answers: tuple[Answer, ...]
    security: tuple[Scheme | None, ...]

    def added_to(self, operation: Operation) -> Operation:
        """Return an operation with the addition."""
        return replace(
            operation,
            about=f"{operation.about} {self.about}",
            answers=(*operation.answers, *self.answers),
            security=(*(operation.security or ()), *self.security),
        )


def _named(headers: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return headers under their names on the wire."""
    return {name.replace("_", "-"): each for name, each in headers.items()}
