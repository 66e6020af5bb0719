"""Hashing and verifying passwords."""

import bcrypt
import pytest
from webtest import TestApp

from tests.support.sites import PASSWORD
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts.passwords import (
    DEFAULT_ROUNDS,
    hash_password,
    needs_rehash,
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
