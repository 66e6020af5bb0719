"""What a request says: its length, its form or JSON, and where it wants to go next."""

import contextlib
import io
import json
import time
from urllib.parse import urlencode

import pytest

from tests.support.sites import BROWSER
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


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param(BROWSER["Accept"], True, id="browser"),
        pytest.param("text/html", True, id="only HTML"),
        pytest.param("TEXT/HTML", True, id="upper case"),
        pytest.param("text/html;q=0.2", True, id="little but only HTML"),
        pytest.param("application/json;q=0.8, text/html", True, id="HTML before JSON"),
        pytest.param("", False, id="nothing"),
        pytest.param("*/*", False, id="anything"),
        pytest.param("application/json", False, id="only JSON"),
        pytest.param("text/html, application/json", False, id="both alike"),
        pytest.param("text/html;q=0.8, application/json", False, id="JSON before HTML"),
        pytest.param("text/html;q=0.5, */*", False, id="anything before HTML"),
        pytest.param(
            "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html; q=0.1,"
            " text/html; q=0.01",
            False,
            id="pip",
        ),
        pytest.param('text/html;q=0.5, application/ld+json;profile="a"', False, id="JSON-LD"),
        pytest.param("application/ld+json;q=0.9, text/html", True, id="HTML before JSON-LD"),
        pytest.param(
            "application/xml,application/xhtml+xml,text/html;q=0.9,image/png,*/*;q=0.5",
            True,
            id="old browser",
        ),
        pytest.param("text/html;q=0", False, id="no HTML"),
        pytest.param("application/xhtml+xml", False, id="XHTML"),
        pytest.param("text/html;q=", False, id="malformed"),
        pytest.param("text/html, é", False, id="beyond ASCII"),
        pytest.param("text/html," + "a/b," * 1020 + "c/dddd", True, id="4,096 characters"),
        pytest.param("text/html," + "a/b," * 1020 + "c/ddddd", False, id="4,097 characters"),
    ],
)
def test_html_is_for_clients_that_prefer_it(accept, expected):
    assert prefers_html({"HTTP_ACCEPT": accept}) is expected


def test_a_client_that_does_not_say_gets_json():
    assert not prefers_html({})


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        pytest.param({}, False, id="neither header"),
        pytest.param({"HTTP_SEC_FETCH_MODE": "cors"}, True, id="fetch"),
        pytest.param({"HTTP_SEC_FETCH_MODE": "navigate"}, False, id="navigation"),
        pytest.param({"HTTP_SEC_FETCH_MODE": "same-origin"}, False, id="service worker"),
        pytest.param({"HTTP_X_REQUESTED_WITH": "XMLHttpRequest"}, True, id="jQuery"),
        pytest.param({"HTTP_X_REQUESTED_WITH": "xmlhttprequest"}, True, id="letter case"),
        pytest.param({"HTTP_X_REQUESTED_WITH": "org.example.app"}, False, id="WebView"),
    ],
)
def test_a_script_says_that_it_is_one(headers, expected):
    assert is_by_script(headers) is expected


@pytest.mark.parametrize(
    ("accept", "expected"),
    [
        pytest.param("application/json", True, id="JSON"),
        pytest.param("Application/JSON;q=0.1", True, id="JSON in another letter case"),
        pytest.param("application/json, text/plain, */*", True, id="axios"),
        pytest.param("application/json, text/html", True, id="both alike"),
        pytest.param("text/html, application/json;q=0.9", False, id="HTML rather"),
        pytest.param("*/*, application/json;q=0.9", False, id="anything rather"),
        pytest.param("application/json;q=0, */*", False, id="anything but JSON"),
        pytest.param(BROWSER["Accept"], False, id="browser"),
        pytest.param("*/*", False, id="fetch and curl by default"),
        pytest.param("application/jsonp", False, id="another type"),
        pytest.param("", False, id="nothing"),
        pytest.param(f"application/json{' ' * 4096}", False, id="too long"),
    ],
)
def test_json_for_a_form_is_for_clients_that_name_it(accept, expected):
    assert asks_for_json({"HTTP_ACCEPT": accept}) is expected


@pytest.mark.promise(19)
@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("application/json", JSON),
        ("Application/JSON", JSON),
        ("application/json; charset=utf-8", JSON),
        ('application/json;charset="UTF-8"', JSON),
        (" application/json ; profile=x", JSON),
        ("application/x-www-form-urlencoded", FORM),
        ("application/x-www-form-urlencoded; charset=UTF-8", FORM),
        ("application/json;", JSON),
    ],
)
def test_json_and_forms_are_told_apart_by_their_type(header, expected):
    assert content_type({"CONTENT_TYPE": header}) == expected


@pytest.mark.promise(19)
@pytest.mark.parametrize(
    "header",
    [
        pytest.param("", id="empty"),
        pytest.param("text/plain", id="plain text"),
        pytest.param("text/json", id="another JSON"),
        pytest.param("application/problem+json", id="problem"),
        pytest.param("application/jsonp", id="longer"),
        pytest.param("application", id="no subtype"),
        pytest.param("multipart/form-data; boundary=x", id="files"),
        pytest.param("application/json, text/plain", id="two types"),
        pytest.param(";", id="only a separator"),
        pytest.param("é", id="beyond ASCII"),
        pytest.param("x" * 8192, id="8 KiB"),
    ],
)
def test_any_other_type_is_answered_415(header):
    assert refusal(content_type, {"CONTENT_TYPE": header}) == (415, "unsupported_media_type")


@pytest.mark.promise(19)
def test_no_type_at_all_is_answered_415():
    assert refusal(content_type, {}) == (415, "unsupported_media_type")


@pytest.mark.promise(19)
@pytest.mark.parametrize("media_type", [JSON, FORM])
@pytest.mark.parametrize("charset", ["latin-1", "utf-16", "utf-7", "", '"', "utf-8, latin-1"])
@pytest.mark.parametrize("name", ["charset", "CHARSET", " charset "])
def test_another_charset_is_malformed(media_type, charset, name):
    assert refusal(content_type, {"CONTENT_TYPE": f"{media_type};{name}={charset}"}) == MALFORMED


@pytest.mark.promise(19)
def test_the_second_of_two_charsets_counts_too():
    header = f"{JSON}; charset=utf-8; charset=utf-16"
    assert refusal(content_type, {"CONTENT_TYPE": header}) == MALFORMED


@pytest.mark.promise(19)
@pytest.mark.parametrize(
    "document",
    [
        pytest.param({"username": "Ada", "password": "four words"}, id="texts"),
        pytest.param({"username": "Zoë 👩 \u0000"}, id="any character"),
        pytest.param({}, id="empty"),
        pytest.param({"more": [1, 2.5, True, None, {"deep": []}]}, id="any value"),
        pytest.param({"username": "{" * 150, "password": "[" * 72}, id="brackets in texts"),
    ],
)
@pytest.mark.parametrize("ensure_ascii", [True, False], ids=["escaped", "as it is"])
def test_json_is_read(document, ensure_ascii):
    assert read_json(sent(json.dumps(document, ensure_ascii=ensure_ascii))) == document


@pytest.mark.promise(19)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("", id="nothing"),
        pytest.param("username=Ada", id="form"),
        pytest.param('{"username":', id="cut off"),
        pytest.param('{"username": "Ada"} {}', id="two documents"),
        pytest.param("{'username': 'Ada'}", id="single quotes"),
        pytest.param('{"username": "a\nb"}', id="raw line feed"),
        pytest.param('["username"]', id="list"),
        pytest.param('"username"', id="text"),
        pytest.param("7", id="number"),
        pytest.param("null", id="null"),
        pytest.param('{"a": NaN}', id="NaN"),
        pytest.param('{"a": Infinity}', id="Infinity"),
        pytest.param('{"a": -Infinity}', id="minus Infinity"),
        pytest.param('{"a": 1e999}', id="infinite float"),
        pytest.param('{"a": -1e999}', id="minus infinite float"),
        pytest.param('{"a": ' + "9" * 41 + "}", id="integer of 41 digits"),
        pytest.param('{"a": ' + "9" * 5000 + "}", id="integer of 5,000 digits"),
        pytest.param('{"a": 0.' + "9" * 5000 + "}", id="float of 5,000 digits"),
        pytest.param("[" * 8000 + "]" * 8000, id="deep lists"),
        pytest.param('{"a":' * 2500 + "1" + "}" * 2500, id="deep objects"),
        pytest.param('{"a":' + "[" * 5000, id="deep and cut off"),
        pytest.param('{"a": [' + "[], " * 500 + "1]}", id="many lists"),
        pytest.param('{"username": "\\ud800"}', id="high surrogate"),
        pytest.param('{"username": "\\udc00\\ud800"}', id="surrogates in the wrong order"),
        pytest.param('{"\\udfff": "Ada"}', id="surrogate in a name"),
        pytest.param('{"a": [{"b": "\\ud800"}]}', id="surrogate further in"),
        pytest.param('{"a": "x", "a": "y"}', id="a name twice"),
        pytest.param('{"a": {"b": 1, "b": 1}}', id="a name twice further in"),
        pytest.param(b'{"username": "\xff"}', id="no UTF-8"),
        pytest.param(b'{"username": "\xed\xa0\x80"}', id="surrogate in UTF-8"),
        pytest.param(b'{"username": "\xc0\x80"}', id="overlong UTF-8"),
        pytest.param('{"a": "x"}'.encode("utf-16"), id="UTF-16"),
        pytest.param('{"a": "x"}'.encode("utf-8-sig"), id="byte order mark"),
        pytest.param(b"\0" * 100, id="NUL"),
    ],
)
def test_malformed_json_is_refused(body):
    assert refusal(read_json, sent(body)) == MALFORMED


@pytest.mark.promise(15)
@pytest.mark.parametrize("opening", ["[", "{"])
def test_json_has_500_brackets_at_most(opening):
    text = opening * 499  # one more is the object's own
    assert read_json(sent(json.dumps({"a": text}))) == {"a": text}
    assert refusal(read_json, sent(json.dumps({"a": text + opening}))) == MALFORMED


@pytest.mark.promise(19)
@pytest.mark.parametrize(
    ("body", "fields"),
    [
        pytest.param("username=Ada&password=x", {"username": "Ada", "password": "x"}, id="fields"),
        pytest.param("password=four+%26+%2B", {"password": "four & +"}, id="escapes"),
        pytest.param("username=Zo%C3%AB", {"username": "Zoë"}, id="UTF-8"),
        pytest.param("next=&username", {"next": "", "username": ""}, id="blank values"),
        pytest.param("a=1=2", {"a": "1=2"}, id="equals sign in a value"),
        pytest.param("a=1;b=2", {"a": "1;b=2"}, id="semicolon"),
        pytest.param("", {}, id="nothing"),
        pytest.param(
            "&".join(f"f{n}=" for n in range(20)),
            dict.fromkeys(map("f{}".format, range(20)), ""),
            id="20 fields",
        ),
    ],
)
def test_a_form_is_read(body, fields):
    assert read_form(sent(body)) == fields


@pytest.mark.promise(19)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param("username=%FF", id="no UTF-8"),
        pytest.param("username=%ED%A0%80", id="surrogate"),
        pytest.param("%FF=Ada", id="no UTF-8 in a name"),
        pytest.param("username=Zoë", id="not escaped"),
        pytest.param(b"username=\xff", id="raw byte"),
        pytest.param("username=a&username=b", id="a field twice"),
        pytest.param("&" * 8192, id="only separators"),
    ],
)
def test_a_malformed_form_is_refused(body):
    assert refusal(read_form, sent(body)) == MALFORMED


@pytest.mark.promise(19)
@pytest.mark.parametrize(
    "body",
    [
        pytest.param('{"username": "Ada"}', id="an object"),
        pytest.param('{"token": "a=1&b=2"}', id="separators of a form"),
        pytest.param('{"username": "Zoë"}', id="not ASCII"),
        pytest.param('["Ada"]', id="an array"),
        pytest.param("{username: Ada}", id="quotation marks lost in a shell"),
        pytest.param(' \t\r\n{"username": "Ada"}', id="white space"),
        pytest.param('\N{BYTE ORDER MARK}{"username": "Ada"}', id="a byte order mark"),
    ],
)
def test_json_with_the_type_of_a_form_is_told_its_header(body):
    with pytest.raises(RequestError, match="header Content-Type: application/json") as caught:
        read_form(sent(body))
    assert (caught.value.status, caught.value.code) == (415, "unsupported_media_type")


@pytest.mark.promise(19)
@pytest.mark.parametrize("body", [urlencode({"{": "["}), "a={", "a=[1]&{", "+{", "\v{"], ids=ascii)
def test_a_form_can_have_brackets_but_not_first(body):
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
@pytest.mark.parametrize("length", [LIMIT, f"0{LIMIT}"])
def test_a_body_may_have_16_kib(length):
    assert len(read_json(sent(json_of(LIMIT), str(length)))["username"]) == LIMIT - 15


@pytest.mark.promise(15)
@pytest.mark.parametrize(
    "length", [LIMIT + 1, 10**9, 10**18, "9" * 5000], ids=["+1", "1e9", "1e18", "9…9"]
)
def test_a_body_that_is_declared_too_large_is_not_read(length):
    stream = Stream()
    environ = {"wsgi.input": stream, "CONTENT_LENGTH": str(length)}
    assert refusal(read_form, environ) == TOO_LARGE
    assert stream.taken == 0


@pytest.mark.promise(15)
@pytest.mark.parametrize(
    "length",
    ["-1", "+5", "5.0", "0x5", "five", "5, 5", " 5", "5\n", "0_5", "²", "\u0665"],
    ids=ascii,
)
def test_a_length_that_is_no_number_is_malformed(length):
    assert refusal(read_form, sent("a=bcd", length)) == MALFORMED


@pytest.mark.promise(15)
@pytest.mark.parametrize("missing", [{}, {"CONTENT_LENGTH": ""}], ids=["missing", "empty"])
def test_without_a_length_nothing_is_read(missing):
    stream = Stream()
    assert refusal(read_json, {"wsgi.input": stream, **missing}) == (411, "length_required")
    assert stream.taken == 0


@pytest.mark.promise(15)
@pytest.mark.parametrize("length", ["3", "16384"])
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
@pytest.mark.parametrize(
    "error", [OSError("gone"), ConnectionResetError(), ValueError("bad chunk")]
)
@pytest.mark.parametrize("framing", [{"CONTENT_LENGTH": "5"}, {"wsgi.input_terminated": True}])
def test_a_body_that_breaks_off_is_malformed(error, framing):
    assert refusal(read_json, {"wsgi.input": BrokenStream(error), **framing}) == MALFORMED


@pytest.mark.promise(15)
@pytest.mark.promise(19)
@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        pytest.param(b"{", {"Content-Type": JSON}, 400, id="malformed"),
        pytest.param(b"x" * (LIMIT + 1), {"Content-Type": JSON}, 413, id="too large"),
        pytest.param(b"{}", {"Content-Type": JSON, "Content-Length": "3"}, 400, id="short"),
        pytest.param(b"{}", {"Content-Type": "text/plain"}, 415, id="type"),
        pytest.param(b"a=%FF", {"Content-Type": FORM}, 400, id="form"),
    ],
)
@pytest.mark.parametrize("path", ["/auth/login", "/auth/register"])
def test_what_cannot_be_read_is_answered_by_a_problem(client, path, body, headers, status):
    answer = client.post(path, body, headers=headers, status=status)
    assert answer.content_type == "application/problem+json"
    assert answer.json["status"] == status


@pytest.mark.promise(11)
@pytest.mark.parametrize("value", [["Ada"], {"a": "b"}, 7, 7.5, True, None], ids=repr)
def test_a_field_that_is_no_text_is_malformed(value):
    assert refusal(text_field, {"username": value}, "username") == MALFORMED


@pytest.mark.promise(11)
@pytest.mark.parametrize("value", ["yes", "true", 1, 0, None, []], ids=repr)
def test_a_flag_that_is_no_boolean_is_malformed(value):
    assert refusal(flag_field, {"remember": value}, "remember") == MALFORMED


@pytest.mark.promise(11)
@pytest.mark.parametrize(
    "users", ["1", 1.0, ["1"], [1.5], [True], [None], [2.0**53], {"1": 1.0}, None], ids=repr
)
def test_a_list_that_is_not_of_exact_whole_numbers_is_malformed(users):
    def read(fields):
        return list_fields(fields, [], ["users"], is_json=True)

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


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        pytest.param("next=%2Fa%3Fb", "/a?b", id="escaped"),
        pytest.param("a=b&next=/a", "/a", id="among others"),
        pytest.param("next=/a&next=/b", "/a", id="the first of two"),
        pytest.param("next=", "", id="empty"),
        pytest.param("Next=/a", "", id="another case"),
        pytest.param("", "", id="no query"),
        pytest.param("next=%FF", "", id="no UTF-8"),
        pytest.param("next=/a" + "&" * 19, "/a", id="20 fields"),
        pytest.param("next=/a" + "&" * 20, "", id="21 fields"),
        pytest.param("next=/" + "a" * 12282, "/" + "a" * 12282, id="12,288 characters"),
        pytest.param("next=/" + "a" * 12283, "", id="12,289 characters"),
    ],
)
def test_a_field_of_the_query_is_read(query, expected):
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


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        pytest.param("q=%FF", ["query"], id="no UTF-8"),
        pytest.param("staff=yes&q=" + "a" * 12277, ["query"], id="12,289 characters"),
        pytest.param("q=a" + "&" * 20, ["query"], id="21 fields"),
        pytest.param("q=a&staff=yes&q=a&staff=yes", ["q", "staff"], id="twice"),
    ],
)
def test_a_query_that_selects_is_refused_unless_it_can_be_read(query, fields):
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
@pytest.mark.parametrize(
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
