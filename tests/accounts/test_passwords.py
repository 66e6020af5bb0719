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
UNREPRESENTABLE = [
    pytest.param("a" * 73, "a" * 72, "at most 72 bytes", id="73 bytes"),
    pytest.param("é" * 36 + "a", "é" * 36, "at most 72 bytes", id="37 characters in 73 bytes"),
    pytest.param("a" * 16384, "a" * 72, "at most 72 bytes", id="16 KiB"),
    pytest.param("four\0words", "fourwords", "NUL", id="NUL"),
    pytest.param("four words\0", "four words", "NUL", id="NUL at the end"),
    pytest.param("four \ud800 words", "four ? words", "surrogates", id="high surrogate"),
    pytest.param("four \udfff words", "four ? words", "surrogates", id="low surrogate"),
]

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
@pytest.mark.parametrize(("password", "remains", "reason"), UNREPRESENTABLE)
def test_what_bcrypt_cannot_represent_is_no_new_password(password, remains, reason):
    assert reason in problem_of(password)


@pytest.mark.promise(6)
@pytest.mark.parametrize(
    ("password", "min_length", "is_accepted"),
    [
        pytest.param("qzjv xwk", 8, True, id="8 of 8"),
        pytest.param("qzjv xw", 8, False, id="7 of 8"),
        pytest.param("", 8, False, id="empty"),
        pytest.param("éèàüöäñç", 8, True, id="8 characters in 16 bytes"),
        pytest.param("éèàü", 8, False, id="4 characters in 8 bytes"),
        pytest.param(normalize("NFD", "éèàü"), 8, False, id="4 characters in parts"),
        pytest.param(normalize("NFD", "국어비밀번호암한"), 8, True, id="8 syllables in 20 parts"),
        pytest.param("qzjv xwk bqd", 12, True, id="12 of 12"),
        pytest.param("qzjv xwk bq", 12, False, id="11 of 12"),
        pytest.param("qzjv xwk bqd mfy" * 4, 8, True, id="64 characters"),
        pytest.param(LONG[:71], 72, False, id="71 of 72"),
        pytest.param(LONG[:72], 72, True, id="72 of 72"),
    ],
)
def test_the_length_of_a_password_is_counted_in_characters(password, min_length, is_accepted):
    refusal = f"A password must have at least {min_length} characters."
    expected = None if is_accepted else refusal
    assert problem_of(password, Settings(PASSWORD_MIN_LENGTH=min_length)) == expected


@pytest.mark.promise(6)
@pytest.mark.parametrize(
    "password",
    [
        pytest.param("qzjvxwkb", id="only lower case"),
        pytest.param("QZJVXWKB", id="only capitals"),
        pytest.param("73916482", id="only digits"),
        pytest.param("%;=(!>@)", id="only punctuation"),
        pytest.param("пароль 密码 👩", id="any script"),
        pytest.param("  four  words  ", id="spaces"),
    ],
)
def test_there_are_no_rules_of_composition(password):
    assert problem_of(password) is None


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    ("password", "problem"),
    [
        pytest.param("password", COMMON, id="listed"),
        pytest.param("PassWord", COMMON, id="in another case"),
        pytest.param("passwordpassword", COMMON, id="listed, twice"),
        pytest.param("manchesterunited", COMMON, id="listed, of 16 characters"),
        pytest.param("Password123!", ALTERED, id="a capital, digits and punctuation"),
        pytest.param("!!password!!", ALTERED, id="punctuation"),
        pytest.param("2026-Liverpool", ALTERED, id="a year before"),
        pytest.param("P@ssw0rd2026!", ALTERED, id="listed, with digits inside"),
        pytest.param("Summer2026!", ALTERED, id="a short word and a year"),
        pytest.param("monkey48213", ALTERED, id="a short word and digits"),
        pytest.param("ManchesterUnited20262027!", ALTERED, id="a long word and more digits"),
        pytest.param("w" * 13, REPEATED, id="one character"),
        pytest.param("x" * 72, REPEATED, id="one character, 72 times"),
        pytest.param(" " * 8, REPEATED, id="spaces"),
        pytest.param("q!Zq!Zq!Zq!", REPEATED, id="three characters"),
        pytest.param("q!Z4w8mq!Z4w8m", REPEATED, id="seven characters, twice"),
        pytest.param("123456789012", COMMON, id="digits"),
        pytest.param("hijklmnopq", RUN, id="letters from the middle"),
        pytest.param("1qaz2wsx#EDC", RUN, id="columns of keys"),
        pytest.param("fghjklcvbnm", RUN, id="rows of keys"),
        pytest.param("1qaz2wsx3edc4rfv5tgb6yhn7ujm8ik,", RUN, id="many columns of keys"),
        pytest.param("efghijkl1234", RUN, id="letters and digits"),
        pytest.param("fghjklcvbnm!", RUN, id="rows of keys and punctuation"),
        pytest.param("12345678901!", ALTERED, id="digits and punctuation"),
    ],
)
def test_what_attackers_try_first_is_refused(password, problem):
    assert problem_of(password) == problem


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    "password",
    [
        pytest.param(PASSWORD, id="words"),
        pytest.param("correct horse battery staple", id="many words"),
        pytest.param("password and a violin", id="a listed word among others"),
        pytest.param("violin7password", id="a listed word after another"),
        pytest.param("summer83920184756", id="more digits than a short word"),
        pytest.param("q!Z4w8mkq!Z4w8mk", id="eight characters, twice"),
        pytest.param("qwerty sat on a mat", id="a run among words"),
        pytest.param(f"{PASSWORD:x<72}", id="words and a long run"),
        pytest.param("pa-ss-wo-rd", id="punctuation inside"),
    ],
)
def test_what_only_contains_a_common_password_is_accepted(password):
    assert problem_of(password) is None


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    "password",
    [
        *("adalovelace", "AdaLovelace", EMAIL, EMAIL.upper()),
        *("AdaLovelace1!", "1AdaLovelace", f"{EMAIL}7", "adalovelaceadalovelace"),
        "ﬀorest.ﬁeld9",
    ],
)
def test_the_username_and_the_email_are_refused_in_any_form(password):
    email = "fforest.field@example.org" if "ﬁ" in password else EMAIL
    assert problem_of(password, username="AdaLovelace", email=email) == SIMILAR


def test_a_password_may_contain_the_username():
    assert problem_of(f"{USERNAME} likes engines", username=USERNAME, email=EMAIL) is None


@pytest.mark.promise(7)
@pytest.mark.parametrize(
    "password",
    ["AcmeWidgets", "acmewidgets", "Acmewidgets2026!", "#Ähre GmbH", "ÄhreGmbH", "stmaryslibrary7"],
)
def test_a_word_of_the_site_is_refused(password):
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
@pytest.mark.parametrize("field", ["username", "email"])
def test_no_normal_form_is_computed_of_a_name_longer_than_names_are(monkeypatch, field):
    # Of combining marks out of order, it takes quadratic time.
    lengths = []
    monkeypatch.setattr(names, "key", lambda name: lengths.append(len(name)) or name)
    assert problem_of(PASSWORD, **{field: "\u0344\u0334" * 4000}) is None
    assert max(lengths) <= names.EMAIL_MAX_LENGTH


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
@pytest.mark.parametrize(
    "password",
    [
        pytest.param("73916482503619482735019283746501928374650192837465", id="50 digits"),
        pytest.param("739164825036194827350192837465019283746501928374650192837465728193", id="66"),
        pytest.param("!?#" * 24, id="punctuation"),
        pytest.param("\N{PARENTHESIZED NUMBER TWENTY}" * 24, id="digits once they are folded"),
        pytest.param("\N{ARABIC LIGATURE SALLALLAHOU ALAYHE WASALLAM}" * 24, id="long when folded"),
        pytest.param("abc987" * 12, id="runs"),
    ],
)
def test_no_password_costs_as_much_as_a_hash(password):
    cost = partial(shortest, clock=time.thread_time)
    hashing = cost(bcrypt.hashpw, b"password", bcrypt.gensalt(10), times=1)  # a quarter of usual
    assert cost(problem_of, password, times=10) < hashing / 5


@pytest.mark.parametrize("password", ["1012199510121995", "familiyafamiliya", "GeorgetaGeorgeta"])
def test_a_common_password_that_repeats_something_long_is_refused(password):
    assert problem_of(password) == COMMON


@pytest.mark.parametrize("altered", ["", "!", "1"])
def test_a_name_that_repeats_something_long_is_no_password(altered):
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
@pytest.mark.parametrize("rounds", [4, 5])
def test_the_cost_is_the_one_that_is_asked_for(rounds):
    assert hash_password(PASSWORD, rounds=rounds).startswith(f"$2b${rounds:02d}$")


@pytest.mark.promise(8)
@pytest.mark.parametrize(
    ("cost", "rounds", "is_needed"),
    [
        pytest.param(4, 4, False, id="4 for 4"),
        pytest.param(10, 10, False, id="10 for 10"),
        pytest.param(12, 12, False, id="12 for 12"),
        pytest.param(31, 31, False, id="31 for 31"),
        pytest.param(4, 5, True, id="lower"),
        pytest.param(12, 14, True, id="lower, of the same first digit"),
        pytest.param(4, 14, True, id="lower, of the same last digit"),
        pytest.param(5, 4, True, id="higher"),
        pytest.param(14, 12, True, id="higher, of the same first digit"),
        pytest.param(14, 4, True, id="higher, of the same last digit"),
    ],
)
def test_a_hash_of_another_cost_is_replaced(cost, rounds, is_needed):
    hashed = HASH.replace("$04$", f"${cost:02d}$")
    assert needs_rehash(hashed, rounds=rounds) is is_needed


@pytest.mark.promise(6)
@pytest.mark.parametrize(
    "password",
    [
        pytest.param("a" * 72, id="72 bytes"),
        pytest.param("é" * 36, id="36 characters in 72 bytes"),
        pytest.param("  four  words  ", id="spaces"),
        pytest.param("пароль 密码 👩", id="any script"),
        pytest.param("tab\tand\nline", id="controls but NUL"),
    ],
)
def test_a_password_is_verified_with_all_its_characters(password):
    hashed = hash_password(password, rounds=4)
    assert verify_password(password, hashed, rounds=4)
    assert not verify_password(password.strip()[:-1], hashed, rounds=4)


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


@pytest.mark.parametrize("version", ["2a", "2y"])
def test_hashes_of_other_bcrypt_tools_are_verified(version):
    assert verify_password(PASSWORD, HASH.replace("2b", version, 1), rounds=4)


@pytest.mark.promise(9)
def test_no_password_is_nobodys_password():
    imported = bcrypt.hashpw(b"", bcrypt.gensalt(4)).decode()  # as other tools may have made it
    assert not verify_password("", imported, rounds=4)


@pytest.mark.promise(6)
@pytest.mark.parametrize(("password", "remains", "reason"), UNREPRESENTABLE)
def test_what_bcrypt_cannot_represent_is_not_hashed(password, remains, reason):
    with pytest.raises(ValueError, match=reason) as caught:
        hash_password(password, rounds=4)
    assert password not in str(caught.value)


@pytest.mark.promise(6)
@pytest.mark.promise(9)
@pytest.mark.parametrize(("password", "remains", "reason"), UNREPRESENTABLE)
def test_what_bcrypt_cannot_represent_does_not_match_what_remains_of_it(password, remains, reason):
    assert not verify_password(password, hash_password(remains, rounds=4), rounds=4)


@pytest.mark.promise(9)
@pytest.mark.parametrize(
    "stored",
    [
        pytest.param(None, id="no user"),
        pytest.param("", id="empty"),
        pytest.param(PASSWORD, id="a password in clear"),
        pytest.param(HASH[:-1], id="cut off"),
        pytest.param(HASH + "=", id="too long"),
        pytest.param(HASH.replace("$04$", "$99$"), id="impossible cost"),
        pytest.param(HASH.replace("$2b$", "$2x$"), id="broken version"),
        pytest.param(HASH[:-1] + "é", id="beyond ASCII"),
        pytest.param(HASH[:28] + "f" + HASH[29:], id="salt that bcrypt cannot read"),
    ],
)
def test_a_password_never_matches_what_is_no_hash(stored):
    assert not verify_password(PASSWORD, stored, rounds=4)
