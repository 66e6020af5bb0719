"""Repetitions, and runs of neighbouring keys, letters and digits."""

import pytest

from wsgiauth.guessing.patterns import length_without_runs, repeated_unit


def test_the_shortest_repeated_part_is_found():
    for case, (text, unit) in {
        "one character": ("aaaaaaaa", "a"),
        "two characters": ("abababab", "ab"),
        "the last one cut": ("abcabcab", "abc"),
        "twice": ("abcdabcd", "abcd"),
        "twice, with a character between": ("abcd abcd", "abcd "),
        "all but twice": ("abcdabc", "abcd"),
        "far from twice": ("abcdeabc", "abcdeabc"),
        "another character at the end": ("aaaaaaab", "aaaaaaab"),
        "another character at the beginning": ("baaaaaaa", "baaaaaaa"),
        "a single character": ("a", "a"),
        "empty": ("", ""),
    }.items():
        assert repeated_unit(text) == unit, case


def test_each_run_counts_as_one_character():
    for case, (text, length) in {
        "alphabet": ("abcdefgh", 1),
        "alphabet backwards": ("hgfedcba", 1),
        "digits, beginning again": ("12345678901234567890", 1),
        "digits backwards": ("98765432109876", 1),
        "a row of keys": ("qwertyuiop[]", 1),
        "a row backwards": ("lkjhgfds", 1),
        "columns": ("1qaz2wsx3edc", 3),
        "two rows in turn": ("1q2w3e4r5t", 1),
        "German keyboard": ("qwertzuiop", 1),
        "French keyboard": ("azertyuiop", 1),
        "Russian keyboard": ("йцукенгш", 1),
        "Russian alphabet": ("абвгдеёж", 1),
        "repeated characters": ("aaabbbccc", 3),
        "a letter after a run": ("12345678a", 2),
        "a letter before a run": ("x12345678", 2),
        "three runs of three": ("abc123xyz", 3),
        "runs of two": ("ab12cd34", 8),
        "no neighbours": ("qzjvxwkb", 8),
        "a line feed between runs": ("abc\ndef", 3),
        "a line feed inside": ("ab\nba", 5),
        "line feeds": ("\n\n\n", 1),
        "empty": ("", 0),
    }.items():
        assert length_without_runs(text) == length, case


@pytest.mark.promise(15)
def test_the_time_is_linear():
    for case, (text, length) in {
        "one run": ("x" * 200_000, 1),
        "many": ("abc987" * 30_000, 60_000),
    }.items():
        assert length_without_runs(text) == length, case  # in quadratic time, for minutes
