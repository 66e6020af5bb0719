"""JSON of a provider: an object that has one meaning, or nothing."""

import json

from wsgiauth.features.providers.oidc.documents import parse_document, strings


def test_an_object_is_parsed():
    assert parse_document(b'{"a": [1, {"b": "\xc3\xa4"}]}') == {"a": [1, {"b": "ä"}]}
    assert parse_document(b" {}\n") == {}


def test_all_else_is_nothing():
    others = {
        "empty": b"",
        "list": b"[]",
        "string": b'"a"',
        "null": b"null",
        "two objects": b"{}{}",
        "doubled member": b'{"a": 1, "a": 2}',
        "doubled member inside": b'{"a": {"b": 1, "b": 1}}',
        "NaN": b'{"a": NaN}',
        "infinity": b'{"a": -Infinity}',
        "not UTF-8": b'{"a": "\xff"}',
        "byte order mark": b'\xef\xbb\xbf{"a": 1}',
        "UTF-16": '{"a": 1}'.encode("utf-16"),
        "nested deeply": b'{"a": ' + b"[" * 30_000 + b"]" * 30_000 + b"}",
        "101 deep": b'{"a": ' + b'[{"b": ' * 50 + b"1" + b"}]" * 50 + b"}",
        "long number": b'{"a": ' + b"9" * 60_000 + b"}",
    }
    assert [name for name, octets in others.items() if parse_document(octets) is not None] == []


def test_a_hundred_levels_and_any_number_beside_each_other_are_read():
    octets = b'{"a": ' + b"[" * 99 + b"[], " * 300 + b"1" + b"]" * 99 + b"}"
    assert parse_document(octets) == json.loads(octets)


def test_only_the_strings_of_a_list_count():
    assert strings(["a", 1, None, ["b"], "c"]) == ["a", "c"]
    assert strings("a") == strings(None) == strings({"a": "b"}) == []
