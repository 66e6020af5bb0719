"""What a request says: its length, its form or JSON, and where it wants to go next."""

import contextlib
import io
import json
import time
from urllib.parse import urlencode

import pytest

from tests.support.sites import BROWSER
from tests.support.tables import row_by_row
from wsgiauth.exceptions import RequestError, ValidationError
from wsgiauth.web.request import (
    FORM,
    JSON,
    asks_for_json,
    content_type,
    flag_field,
    is_by_script,
    list_fields,
    prefers_html,
    query_field,
    query_fields,
    query_form,
    read_form,
    read_json,
    text_field,
)
from wsgiauth.web.urls import safe_next

LIMIT = 16 * 1024


class Stream(io.RawIOBase):
    """A client that sends without end, a little at a time, and counts what is taken."""

    def __init__(self):
        self.taken = 0

    def read(self, size):
        assert size > 0
        self.taken += min(size, 1000)
        return b"x" * min(size, 1000)


class BrokenStream(io.RawIOBase):
    """A client that goes away."""

    def __init__(self, error):
        self.error = error

    def read(self, size):
        raise self.error


def sent(body, length=None, **more):
    octets = body if isinstance(body, bytes) else body.encode()
    declared = str(len(octets)) if length is None else length
    return {"wsgi.input": io.BytesIO(octets), "CONTENT_LENGTH": declared, **more}


def json_of(length):
    return '{"username":"' + "x" * (length - len('{"username":""}')) + '"}'


def refusal(action, *arguments):
    with pytest.raises(RequestError) as caught:
        action(*arguments)
    return caught.value.status, caught.value.code


MALFORMED = (400, "malformed")
TOO_LARGE = (413, "too_large")


def test_html_is_for_clients_that_prefer_it():
    for accept, expected in (
        (BROWSER["Accept"], True),  # browser
        ("text/html", True),  # only HTML
        ("TEXT/HTML", True),  # upper case
        ("text/html;q=0.2", True),  # little but only HTML
        ("application/json;q=0.8, text/html", True),  # HTML before JSON
        ("", False),
        ("*/*", False),  # anything
        ("application/json", False),  # only JSON
        ("text/html, application/json", False),  # both alike
        ("text/html;q=0.8, application/json", False),  # JSON before HTML
        ("text/html;q=0.5, */*", False),  # anything before HTML
        (  # pip
            "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html; q=0.1,"
            " text/html; q=0.01",
            False,
        ),
        ('text/html;q=0.5, application/ld+json;profile="a"', False),  # JSON-LD
        ("application/ld+json;q=0.9, text/html", True),  # HTML before JSON-LD
        # Old browser
        ("application/xml,application/xhtml+xml,text/html;q=0.9,image/png,*/*;q=0.5", True),
        ("text/html;q=0", False),  # no HTML
        ("application/xhtml+xml", False),  # XHTML
        ("text/html;q=", False),  # malformed
        ("text/html, é", False),  # beyond ASCII
        ("text/html," + "a/b," * 1020 + "c/dddd", True),  # 4,096 characters
        ("text/html," + "a/b," * 1020 + "c/ddddd", False),  # 4,097 characters
    ):
        assert prefers_html({"HTTP_ACCEPT": accept}) is expected


def test_a_client_that_does_not_say_gets_json():
    assert not prefers_html({})


def test_a_script_says_that_it_is_one():
    for headers, expected in (
        ({}, False),  # neither header
        ({"HTTP_SEC_FETCH_MODE": "cors"}, True),  # fetch
        ({"HTTP_SEC_FETCH_MODE": "navigate"}, False),  # navigation
        ({"HTTP_SEC_FETCH_MODE": "same-origin"}, False),  # service worker
        ({"HTTP_X_REQUESTED_WITH": "XMLHttpRequest"}, True),  # jQuery
        ({"HTTP_X_REQUESTED_WITH": "xmlhttprequest"}, True),  # letter case
        ({"HTTP_X_REQUESTED_WITH": "org.example.app"}, False),  # WebView
    ):
        assert is_by_script(headers) is expected


def test_json_for_a_form_is_for_clients_that_name_it():
    for accept, expected in (
        ("application/json", True),  # JSON
        ("Application/JSON;q=0.1", True),  # JSON in another letter case
        ("application/json, text/plain, */*", True),  # axios
        ("application/json, text/html", True),  # both alike
        ("text/html, application/json;q=0.9", False),  # HTML rather
        ("*/*, application/json;q=0.9", False),  # anything rather
        ("application/json;q=0, */*", False),  # anything but JSON
        (BROWSER["Accept"], False),  # browser
        ("*/*", False),  # fetch and curl by default
        ("application/jsonp", False),  # another type
        ("", False),
        (f"application/json{' ' * 4096}", False),  # too long
    ):
        assert asks_for_json({"HTTP_ACCEPT": accept}) is expected


@pytest.mark.promise(19)
def test_json_and_forms_are_told_apart_by_their_type():
    for header, expected in (
        ("application/json", JSON),
        ("Application/JSON", JSON),
        ("application/json; charset=utf-8", JSON),
        ('application/json;charset="UTF-8"', JSON),
        (" application/json ; profile=x", JSON),
        ("application/x-www-form-urlencoded", FORM),
        ("application/x-www-form-urlencoded; charset=UTF-8", FORM),
        ("application/json;", JSON),
    ):
        assert content_type({"CONTENT_TYPE": header}) == expected


@pytest.mark.promise(19)
def test_any_other_type_is_answered_415():
    for header in (
        "",
        "text/plain",
        "text/json",  # another JSON
        "application/problem+json",  # problem
        "application/jsonp",  # longer
        "application",  # no subtype
        "multipart/form-data; boundary=x",  # files
        "application/json, text/plain",  # two types
        ";",  # only a separator
        "é",  # beyond ASCII
        "x" * 8192,  # 8 KiB
    ):
        assert refusal(content_type, {"CONTENT_TYPE": header}) == (415, "unsupported_media_type")


@pytest.mark.promise(19)
def test_no_type_at_all_is_answered_415():
    assert refusal(content_type, {}) == (415, "unsupported_media_type")


@pytest.mark.promise(19)
def test_another_charset_is_malformed():
    charsets = ("latin-1", "utf-16", "utf-7", "", '"', "utf-8, latin-1")
    for parameter in (
        *(f"charset={each}" for each in charsets),
        "CHARSET=latin-1",
        " charset =latin-1",
    ):
        for media_type in (JSON, FORM):
            header = f"{media_type};{parameter}"
            assert refusal(content_type, {"CONTENT_TYPE": header}) == MALFORMED, header


@pytest.mark.promise(19)
def test_the_second_of_two_charsets_counts_too():
    header = f"{JSON}; charset=utf-8; charset=utf-16"
    assert refusal(content_type, {"CONTENT_TYPE": header}) == MALFORMED


@pytest.mark.promise(19)
def test_json_is_read():
    for document in (
        {"username": "Ada", "password": "four words"},
        {"username": "Zoë 👩 \u0000"},
        {},
        {"more": [1, 2.5, True, None, {"deep": []}]},
        {"username": "{" * 150, "password": "[" * 72},
    ):
        for ensure_ascii in (True, False):
            assert read_json(sent(json.dumps(document, ensure_ascii=ensure_ascii))) == document


@pytest.mark.promise(19)
def test_malformed_json_is_refused():
    for body in (
        "",
        "username=Ada",  # form
        '{"username":',  # cut off
        '{"username": "Ada"} {}',  # two documents
        "{'username': 'Ada'}",  # single quotes
        '{"username": "a\nb"}',  # raw line feed
        '["username"]',  # list
        '"username"',  # text
        "7",
        "null",
        '{"a": NaN}',
        '{"a": Infinity}',
        '{"a": -Infinity}',
        '{"a": 1e999}',  # infinite float
        '{"a": -1e999}',  # minus infinite float
        '{"a": ' + "9" * 41 + "}",  # integer of 41 digits
        '{"a": ' + "9" * 5000 + "}",  # integer of 5,000 digits
        '{"a": 0.' + "9" * 5000 + "}",  # float of 5,000 digits
        "[" * 8000 + "]" * 8000,  # deep lists
        '{"a":' * 2500 + "1" + "}" * 2500,  # deep objects
        '{"a":' + "[" * 5000,  # deep and cut off
        '{"a": [' + "[], " * 500 + "1]}",  # many lists
        '{"username": "\\ud800"}',  # high surrogate
        '{"username": "\\udc00\\ud800"}',  # surrogates in the wrong order
        '{"\\udfff": "Ada"}',  # surrogate in a name
        '{"a": [{"b": "\\ud800"}]}',  # surrogate further in
        '{"a": "x", "a": "y"}',  # a name twice
        '{"a": {"b": 1, "b": 1}}',  # a name twice further in
        b'{"username": "\xff"}',  # no UTF-8
        b'{"username": "\xed\xa0\x80"}',  # surrogate in UTF-8
        b'{"username": "\xc0\x80"}',  # overlong UTF-8
        '{"a": "x"}'.encode("utf-16"),  # UTF-16
        '{"a": "x"}'.encode("utf-8-sig"),  # byte order mark
        b"\0" * 100,  # NUL
    ):
        assert refusal(read_json, sent(body)) == MALFORMED


@pytest.mark.promise(15)
@row_by_row("opening", ["[", "{"])
def test_json_has_500_brackets_at_most(opening):
    text = opening * 499  # one more is the object's own
    assert read_json(sent(json.dumps({"a": text}))) == {"a": text}
    assert refusal(read_json, sent(json.dumps({"a": text + opening}))) == MALFORMED


@pytest.mark.promise(19)
def test_a_form_is_read():
    for body, fields in (
        ("username=Ada&password=x", {"username": "Ada", "password": "x"}),  # fields
        ("password=four+%26+%2B", {"password": "four & +"}),  # escapes
        ("username=Zo%C3%AB", {"username": "Zoë"}),  # UTF-8
        ("next=&username", {"next": "", "username": ""}),  # blank values
        ("a=1=2", {"a": "1=2"}),  # equals sign in a value
        ("a=1;b=2", {"a": "1;b=2"}),  # semicolon
        ("", {}),
        # 20 fields
        ("&".join(f"f{n}=" for n in range(20)), dict.fromkeys(map("f{}".format, range(20)), "")),
    ):
        assert read_form(sent(body)) == fields


@pytest.mark.promise(19)
def test_a_malformed_form_is_refused():
    for body in (
        "username=%FF",  # no UTF-8
        "username=%ED%A0%80",  # surrogate
        "%FF=Ada",  # no UTF-8 in a name
        "username=Zoë",  # not escaped
        b"username=\xff",  # raw byte
        "username=a&username=b",  # a field twice
        "&" * 8192,  # only separators
    ):
        assert refusal(read_form, sent(body)) == MALFORMED


@pytest.mark.promise(19)
def test_json_with_the_type_of_a_form_is_told_its_header():
    for body in (
        '{"username": "Ada"}',  # an object
        '{"token": "a=1&b=2"}',  # separators of a form
        '{"username": "Zoë"}',  # not ASCII
        '["Ada"]',  # an array
        "{username: Ada}",  # quotation marks lost in a shell
        ' \t\r\n{"username": "Ada"}',  # white space
        '\N{BYTE ORDER MARK}{"username": "Ada"}',  # a byte order mark
    ):
        with pytest.raises(RequestError, match="header Content-Type: application/json") as caught:
            read_form(sent(body))
        assert (caught.value.status, caught.value.code) == (415, "unsupported_media_type")


@pytest.mark.promise(19)
def test_a_form_can_have_brackets_but_not_first():
    for body in (urlencode({"{": "["}), "a={", "a=[1]&{", "+{", "\v{"):
        assert read_form(sent(body))


@pytest.mark.promise(15)
def test_a_field_of_a_form_that_is_a_list_can_be_given_often_or_not_at_all():
    assert read_form(sent(b"a=1&b=2&b=3"), ["b", "c"]) == {"a": "1", "b": ["2", "3"], "c": []}
    assert refusal(lambda request: read_form(request, ["b"]), sent(b"a=1&a=2")) == MALFORMED


def test_a_form_has_20_fields_at_most():
    fields = {f"field{number}": "" for number in range(20)}
    assert read_form(sent(urlencode(fields))) == fields
    assert refusal(read_form, sent(urlencode(fields | {"more": ""}))) == MALFORMED


@pytest.mark.promise(15)
@row_by_row("length", [LIMIT, f"0{LIMIT}"])
def test_a_body_may_have_16_kib(length):
    assert len(read_json(sent(json_of(LIMIT), str(length)))["username"]) == LIMIT - 15


@pytest.mark.promise(15)
def test_a_body_that_is_declared_too_large_is_not_read():
    for length in (LIMIT + 1, 10**9, 10**18, "9" * 5000):
        stream = Stream()
        environ = {"wsgi.input": stream, "CONTENT_LENGTH": str(length)}
        assert refusal(read_form, environ) == TOO_LARGE
        assert stream.taken == 0


@pytest.mark.promise(15)
def test_a_length_that_is_no_number_is_malformed():
    for length in ("-1", "+5", "5.0", "0x5", "five", "5, 5", " 5", "5\n", "0_5", "²", "\u0665"):
        assert refusal(read_form, sent("a=bcd", length)) == MALFORMED


@pytest.mark.promise(15)
@row_by_row("missing", [{}, {"CONTENT_LENGTH": ""}], ids=["missing", "empty"])
def test_without_a_length_nothing_is_read(missing):
    stream = Stream()
    assert refusal(read_json, {"wsgi.input": stream, **missing}) == (411, "length_required")
    assert stream.taken == 0


@pytest.mark.promise(15)
@row_by_row("length", ["3", "16384"])
def test_a_body_shorter_than_its_length_is_malformed(length):
    assert refusal(read_json, sent("{}", length)) == MALFORMED


@pytest.mark.promise(15)
def test_a_body_longer_than_its_length_is_read_up_to_it():
    environ = sent('{"username": "Ada"}{"username": "Eve"}', "19")
    assert read_json(environ) == {"username": "Ada"}
    assert environ["wsgi.input"].tell() == 19


@pytest.mark.promise(15)
def test_a_body_that_arrives_in_parts_is_read_whole():
    stream = Stream()
    form = read_form({"wsgi.input": stream, "CONTENT_LENGTH": str(LIMIT)})
    assert form == {"x" * LIMIT: ""}


@pytest.mark.promise(15)
def test_a_body_in_chunks_is_read_to_its_end():
    environ = sent(json_of(LIMIT), "", **{"wsgi.input_terminated": True})
    assert len(read_json(environ)["username"]) == LIMIT - 15


@pytest.mark.promise(15)
def test_chunks_beyond_16_kib_are_refused():
    environ = sent(json_of(LIMIT + 1), "", **{"wsgi.input_terminated": True})
    assert refusal(read_json, environ) == TOO_LARGE


@pytest.mark.promise(15)
def test_chunks_without_end_are_read_to_one_byte_past_the_limit():
    stream = Stream()
    environ = {"wsgi.input": stream, "wsgi.input_terminated": True}
    assert refusal(read_form, environ) == TOO_LARGE
    assert stream.taken == LIMIT + 1


@pytest.mark.promise(15)
def test_a_body_that_breaks_off_is_malformed():
    for error in (OSError("gone"), ConnectionResetError(), ValueError("bad chunk")):
        for framing in ({"CONTENT_LENGTH": "5"}, {"wsgi.input_terminated": True}):
            environ = {"wsgi.input": BrokenStream(error), **framing}
            assert refusal(read_json, environ) == MALFORMED, environ


@pytest.mark.promise(15)
@pytest.mark.promise(19)
@pytest.mark.parametrize("path", ["/auth/login", "/auth/register"])
def test_what_cannot_be_read_is_answered_by_a_problem(client, path):
    for body, headers, status in (
        (b"{", {"Content-Type": JSON}, 400),
        (b"x" * (LIMIT + 1), {"Content-Type": JSON}, 413),
        (b"{}", {"Content-Type": JSON, "Content-Length": "3"}, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"a=%FF", {"Content-Type": FORM}, 400),
    ):
        answer = client.post(path, body, headers=headers, status=status)
        assert answer.content_type == "application/problem+json"
        assert answer.json["status"] == status


@pytest.mark.promise(11)
def test_a_field_that_is_no_text_is_malformed():
    for value in (["Ada"], {"a": "b"}, 7, 7.5, True, None):
        assert refusal(text_field, {"username": value}, "username") == MALFORMED


@pytest.mark.promise(11)
def test_a_flag_that_is_no_boolean_is_malformed():
    for value in ("yes", "true", 1, 0, None, []):
        assert refusal(flag_field, {"remember": value}, "remember") == MALFORMED


@pytest.mark.promise(11)
def test_a_list_that_is_not_of_exact_whole_numbers_is_malformed():
    def read(fields):
        return list_fields(fields, [], ["users"], is_json=True)

    for users in ("1", 1.0, ["1"], [1.5], [True], [None], [2.0**53], {"1": 1.0}, None):
        assert refusal(read, {"users": users}) == MALFORMED


def test_lists_of_strings_and_of_numbers_are_read():
    fields = {"names": ["a"], "users": [1.0, 2.0**53 - 1]}
    lists = list_fields(fields, ["names", "others"], ["users", "keys"], is_json=True)
    assert lists == {"names": ["a"], "others": [], "users": ["1", str(2**53 - 1)], "keys": []}
    of_form = list_fields({"users": ["1", "x"]}, [], ["users"], is_json=False)
    assert of_form == {"users": ["1", "x"]}


@pytest.mark.promise(11)
def test_a_field_that_is_missing_is_empty():
    assert text_field({"usernam": "Ada"}, "username") == ""


def test_a_field_of_the_query_is_read():
    for query, expected in (
        ("next=%2Fa%3Fb", "/a?b"),  # escaped
        ("a=b&next=/a", "/a"),  # among others
        ("next=/a&next=/b", "/a"),  # the first of two
        ("next=", ""),
        ("Next=/a", ""),  # another case
        ("", ""),  # no query
        ("next=%FF", ""),  # no UTF-8
        ("next=/a" + "&" * 19, "/a"),  # 20 fields
        ("next=/a" + "&" * 20, ""),  # 21 fields
        ("next=/" + "a" * 12282, "/" + "a" * 12282),  # 12,288 characters
        ("next=/" + "a" * 12283, ""),  # 12,289 characters
    ):
        assert query_field({"QUERY_STRING": query}, "next") == expected


def test_a_request_without_a_query_has_no_fields():
    assert query_field({}, "next") == ""
    assert query_fields({}, ("q", "staff")) == {"q": "", "staff": ""}


def test_the_fields_of_a_query_that_selects_are_read():
    environ = {"QUERY_STRING": "staff=yes&q=&other=1&other=2"}
    assert query_fields(environ, ("q", "staff")) == {"q": "", "staff": "yes"}


def test_a_form_in_the_query_can_have_lists_of_100_further_fields():
    query = "action=x&next=/" + "&users=1&users=2" * 50
    fields, lists = query_form({"QUERY_STRING": query}, ["action"], ["users", "others"])
    assert fields == {"action": "x"}
    assert lists == {"users": ["1", "2"] * 50, "others": []}
    with pytest.raises(ValidationError) as caught:
        query_form({"QUERY_STRING": query + "&a=b" * 19}, ["action"], ["users"])
    assert "120 fields" in str(caught.value.errors)


def test_a_query_that_selects_is_refused_unless_it_can_be_read():
    for query, fields in (
        ("q=%FF", ["query"]),  # no UTF-8
        ("staff=yes&q=" + "a" * 12277, ["query"]),  # 12,289 characters
        ("q=a" + "&" * 20, ["query"]),  # 21 fields
        ("q=a&staff=yes&q=a&staff=yes", ["q", "staff"]),  # twice
    ):
        with pytest.raises(ValidationError) as caught:
            query_fields({"QUERY_STRING": query}, ("q", "staff"))
        assert list(caught.value.errors) == fields


def work(action, text):
    """Return the least processor time of the action, so that what else runs does not count."""

    def once():
        start = time.thread_time_ns()
        with contextlib.suppress(RequestError):
            action(text)
        return time.thread_time_ns() - start

    return min(once() for _ in range(9))


HOSTILE = {
    "Accept": (
        lambda text: prefers_html({"HTTP_ACCEPT": f"text/html{text}"}),
        4096 - len("text/html"),
        [",text/html", ";a=b", ";a", ", \t", ' ;a="\\"', "*/", ";q=0."],
    ),
    "next": (
        lambda text: safe_next(f"/{text}", ""),
        8191,
        ["a/", "%", "%0", "?/", "/", "#", "é", "/..", "//."],
    ),
    "query": (
        lambda text: query_field({"QUERY_STRING": text}, "next"),
        12_288,
        ["%", "%4", "+", "%41", "=", "&", "%C3"],
    ),
    "form": (lambda text: read_form(sent(text)), LIMIT, ["%", "%4", "+", "%41", "=", "&", "%C3"]),
    "JSON": (
        lambda text: read_json(sent(f'{{"username": {text}')),
        LIMIT - len('{"username": '),
        ["[", '{"":', "9", "0.", '"\\', "[1],", '"a', " ", "tru"],
    ),
    "type": (lambda text: content_type({"CONTENT_TYPE": f"{JSON}{text}"}), 8192, [";", "=", ' "']),
}


@pytest.mark.promise(15)
@row_by_row(
    ("action", "longest", "unit"),
    [
        pytest.param(action, longest, unit, id=f"{name} of {unit!a}")
        for name, (action, longest, units) in HOSTILE.items()
        for unit in units
    ],
)
def test_hostile_input_costs_in_proportion_to_its_length(action, longest, unit):
    short, long = ((unit * length)[:length] for length in (longest // 16, longest))
    # Linear is 16 times the work, quadratic 256 times.
    assert work(action, long) < 100 * work(action, short)
