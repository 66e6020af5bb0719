"""Repetitions, and runs of neighbouring keys, letters and digits."""

import pytest

from wsgiauth.guessing.patterns import length_without_runs, repeated_unit


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        pytest.param("aaaaaaaa", "a", id="one character"),
        pytest.param("abababab", "ab", id="two characters"),
        pytest.param("abcabcab", "abc", id="the last one cut"),
        pytest.param("abcdabcd", "abcd", id="twice"),
        pytest.param("abcd abcd", "abcd ", id="twice, with a character between"),
        pytest.param("abcdabc", "abcd", id="all but twice"),
        pytest.param("abcdeabc", "abcdeabc", id="far from twice"),
        pytest.param("aaaaaaab", "aaaaaaab", id="another character at the end"),
        pytest.param("baaaaaaa", "baaaaaaa", id="another character at the beginning"),
        pytest.param("a", "a", id="a single character"),
        pytest.param("", "", id="empty"),
    ],
)
def test_the_shortest_repeated_part_is_found(text, unit):
    assert repeated_unit(text) == unit


@pytest.mark.parametrize(
    ("text", "length"),
    [
        pytest.param("abcdefgh", 1, id="alphabet"),
        pytest.param("hgfedcba", 1, id="alphabet backwards"),
        pytest.param("12345678901234567890", 1, id="digits, beginning again"),
        pytest.param("98765432109876", 1, id="digits backwards"),
        pytest.param("qwertyuiop[]", 1, id="a row of keys"),
        pytest.param("lkjhgfds", 1, id="a row backwards"),
        pytest.param("1qaz2wsx3edc", 3, id="columns"),
        pytest.param("1q2w3e4r5t", 1, id="two rows in turn"),
        pytest.param("qwertzuiop", 1, id="German keyboard"),
        pytest.param("azertyuiop", 1, id="French keyboard"),
        pytest.param("йцукенгш", 1, id="Russian keyboard"),
        pytest.param("абвгдеёж", 1, id="Russian alphabet"),
        pytest.param("aaabbbccc", 3, id="repeated characters"),
        pytest.param("12345678a", 2, id="a letter after a run"),
        pytest.param("x12345678", 2, id="a letter before a run"),
        pytest.param("abc123xyz", 3, id="three runs of three"),
        pytest.param("ab12cd34", 8, id="runs of two"),
        pytest.param("qzjvxwkb", 8, id="no neighbours"),
        pytest.param("abc\ndef", 3, id="a line feed between runs"),
        pytest.param("ab\nba", 5, id="a line feed inside"),
        pytest.param("\n\n\n", 1, id="line feeds"),
        pytest.param("", 0, id="empty"),
    ],
)
def test_each_run_counts_as_one_character(text, length):
    assert length_without_runs(text) == length


@pytest.mark.promise(15)
@pytest.mark.parametrize(
    ("text", "length"),
    [
        pytest.param("x" * 200_000, 1, id="one run"),
        pytest.param("abc987" * 30_000, 60_000, id="many"),
    ],
)
def test_the_time_is_linear(text, length):
    assert length_without_runs(text) == length  # in quadratic time, for minutes
