"""JSON of a provider: an object that has one meaning, or nothing."""

import json

import pytest

from wsgiauth.features.providers.oidc.documents import parse_document, strings


@pytest.mark.parametrize(
    ("octets", "parsed"),
    [
        (b'{"a": [1, {"b": "\xc3\xa4"}]}', {"a": [1, {"b": "ä"}]}),
        (b" {}\n", {}),
    ],
)
def test_an_object_is_parsed(octets, parsed):
    assert parse_document(octets) == parsed


@pytest.mark.parametrize(
    "octets",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"[]", id="list"),
        pytest.param(b'"a"', id="string"),
        pytest.param(b"null", id="null"),
        pytest.param(b"{}{}", id="two objects"),
        pytest.param(b'{"a": 1, "a": 2}', id="doubled member"),
        pytest.param(b'{"a": {"b": 1, "b": 1}}', id="doubled member inside"),
        pytest.param(b'{"a": NaN}', id="NaN"),
        pytest.param(b'{"a": -Infinity}', id="infinity"),
        pytest.param(b'{"a": "\xff"}', id="not UTF-8"),
        pytest.param(b'\xef\xbb\xbf{"a": 1}', id="byte order mark"),
        pytest.param('{"a": 1}'.encode("utf-16"), id="UTF-16"),
        pytest.param(b'{"a": ' + b"[" * 30_000 + b"]" * 30_000 + b"}", id="nested deeply"),
        pytest.param(b'{"a": ' + b'[{"b": ' * 50 + b"1" + b"}]" * 50 + b"}", id="101 deep"),
        pytest.param(b'{"a": ' + b"9" * 60_000 + b"}", id="long number"),
    ],
)
def test_all_else_is_nothing(octets):
    assert parse_document(octets) is None


def test_a_hundred_levels_and_any_number_beside_each_other_are_read():
    octets = b'{"a": ' + b"[" * 99 + b"[], " * 300 + b"1" + b"]" * 99 + b"}"
    assert parse_document(octets) == json.loads(octets)


def test_only_the_strings_of_a_list_count():
    assert strings(["a", 1, None, ["b"], "c"]) == ["a", "c"]
    assert strings("a") == strings(None) == strings({"a": "b"}) == []
