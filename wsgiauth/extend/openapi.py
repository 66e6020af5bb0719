"""The words in which a feature describes its endpoints: `Feature.openapi` names its module.

A site imports that module only for /auth/openapi.json. Provisional, as `wsgiauth.extend`.

- Operations and their answers: `Operation`, `Answer`, `answer`, `answer_or_page`, `leads`, `page`
- JSON Schemas: `Schema`, `text`, `time`, `integer`, `row_id`, `boolean`, `array`, `nullable`,
  `object_of`, `Optional`; with a name in the document: `Component`, `schema`, `obj`
- Requests: `query`, `in_path`, `parameter`, `Body`; headers: `header`
- Who can send them: `Scheme`, `SESSION`, `SESSION_OR_KEY`, `PERHAPS_SESSION`. Groups: `Tag`
- What several endpoints have: the objects `DETAIL` and `DONE`, the strings `EMAIL`, `LABEL` and
  `USERNAME`, the parameter `NEXT`, the header `CLEARED_COOKIE`
- Failures: `Problem`, and those that several endpoints have: `APPLICATION_FAILED`, `INVALID`,
  `INVALID_QUERY`, `NOT_FRESH`, `NO_SESSION`, `TAKEN`, `THROTTLED`, with the header `RETRY_AFTER`.
  Redirects: `TO_CONFIRM`, `TO_LOGIN`, `TO_LOGIN_OR_CONFIRM`
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
from wsgiauth.openapi.objects import CLEARED_COOKIE, DETAIL, DONE, NEXT
from wsgiauth.openapi.problems import (
    APPLICATION_FAILED,
    INVALID,
    INVALID_QUERY,
    NO_SESSION,
    NOT_FRESH,
    RETRY_AFTER,
    TAKEN,
    THROTTLED,
    TO_CONFIRM,
    TO_LOGIN,
    TO_LOGIN_OR_CONFIRM,
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
from wsgiauth.openapi.strings import EMAIL, LABEL, USERNAME

__all__ = [
    "APPLICATION_FAILED",
    "CLEARED_COOKIE",
    "DETAIL",
    "DONE",
    "EMAIL",
    "INVALID",
    "INVALID_QUERY",
    "LABEL",
    "NEXT",
    "NOT_FRESH",
    "NO_SESSION",
    "PERHAPS_SESSION",
    "RETRY_AFTER",
    "SESSION",
    "SESSION_OR_KEY",
    "TAKEN",
    "THROTTLED",
    "TO_CONFIRM",
    "TO_LOGIN",
    "TO_LOGIN_OR_CONFIRM",
    "USERNAME",
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
