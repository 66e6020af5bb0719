"""What a new password must be; hashing and verifying passwords."""

import hashlib
import logging
import random
import time
from functools import partial
from unicodedata import normalize

import bcrypt
import pytest
from webtest import TestApp

from tests.support.sites import EMAIL, PASSWORD, USERNAME
from tests.support.timing import shortest
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts import names
from wsgiauth.accounts.passwords import (
    DEFAULT_ROUNDS,
    hash_password,
    needs_rehash,
    normal_form,
    password_problem,
    presented_problem,
    verify_password,
)
from wsgiauth.exceptions import RetryLaterError

HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
# With what stays of each password when bcrypt reads 72 bytes, skips NUL or replaces a surrogate.
UNREPRESENTABLE = {
    "73 bytes": ("a" * 73, "a" * 72, "at most 72 bytes"),
    "37 characters in 73 bytes": ("é" * 36 + "a", "é" * 36, "at most 72 bytes"),
    "16 KiB": ("a" * 16384, "a" * 72, "at most 72 bytes"),
    "NUL": ("four\0words", "fourwords", "NUL"),
    "NUL at the end": ("four words\0", "four words", "NUL"),
    "high surrogate": ("four \ud800 words", "four ? words", "surrogates"),
    "low surrogate": ("four \udfff words", "four ? words", "surrogates"),
}

COMMON = "This password is one of the most common; choose another."
ALTERED = "This password is a common one with a few characters added; choose another."
REPEATED = "This password repeats a character or a short pattern; choose another."
RUN = "This password follows the order of keys, letters or digits; choose another."
SIMILAR = "The password is too similar to the username or the email address."
OF_THE_SITE = "The password is too similar to a name of this site."
BREACHED = "This password is known from a data breach; choose another."

LONG = "four unrelated words, and because some people like it, a long sentence after them"


def problem_of(password, settings=Settings(), username="", email=""):  # noqa: B008 - it is frozen
    return password_problem(password, settings, username=username, email=email)


@pytest.mark.promise(6)
@pytest.mark.promise(9)
def test_what_bcrypt_cannot_represent_is_no_password():
    for case, (password, remains, reason) in UNREPRESENTABLE.items():
        assert reason in problem_of(password), case
        with pytest.raises(ValueError, match=reason) as caught:
            hash_password(password, rounds=4)
        assert password not in str(caught.value), case
        assert not verify_password(password, hash_password(remains, rounds=4), rounds=4), case


@pytest.mark.promise(6)
def test_the_length_of_a_password_is_counted_in_characters():
    for case, (password, min_length, is_accepted) in {
        "8 of 8": ("qzjv xwk", 8, True),
        "7 of 8": ("qzjv xw", 8, False),
        "empty": ("", 8, False),
        "8 characters in 16 bytes": ("éèàüöäñç", 8, True),
        "4 characters in 8 bytes": ("éèàü", 8, False),
        "4 characters in parts": (normalize("NFD", "éèàü"), 8, False),
        "8 syllables in 20 parts": (normalize("NFD", "국어비밀번호암한"), 8, True),
        "12 of 12": ("qzjv xwk bqd", 12, True),
        "11 of 12": ("qzjv xwk bq", 12, False),
        "64 characters": ("qzjv xwk bqd mfy" * 4, 8, True),
        "71 of 72": (LONG[:71], 72, False),
        "72 of 72": (LONG[:72], 72, True),
    }.items():
        refusal = f"A password must have at least {min_length} characters."
        expected = None if is_accepted else refusal
        assert problem_of(password, Settings(PASSWORD_MIN_LENGTH=min_length)) == expected, case


@pytest.mark.promise(6)
def test_there_are_no_rules_of_composition():
    for case, password in {
        "only lower case": "qzjvxwkb",
        "only capitals": "QZJVXWKB",
        "only digits": "73916482",
        "only punctuation": "%;=(!>@)",
        "any script": "пароль 密码 👩",
        "spaces": "  four  words  ",
    }.items():
        assert problem_of(password) is None, case


@pytest.mark.promise(7)
def test_what_attackers_try_first_is_refused():
    for case, (password, problem) in {
        "listed": ("password", COMMON),
        "in another case": ("PassWord", COMMON),
        "listed, twice": ("passwordpassword", COMMON),
        "listed, of 16 characters": ("manchesterunited", COMMON),
        "a capital, digits and punctuation": ("Password123!", ALTERED),
        "punctuation": ("!!password!!", ALTERED),
        "a year before": ("2026-Liverpool", ALTERED),
        "listed, with digits inside": ("P@ssw0rd2026!", ALTERED),
        "a short word and a year": ("Summer2026!", ALTERED),
        "a short word and digits": ("monkey48213", ALTERED),
        "a long word and more digits": ("ManchesterUnited20262027!", ALTERED),
        "one character": ("w" * 13, REPEATED),
        "one character, 72 times": ("x" * 72, REPEATED),
        "spaces": (" " * 8, REPEATED),
        "three characters": ("q!Zq!Zq!Zq!", REPEATED),
        "seven characters, twice": ("q!Z4w8mq!Z4w8m", REPEATED),
        "digits": ("123456789012", COMMON),
        "letters from the middle": ("hijklmnopq", RUN),
        "columns of keys": ("1qaz2wsx#EDC", RUN),
        "rows of keys": ("fghjklcvbnm", RUN),
        "many columns of keys": ("1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,", RUN),
        "letters and digits": ("efghijkl1234", RUN),
        "rows of keys and punctuation": ("fghjklcvbnm!", RUN),
        "digits and punctuation": ("12345678901!", ALTERED),
    }.items():
        assert problem_of(password) == problem, case


@pytest.mark.promise(7)
def test_what_only_contains_a_common_password_is_accepted():
    for case, password in {
        "words": PASSWORD,
        "many words": "correct horse battery staple",
        "a listed word among others": "password and a violin",
        "a listed word after another": "violin7password",
        "more digits than a short word": "summer83920184756",
        "eight characters, twice": "q!Z4w8mkq!Z4w8mk",
        "a run among words": "qwerty sat on a mat",
        "words and a long run": f"{PASSWORD:x<72}",
        "punctuation inside": "pa-ss-wo-rd",
    }.items():
        assert problem_of(password) is None, case


@pytest.mark.promise(7)
def test_the_username_and_the_email_are_refused_in_any_form():
    for password in [
        *("adalovelace", "AdaLovelace", EMAIL, EMAIL.upper()),
        *("AdaLovelace1!", "1AdaLovelace", f"{EMAIL}7", "adalovelaceadalovelace"),
        "ﬀorest.ﬁeld9",
    ]:
        email = "fforest.field@example.org" if "ﬁ" in password else EMAIL
        assert problem_of(password, username="AdaLovelace", email=email) == SIMILAR


def test_a_password_may_contain_the_username():
    assert problem_of(f"{USERNAME} likes engines", username=USERNAME, email=EMAIL) is None


@pytest.mark.promise(7)
def test_a_word_of_the_site_is_refused():
    for password in [
        "AcmeWidgets",
        "acmewidgets",
        "Acmewidgets2026!",
        "#Ähre GmbH",
        "ÄhreGmbH",
        "stmaryslibrary7",
    ]:
        settings = Settings(PASSWORD_WORDS=("AcmeWidgets", "ähre gmbh", "St. Mary's Library"))
        assert problem_of(password, settings) == OF_THE_SITE
        assert problem_of(password) is None


@pytest.fixture
def breached(tmp_path):
    """Return a file with the hash of "Four Unrelated Words"."""
    file = tmp_path / "pwned-passwords.txt"
    digest = hashlib.sha1(b"Four Unrelated Words").hexdigest().upper()  # noqa: S324
    file.write_text(f"{'0' * 40}:1\n{digest}:17\n{'F' * 40}:1\n")
    return file


@pytest.mark.promise(7)
def test_a_password_of_a_known_breach_is_refused(breached):
    settings = Settings(BREACHED_PASSWORDS=breached)
    assert problem_of("Four Unrelated Words", settings) == BREACHED
    assert problem_of("four unrelated words", settings) is None


@pytest.mark.promise(7)
def test_no_password_is_accepted_unchecked(breached, caplog):
    settings = Settings(BREACHED_PASSWORDS=breached)
    breached.rename(breached.with_suffix(".old"))
    with caplog.at_level(logging.ERROR), pytest.raises(RetryLaterError) as refused:
        problem_of("Four Unrelated Words", settings)
    assert refused.value.status == 503
    assert "BREACHED_PASSWORDS cannot be read: No such file" in caplog.text
    breached.with_suffix(".old").rename(breached)
    assert problem_of("Four Unrelated Words", settings) == BREACHED


@pytest.mark.promise(7)
@pytest.mark.promise(15)
def test_no_normal_form_is_computed_of_a_name_longer_than_names_are(monkeypatch):
    for field in ["username", "email"]:
        # Of combining marks out of order, it takes quadratic time.
        lengths = []
        monkeypatch.setattr(names, "key", lambda name, to=lengths: to.append(len(name)) or name)
        assert problem_of(PASSWORD, **{field: "\u0344\u0334" * 4000}) is None
        assert max(lengths) <= names.EMAIL_MAX_LENGTH, field


@pytest.mark.promise(7)
def test_a_random_password_is_accepted():
    generator = random.Random(7)  # noqa: S311
    letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789-_!"
    refused = [
        (password, problem)
        for password in ("".join(generator.choices(letters, k=10)) for _ in range(2000))
        if (problem := problem_of(password)) is not None
    ]
    assert not refused


@pytest.mark.promise(15)
def test_no_password_costs_as_much_as_a_hash():
    cost = partial(shortest, clock=time.thread_time)
    hashing = cost(bcrypt.hashpw, b"password", bcrypt.gensalt(10), times=1)  # a quarter of usual
    for case, password in {
        "50 digits": "73916482503619482735019283746501928374650192837465",
        "66": "739164825036194827350192837465019283746501928374650192837465728193",
        "punctuation": "!?#" * 24,
        "digits once they are folded": "\N{PARENTHESIZED NUMBER TWENTY}" * 24,
        "long when folded": "\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 24,
        "runs": "abc987" * 12,
    }.items():
        assert cost(problem_of, password, times=10) < hashing / 5, case


def test_a_common_password_that_repeats_something_long_is_refused():
    for password in ["1012199510121995", "familiyafamiliya", "GeorgetaGeorgeta"]:
        assert problem_of(password) == COMMON


def test_a_name_that_repeats_something_long_is_no_password():
    for altered in ["", "!", "1"]:
        settings = Settings(PASSWORD_WORDS=("kittiwakekittiwake",))
        assert problem_of(f"KittiwakeKittiwake{altered}", settings) is not None
        assert problem_of(f"qmzkvxwpqmzkvxwp{altered}", username="qmzkvxwpqmzkvxwp")
        assert problem_of(f"qmzkvxwpqmzkvxwp{altered}", email="qmzkvxwpqmzkvxwp@x.org")


# Hashing and verifying


@pytest.mark.promise(6)
def test_the_hash_is_what_any_bcrypt_tool_makes_and_reads():
    hashed = hash_password(PASSWORD, rounds=4)
    assert bcrypt.hashpw(PASSWORD.encode(), hashed.encode()) == hashed.encode()


def test_the_same_password_is_hashed_with_another_salt_each_time():
    assert hash_password(PASSWORD, rounds=4) != hash_password(PASSWORD, rounds=4)


@pytest.mark.promise(8)
def test_the_cost_is_12_where_nothing_else_is_said():
    assert DEFAULT_ROUNDS == 12
    assert hash_password(PASSWORD).startswith("$2b$12$")


@pytest.mark.promise(8)
def test_outside_a_request_the_cost_is_the_one_of_the_environment(monkeypatch):
    monkeypatch.setenv("BCRYPT_ROUNDS", "5")
    assert hash_password(PASSWORD).startswith("$2b$05$")


@pytest.mark.promise(8)
def test_in_a_view_the_cost_is_the_one_of_the_site(settings, monkeypatch):
    monkeypatch.setenv("BCRYPT_ROUNDS", "5")  # which is not of this site

    def view(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        yield hash_password(PASSWORD).encode()

    site = AuthMiddleware(view, settings)
    assert TestApp(site).get("/").text.startswith("$2b$04$")
    storage.discard_connection(site.database)


@pytest.mark.promise(8)
def test_the_cost_is_the_one_that_is_asked_for():
    for rounds in [4, 5]:
        assert hash_password(PASSWORD, rounds=rounds).startswith(f"$2b${rounds:02d}$")


@pytest.mark.promise(8)
def test_a_hash_of_another_cost_is_replaced():
    for case, (cost, rounds, is_needed) in {
        "4 for 4": (4, 4, False),
        "10 for 10": (10, 10, False),
        "12 for 12": (12, 12, False),
        "31 for 31": (31, 31, False),
        "lower": (4, 5, True),
        "lower, of the same first digit": (12, 14, True),
        "lower, of the same last digit": (4, 14, True),
        "higher": (5, 4, True),
        "higher, of the same first digit": (14, 12, True),
        "higher, of the same last digit": (14, 4, True),
    }.items():
        hashed = HASH.replace("$04$", f"${cost:02d}$")
        assert needs_rehash(hashed, rounds=rounds) is is_needed, case


@pytest.mark.promise(6)
def test_a_password_is_verified_with_all_its_characters():
    for case, password in {
        "72 bytes": "a" * 72,
        "36 characters in 72 bytes": "é" * 36,
        "spaces": "  four  words  ",
        "any script": "пароль 密码 👩",
        "controls but NUL": "tab\tand\nline",
    }.items():
        hashed = hash_password(password, rounds=4)
        assert verify_password(password, hashed, rounds=4), case
        assert not verify_password(password.strip()[:-1], hashed, rounds=4), case


@pytest.mark.promise(6)
def test_the_normal_form_of_a_password_counts():
    longest = "각" * 24  # 72 bytes, and 216 in parts
    typed = normalize("NFD", longest)
    assert verify_password(typed, hash_password(longest, rounds=4), rounds=4)
    assert verify_password(longest, hash_password(typed, rounds=4), rounds=4)
    assert presented_problem(typed) is None
    assert presented_problem(f"{typed}!") == "A password must have at most 72 bytes in UTF-8."


def test_a_password_of_72_bytes_whose_normal_form_is_longer_is_only_that_of_an_old_hash():
    typed = "\N{DEVANAGARI LETTER QA}" * 24
    assert "at most 72 bytes" in problem_of(typed)
    assert presented_problem(typed) is None
    old = bcrypt.hashpw(typed.encode(), bcrypt.gensalt(4)).decode()
    assert verify_password(typed, old, rounds=4)
    assert not verify_password(normalize("NFC", typed), old, rounds=4)


@pytest.mark.promise(7)
def test_a_password_of_a_known_breach_is_refused_in_any_form(breached, tmp_path):
    digest = hashlib.sha1("café à la carte".encode()).hexdigest().upper()  # noqa: S324
    breached.write_text(f"{digest}:17\n")
    settings = Settings(BREACHED_PASSWORDS=breached)
    assert problem_of(normalize("NFD", "café à la carte"), settings) == BREACHED


@pytest.mark.promise(15)
def test_no_normal_form_is_computed_of_a_password_that_is_too_long_in_any():
    hostile = "\u0344\u0334" * 4000
    assert "at most 72 bytes" in problem_of(hostile)
    assert "at most 72 bytes" in presented_problem(hostile)
    assert normal_form(hostile) == hostile


def test_hashes_of_other_bcrypt_tools_are_verified():
    for version in ["2a", "2y"]:
        assert verify_password(PASSWORD, HASH.replace("2b", version, 1), rounds=4)


@pytest.mark.promise(9)
def test_no_password_is_nobodys_password():
    imported = bcrypt.hashpw(b"", bcrypt.gensalt(4)).decode()  # as other tools may have made it
    assert not verify_password("", imported, rounds=4)


@pytest.mark.promise(9)
def test_a_password_never_matches_what_is_no_hash():
    for case, stored in {
        "no user": None,
        "empty": "",
        "a password in clear": PASSWORD,
        "cut off": HASH[:-1],
        "too long": HASH + "=",
        "impossible cost": HASH.replace("$04$", "$99$"),
        "broken version": HASH.replace("$2b$", "$2x$"),
        "beyond ASCII": HASH[:-1] + "é",
        "salt that bcrypt cannot read": HASH[:28] + "f" + HASH[29:],
    }.items():
        assert not verify_password(PASSWORD, stored, rounds=4), case
