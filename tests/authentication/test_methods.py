"""Methods of authentication, in words."""

import pytest

from wsgiauth.authentication.methods import has_second_factor, methods_in_words, with_method


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        ([], ""),
        (["pwd"], "password"),
        (["pwd", "otp"], "password, one-time code"),
        (["pwd", "otp", "recovery"], "password, one-time code, recovery code"),
        (["saml"], "saml"),
    ],
)
def test_methods_are_shown_in_words(methods, words):
    assert methods_in_words(methods) == words


@pytest.mark.parametrize(
    ("methods", "is_one"),
    [
        ("", False),
        ("pwd", False),
        ("pwd mail", False),
        ("user", False),
        ("pwd user", False),
        ("otpx", False),
        ("otp", True),
        ("hwk", True),
        ("pwd otp", True),
        ("pwd hwk", True),
        ("hwk user", True),
    ],
)
def test_a_code_is_a_second_factor_and_so_is_a_key(methods, is_one):
    assert has_second_factor(methods) is is_one


def test_a_login_gains_a_method():
    assert with_method("pwd", "otp") == "pwd otp"
    assert with_method("", "otp") == "otp"
    assert with_method("x" * 61, "otp") == "otp"
