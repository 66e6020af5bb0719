"""Bisection in a sorted file of lines."""

import io
import random

import pytest

from wsgiauth.guessing.sorted_lines import has_line


class CountingFile(io.BytesIO):
    """Counts the seeks and the bytes that are read."""

    seeks = read_bytes = 0

    def seek(self, *arguments):
        self.seeks += 1
        return super().seek(*arguments)

    def read(self, *arguments):
        data = super().read(*arguments)
        self.read_bytes += len(data)
        return data

    def readline(self, *arguments):
        line = super().readline(*arguments)
        self.read_bytes += len(line)
        return line


def sorted_file(words):
    return CountingFile(b"".join(sorted(word + b"\n" for word in words)))


def words_of(number):
    generator = random.Random(number)  # noqa: S311
    return {generator.randbytes(generator.randint(1, 20)).hex().encode() for _ in range(number)}


@pytest.mark.parametrize("number", [1, 2, 3, 50, 200, 3000])
def test_every_line_is_found_and_no_other(number):
    words = words_of(number)
    lines = sorted_file(words)
    assert all(has_line(lines, word + b"\n") for word in words)
    others = {word[:-1] for word in words} | {word + b"0" for word in words} | words_of(500)
    assert not any(has_line(lines, word + b"\n") for word in others - words)


def test_a_line_is_found_by_its_beginning():
    lines = sorted_file(b"%05d:%d" % (number, number) for number in range(0, 20_000, 2))
    found = {number for number in range(9000, 11_000) if has_line(lines, b"%05d:" % number)}
    assert found == set(range(9000, 11_000, 2))


def test_what_stands_inside_a_line_is_not_found():
    assert not has_line(sorted_file([b"abc", b"xabc"]), b"bc\n")


def test_the_last_line_may_lack_its_end():
    assert has_line(io.BytesIO(b"a:1\nb:2\nc:3"), b"c:")


def test_an_empty_file_has_no_line():
    assert not has_line(io.BytesIO(), b"a")


@pytest.mark.parametrize("content", [b"a" * 100_000, b"\n" * 100_000], ids=["no line", "no words"])
def test_a_file_of_another_form_is_searched_to_an_end(content):
    assert not has_line(io.BytesIO(content), b"b\n")


@pytest.mark.promise(15)
def test_a_search_seeks_as_often_as_the_logarithm_of_the_size():
    lines = sorted_file(b"%08d" % number for number in range(500_000))
    has_line(lines, b"00354321\n")
    assert lines.seeks <= 20
    assert lines.read_bytes < 10_000
