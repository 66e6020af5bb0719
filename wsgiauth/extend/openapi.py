"""The words in which a feature describes its endpoints: `Feature.openapi` names its module.

A site imports that module only for /auth/openapi.json. Provisional, as `wsgiauth.extend`.

- Operations and their answers: `Operation`, `Answer`, `answer`, `answer_or_page`, `leads`, `page`
- JSON Schemas: `Schema`, `text`, `time`, `integer`, `row_id`, `boolean`, `array`, `nullable`,
  `object_of`, `Optional`; with a name in the document: `Component`, `schema`, `obj`
- Requests: `query`, `in_path`, `parameter`, `Body`; headers: `header`
- Who can send them: `Scheme`, `SESSION`, `SESSION_OR_KEY`, `PERHAPS_SESSION`. Groups: `Tag`
- What several endpoints have: the object `DETAIL`, the parameter `NEXT`
- Failures: `Problem`, and those that several endpoints have: `APPLICATION_FAILED`, `INVALID`,
  `NOT_FRESH`, `NO_SESSION`, `THROTTLED`, with the header `RETRY_AFTER`
"""

from wsgiauth.openapi.answers import (
    Answer,
    Body,
    Operation,
    Problem,
    Scheme,
    Tag,
    answer,
    answer_or_page,
    leads,
    page,
)
from wsgiauth.openapi.callers import (
    PERHAPS_SESSION,
    SESSION,
    SESSION_OR_KEY,
)
from wsgiauth.openapi.objects import DETAIL, NEXT
from wsgiauth.openapi.problems import (
    APPLICATION_FAILED,
    INVALID,
    NO_SESSION,
    NOT_FRESH,
    RETRY_AFTER,
    THROTTLED,
)
from wsgiauth.openapi.schemas import (
    Component,
    Optional,
    Schema,
    array,
    boolean,
    header,
    in_path,
    integer,
    nullable,
    obj,
    object_of,
    parameter,
    query,
    row_id,
    schema,
    text,
    time,
)

__all__ = [
    "APPLICATION_FAILED",
    "DETAIL",
    "INVALID",
    "NEXT",
    "NOT_FRESH",
    "NO_SESSION",
    "PERHAPS_SESSION",
    "RETRY_AFTER",
    "SESSION",
    "SESSION_OR_KEY",
    "THROTTLED",
    "Answer",
    "Body",
    "Component",
    "Operation",
    "Optional",
    "Problem",
    "Schema",
    "Scheme",
    "Tag",
    "answer",
    "answer_or_page",
    "array",
    "boolean",
    "header",
    "in_path",
    "integer",
    "leads",
    "nullable",
    "obj",
    "object_of",
    "page",
    "parameter",
    "query",
    "row_id",
    "schema",
    "text",
    "time",
]
