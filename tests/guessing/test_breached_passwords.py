"""A local copy of the passwords of known breaches."""

import hashlib
import random

import pytest

from wsgiauth.guessing.breached_passwords import file_problem, is_breached

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
@pytest.mark.parametrize("password", BREACHED)
def test_a_password_in_the_file_is_found(file, password):
    assert is_breached(password, file)


@pytest.mark.parametrize("password", ["Password", "password ", "", "four unrelated words"])
def test_another_password_is_not_found(file, password):
    assert not is_breached(password, file)


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=ascii)
def test_lines_may_end_as_on_any_system(tmp_path, end):
    lines = sorted(line_of(password, end) for password in BREACHED)
    file = write(tmp_path / "few.txt", lines)
    assert file_problem(file) is None
    assert all(is_breached(password, file) for password in BREACHED)


def test_a_file_in_order_has_no_problem(file):
    assert file_problem(file) is None
    assert file_problem(str(file)) is None


def test_the_last_line_may_lack_its_end(tmp_path):
    assert file_problem(write(tmp_path / "one.txt", [line_of("password", "")])) is None


IN_ORDER = sorted(random_lines(1000))
FORM, ORDER = "has a line in another format", "is not sorted by the hash"


@pytest.mark.promise(29)
@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        pytest.param([], FORM, id="empty"),
        pytest.param(["password\n"] * 1000, FORM, id="passwords"),
        pytest.param([line[:32] + line[40:] for line in IN_ORDER], FORM, id="NTLM hashes"),
        pytest.param([line.lower() for line in IN_ORDER], FORM, id="lower case"),
        pytest.param([line[:40] + "\n" for line in IN_ORDER], FORM, id="no counts"),
        pytest.param([line[5:] for line in IN_ORDER], FORM, id="lines of one range"),
        pytest.param(["\ufeff", *IN_ORDER], FORM, id="byte order mark"),
        pytest.param([*IN_ORDER, IN_ORDER[0][:30]], FORM, id="broken last line"),
        pytest.param(["0" * 100_000], FORM, id="one long line"),
        pytest.param(random_lines(1000), ORDER, id="in another order"),
        pytest.param(IN_ORDER[::-1], ORDER, id="in reverse order"),
        pytest.param([*IN_ORDER, IN_ORDER[0]], ORDER, id="a small hash at the end"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path, lines, problem):
    assert file_problem(write(tmp_path / "file.txt", lines)) == problem


@pytest.mark.promise(29)
@pytest.mark.parametrize(
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
