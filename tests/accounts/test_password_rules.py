"""What a new password must be."""

import hashlib
import logging
import random
import time
from functools import partial

import bcrypt
import pytest

from tests.accounts.test_passwords import UNREPRESENTABLE
from tests.support.sites import EMAIL, PASSWORD, USERNAME
from tests.support.timing import shortest
from wsgiauth.accounts import names
from wsgiauth.accounts.password_rules import PasswordRules
from wsgiauth.exceptions import RetryLaterError

COMMON = "This password is one of the most common; choose another."
ALTERED = "This password is a common one with a few characters added; choose another."
REPEATED = "This password repeats a character or a short pattern; choose another."
RUN = "This password follows the order of keys, letters or digits; choose another."
SIMILAR = "The password is too similar to the username or the e-mail address."
OF_THE_SITE = "The password is too similar to a name of this site."
BREACHED = "This password is known from a data breach; choose another."

LONG = "four unrelated words, and because some people like it, a long sentence after them"

problem_of = PasswordRules().problem


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
    assert PasswordRules(min_length=min_length).problem(password) == expected


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
    rules = PasswordRules(words=("AcmeWidgets", "ähre gmbh", "St. Mary's Library"))
    assert rules.problem(password) == OF_THE_SITE
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
    rules = PasswordRules(breached=breached)
    assert rules.problem("Four Unrelated Words") == BREACHED
    assert rules.problem("four unrelated words") is None


@pytest.mark.promise(7)
def test_no_password_is_accepted_unchecked(breached, caplog):
    rules = PasswordRules(breached=breached)
    breached.rename(breached.with_suffix(".old"))
    with caplog.at_level(logging.ERROR), pytest.raises(RetryLaterError) as refused:
        rules.problem("Four Unrelated Words")
    assert refused.value.status == 503
    assert "BREACHED_PASSWORDS cannot be read: No such file" in caplog.text
    breached.with_suffix(".old").rename(breached)
    assert rules.problem("Four Unrelated Words") == BREACHED


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
    assert PasswordRules().problem(password) == COMMON


@pytest.mark.parametrize("altered", ["", "!", "1"])
def test_a_name_that_repeats_something_long_is_no_password(altered):
    rules = PasswordRules(words=("kittiwakekittiwake",))
    assert rules.problem(f"KittiwakeKittiwake{altered}") is not None
    assert PasswordRules().problem(f"qmzkvxwpqmzkvxwp{altered}", username="qmzkvxwpqmzkvxwp")
    assert PasswordRules().problem(f"qmzkvxwpqmzkvxwp{altered}", email="qmzkvxwpqmzkvxwp@x.org")
