"""Parses requests: the body (of limited size), forms, JSON, the query and `Accept`.

No length, encoding or type that the client declares is trusted. Malformed input raises a
`RequestError` with the status 400, and a body 411 without a length, 413 if it is too long, or 415
for its type.
"""

import json
from collections import Counter
from collections.abc import Collection, Sequence
from http import HTTPStatus
from urllib.parse import parse_qsl
from wsgiref.types import WSGIEnvironment

from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.messages import _, ngettext

MAX_BODY = 16 * 1024  # bytes
MAX_BRACKETS = 500  # in JSON: enough for every endpoint, and too few to exhaust Python's stack
MAX_FIELDS = 20  # of a form
MAX_LIST = 100  # further fields of a form with a list
MAX_QUERY = 12_288  # characters: the longest `next`, and short fields beside it
MAX_QUERY_FIELDS = 20
MAX_ACCEPT = 4096  # characters

IS_NAVIGATION = "wsgiauth.is_navigation"  # in the environ: see `Endpoint.is_navigation`

JSON = "application/json"
FORM = "application/x-www-form-urlencoded"
QUERY = "query"  # in the errors: the query as a whole

# The byte order mark of UTF-8, and the white space of RFC 8259 section 2.
_BEFORE_JSON = b"\xef\xbb\xbf \t\r\n"


def prefers_html(environ: WSGIEnvironment) -> bool:
    """Return whether the client prefers HTML to JSON (RFC 9110 section 12.5.1).

    Browsers do. Programs that accept anything, or send no `Accept`, get JSON.

    Example:
        template = "badges.html" if prefers_html(environ) else ""
    """
    if IS_NAVIGATION in environ:
        return True
    html, json_ = _qualities(environ, named="html")
    return html > json_


def asks_for_json(environ: WSGIEnvironment) -> bool:
    """Return whether `Accept` names JSON and does not rank HTML above it.

    For responses to forms, where a client that accepts anything counts as a browser.
    """
    html, json_ = _qualities(environ, named="json")
    return json_ > 0 and json_ >= html


def is_by_script(environ: WSGIEnvironment) -> bool:
    """Return whether a script of a page sent the request, not a browser that opens a page.

    jQuery and others send X-Requested-With; Android's WebView sends it with the name of its app.
    The mode `same-origin` does not prove a script: a service worker that changes the request of a
    navigation turns `navigate` into it (Fetch standard, section 5.4, the constructor of Request).
    """
    if environ.get("HTTP_SEC_FETCH_MODE") == "cors":
        return True
    requested_with: str = environ.get("HTTP_X_REQUESTED_WITH", "")
    return requested_with.lower() == "xmlhttprequest"


def content_type(environ: WSGIEnvironment) -> str:
    """Return the body's media type: `JSON` or `FORM`."""
    header: str = environ.get("CONTENT_TYPE", "")
    media_type, _semicolon, parameters = header.partition(";")
    media_type = media_type.strip().lower()
    if media_type not in (JSON, FORM):
        raise _unsupported(
            _("The Content-Type must be %(json)s or %(form)s.", json=JSON, form=FORM)
        )
    for parameter in parameters.split(";"):
        name, _equals, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(' "').lower() != "utf-8":
            raise malformed(_("The charset must be UTF-8."))
    return media_type


def read_body(environ: WSGIEnvironment, most: int = MAX_BODY) -> bytes:
    """Return the whole body, of at most so many bytes."""
    declared = environ.get("CONTENT_LENGTH", "")
    if declared == "" and environ.get("wsgi.input_terminated"):
        expected, limit = None, most + 1  # chunked; the server marks its end
    elif declared == "":
        raise RequestError(
            HTTPStatus.LENGTH_REQUIRED, "length_required", _("Send a Content-Length.")
        )
    elif not (declared.isascii() and declared.isdigit()):
        raise malformed(_("Content-Length must be a number."))
    elif len(declared) > 9 or int(declared) > most:
        raise too_large(most)
    else:
        expected = limit = int(declared)
    body = _read_at_most(environ, limit)
    if len(body) > most:
        raise too_large(most)
    if expected is not None and len(body) < expected:
        raise malformed(_("The body is shorter than its Content-Length."))
    return body


def read_json(environ: WSGIEnvironment) -> dict[str, object]:
    """Return the JSON object in the body (RFC 8259)."""
    try:
        document = read_json_text(read_body(environ))
    except ValueError:
        raise malformed(_("The body is not well-formed JSON in UTF-8.")) from None
    if not isinstance(document, dict):
        raise malformed(_("The body must be a JSON object."))
    return document


def read_json_text(body: bytes) -> object:
    """Return the value of a JSON text in UTF-8. Its numbers become floats.

    Raises:
        ValueError: The text is malformed, repeats a name, has a number that is too large, NaN or
            Infinity, or is nested too deeply.
    """
    text = body.decode()
    if has_many_brackets(text):
        raise ValueError("nested too deeply")
    document: object = json.loads(
        text,
        parse_constant=_refuse,  # NaN and Infinity, which are not JSON
        parse_int=_bounded_number,
        parse_float=_bounded_number,
        object_pairs_hook=_unambiguous,
    )
    # An escaped lone surrogate cannot be encoded for a database or a response.
    json.dumps(document, ensure_ascii=False).encode()
    return document


def has_many_brackets(text: str) -> bool:
    """Return whether JSON could exhaust Python's stack, whose size depends on the version."""
    return text.count("[") + text.count("{") > MAX_BRACKETS


def read_form(
    environ: WSGIEnvironment, lists: Collection[str] = (), *, most: int = MAX_BODY
) -> dict[str, object]:
    """Return the fields of a URL-encoded form of at most so many bytes.

    Fields in `lists` are lists of strings, and can be repeated or missing. All others are strings.
    JSON is refused with 415, because `curl --data` sends it with the type of a form. In a form,
    brackets are percent-encoded.
    """
    body = read_body(environ, most)
    if body.lstrip(_BEFORE_JSON).startswith((b"{", b"[")):
        header = f"Content-Type: {JSON}"
        raise _unsupported(
            _("The body is JSON. Send it with the header %(header)s.", header=header)
        )
    try:
        pairs = parse_qsl(
            body.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_FIELDS + (MAX_LIST if lists else 0),
        )
        fields = _unambiguous([pair for pair in pairs if pair[0] not in lists])
    except ValueError:
        raise malformed(_("The body is not a well-formed form in UTF-8.")) from None
    return fields | {name: [text for field, text in pairs if field == name] for name in lists}


def malformed(detail: str) -> RequestError:
    """Return the error for a request that cannot be read."""
    return RequestError(HTTPStatus.BAD_REQUEST, "malformed", detail)


def text_field(fields: dict[str, object], name: str) -> str:
    """Return the string in a field, or "". A list would reach a query as `IN (…)`."""
    value = fields.get(name, "")
    if not isinstance(value, str):
        raise malformed(_("The field %(field)s must be a string.", field=name))
    return value


def flag_field(fields: dict[str, object], name: str) -> bool:
    """Return the boolean in a field of JSON, or whether a form's checkbox was ticked."""
    value = fields.get(name, False)
    if value in ("on", "") and isinstance(value, str):
        return value == "on"
    if not isinstance(value, bool):
        raise malformed(_("The field %(field)s must be true or false.", field=name))
    return value


def number_field(fields: dict[str, object], name: str, *, is_json: bool) -> str:
    """Return the digits of a whole number in JSON, the string in a form, or ""."""
    if not is_json or name not in fields:
        return text_field(fields, name)
    value = fields[name]
    if not (isinstance(value, float) and value.is_integer()):  # see `_bounded_number`
        raise malformed(_("The field %(field)s must be a whole number.", field=name))
    return str(int(value))


def list_field(fields: dict[str, object], name: str) -> list[str]:
    """Return the strings in a field, or an empty list."""
    value = fields.get(name, [])
    if not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        raise malformed(_("The field %(field)s must be a list of strings.", field=name))
    return value


def list_fields(
    fields: dict[str, object], names: Collection[str], numbers: Collection[str], *, is_json: bool
) -> dict[str, list[str]]:
    """Return lists of strings, and lists of digits as of `number_field`."""
    lists = {name: list_field(fields, name) for name in names}
    for name in numbers:
        lists[name] = _number_list(fields, name) if is_json else list_field(fields, name)
    return lists


def query_field(environ: WSGIEnvironment, name: str) -> str:
    """Return the first value of a field in the query, or "", also if the query is malformed.

    Example:
        name = query_field(environ, "name")
    """
    try:
        pairs = _read_query(environ)
    except ValueError:
        return ""
    return next((value for field, value in pairs if field == name), "")


def query_fields(environ: WSGIEnvironment, names: Collection[str]) -> dict[str, str]:
    """Return fields in the query, each "" if it is missing.

    For filters: a filter that is ignored would select more than the client asked for.
    """
    return query_form(environ, names, ())[0]


def query_form(
    environ: WSGIEnvironment, names: Collection[str], lists: Collection[str]
) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return `query_fields`, and the lists of fields that can be repeated.

    Raises:
        ValidationError: The query is malformed, or repeats another field.
    """
    most = MAX_QUERY_FIELDS + (MAX_LIST if lists else 0)
    try:
        pairs = _read_query(environ, most)
    except ValueError:
        message = ngettext(
            "The query must be percent-encoded UTF-8, with at most %(characters)s characters and"
            " %(num)s field.",
            "The query must be percent-encoded UTF-8, with at most %(characters)s characters and"
            " %(num)s fields.",
            most,
            characters=MAX_QUERY,
        )
        raise ValidationError({QUERY: [message]}) from None
    counts = Counter(field for field, _value in pairs)
    repeated = [name for name in names if counts[name] > 1]
    if repeated:
        raise ValidationError(
            {name: [_("%(field)s is given more than once.", field=name)] for name in repeated}
        )
    given = dict(pairs)
    repeatable = {name: [text for field, text in pairs if field == name] for name in lists}
    return {name: given.get(name, "") for name in names}, repeatable


def _qualities(environ: WSGIEnvironment, *, named: str) -> tuple[float, float]:
    """Return the quality values of HTML and JSON in `Accept`; zeros if it lacks `named`.

    Types such as `application/vnd.pypi.simple.v1+json` (RFC 6839 section 3.1) count as JSON. pip
    ranks that type above HTML; browsers ask for no such type.
    """
    header: str = environ.get("HTTP_ACCEPT", "").lower()
    if named not in header or len(header) > MAX_ACCEPT:
        return 0, 0
    # Here, because programs ask for no HTML, and many applications do without WebOb.
    from webob.acceptparse import create_accept_header

    accept = create_accept_header(header)
    quality = dict(accept.acceptable_offers([JSON, "text/html"]))
    more = [q for name, q, *rest in accept.parsed or () if name.partition(";")[0].endswith("+json")]
    return quality.get("text/html", 0), max([quality.get(JSON, 0), *more])


def _read_at_most(environ: WSGIEnvironment, limit: int) -> bytes:
    parts = []
    try:
        while limit > 0:
            part = environ["wsgi.input"].read(limit)
            if not part:
                break
            parts.append(part)
            limit -= len(part)
    except (OSError, ValueError):  # the client disconnected, or sent a malformed chunk
        raise malformed(_("The body could not be read.")) from None
    return b"".join(parts)


def _unsupported(detail: str) -> RequestError:
    return RequestError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "unsupported_media_type", detail)


def too_large(most: int = MAX_BODY) -> RequestError:
    """Return the error for a body of more than so many bytes."""
    return RequestError(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
        "too_large",
        ngettext(
            "The body must not be longer than %(num)s byte.",
            "The body must not be longer than %(num)s bytes.",
            most,
        ),
    )


def _read_query(environ: WSGIEnvironment, most: int = MAX_QUERY_FIELDS) -> list[tuple[str, str]]:
    query = environ.get("QUERY_STRING", "")
    if len(query) > MAX_QUERY:
        raise ValueError("the query is too long")
    return parse_qsl(query, errors="strict", max_num_fields=most)


def _unambiguous(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a field is given twice")
    return fields


def _bounded_number(digits: str) -> float:
    # Parsing a long number would be slow, even in a field that no endpoint reads.
    number = float(digits) if len(digits) <= 40 else float("inf")
    if number == float("inf") or number == float("-inf"):
        raise ValueError("the number is too large")
    return number


def _number_list(fields: dict[str, object], name: str) -> list[str]:
    values = fields.get(name, [])
    if not (isinstance(values, list) and all(map(_is_exact, values))):
        raise malformed(_("The field %(field)s must be a list of whole numbers.", field=name))
    return [str(int(each)) for each in values]


def _is_exact(value: object) -> bool:
    """Return whether a value is a whole number that `_bounded_number` has not rounded."""
    return isinstance(value, float) and value.is_integer() and abs(value) < 2**53


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")
