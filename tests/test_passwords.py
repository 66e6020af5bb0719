"""Hashing, verifying and judging passwords."""

from importlib import resources

import bcrypt
import pytest

from tests.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import names
from wsgiauth.passwords import (
    DEFAULT_ROUNDS,
    hash_password,
    needs_rehash,
    password_problem,
    verify_password,
)

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


def problem_of(password, **context):
    return password_problem(password, min_length=8, **context)


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
def test_a_password_is_verified_as_it_was_typed(password):
    hashed = hash_password(password, rounds=4)
    assert verify_password(password, hashed, rounds=4)
    assert not verify_password(password.strip()[:-1], hashed, rounds=4)


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
@pytest.mark.parametrize(("password", "remains", "reason"), UNREPRESENTABLE)
def test_what_bcrypt_cannot_represent_is_no_new_password(password, remains, reason):
    assert reason in problem_of(password)


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


@pytest.mark.promise(6)
@pytest.mark.parametrize(
    ("password", "min_length", "is_accepted"),
    [
        pytest.param("qzjv xwk", 8, True, id="8 of 8"),
        pytest.param("qzjv xw", 8, False, id="7 of 8"),
        pytest.param("", 8, False, id="empty"),
        pytest.param("éèàüöäñç", 8, True, id="8 characters in 16 bytes"),
        pytest.param("éèàü", 8, False, id="4 characters in 8 bytes"),
        pytest.param("a" * 12, 12, True, id="12 of 12"),
        pytest.param("qzjv xwk bq", 12, False, id="11 of 12"),
        pytest.param("x" * 64, 8, True, id="64 characters"),
        pytest.param("x" * 72, 72, True, id="72 of 72"),
        pytest.param(" " * 8, 8, True, id="only spaces"),
        pytest.param("qzjvxwkb", 8, True, id="only lower case"),
    ],
)
def test_only_the_length_of_a_password_is_ruled(password, min_length, is_accepted):
    refusal = f"A password has at least {min_length} characters."
    expected = None if is_accepted else refusal
    assert password_problem(password, min_length=min_length) == expected


@pytest.mark.promise(7)
@pytest.mark.parametrize("password", ["adalovelace", "AdaLovelace", EMAIL, EMAIL.upper()])
def test_the_username_and_the_email_are_refused_in_any_case(password):
    problem = problem_of(password, username="AdaLovelace", email=EMAIL)
    assert problem == "The password cannot be the username or the e-mail address."


@pytest.mark.promise(7)
@pytest.mark.promise(15)
@pytest.mark.parametrize("field", ["username", "email"])
def test_no_normal_form_is_computed_of_a_name_longer_than_names_are(monkeypatch, field):
    # Of combining marks out of order, it takes quadratic time.
    lengths = []
    monkeypatch.setattr(names, "key", lambda name: lengths.append(len(name)) or name)
    assert problem_of(PASSWORD, **{field: "\u0344\u0334" * 4000}) is None
    assert max(lengths) <= names.EMAIL_MAX_LENGTH


def test_a_password_may_contain_the_username():
    assert problem_of(f"{USERNAME} likes engines", username=USERNAME, email=EMAIL) is None


@pytest.mark.promise(7)
def test_every_common_password_that_is_shipped_is_refused_in_any_case():
    shipped = resources.files("wsgiauth") / "data" / "common_passwords.txt"
    lines = shipped.read_text(encoding="utf-8").splitlines()
    passwords = [line for line in lines if not line.startswith("# ")]
    assert len(set(passwords)) == 10_000
    accepted = [
        password
        for common in passwords
        for password in (common, common.upper(), common.title())
        if problem_of(password) != "This password is one of the most common; choose another."
    ]
    assert accepted == []


@pytest.mark.promise(7)
@pytest.mark.parametrize("password", ["password", "Password1", "12345678", "QWERTYUIOP"])
def test_the_most_common_passwords_are_among_them(password):
    assert "most common" in problem_of(password)


@pytest.mark.promise(7)
def test_the_list_of_common_passwords_names_its_source():
    shipped = resources.files("wsgiauth") / "data" / "common_passwords.txt"
    assert "# Source: " in shipped.read_text(encoding="utf-8")


@pytest.mark.promise(7)
def test_a_comment_in_the_list_is_no_password():
    assert problem_of("# Source: anything") is None
