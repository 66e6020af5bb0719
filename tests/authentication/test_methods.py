"""Methods of authentication, in words."""

from wsgiauth.authentication.methods import has_second_factor, methods_in_words, with_method


def test_methods_are_shown_in_words():
    for methods, words in [
        ([], ""),
        (["pwd"], "password"),
        (["pwd", "otp"], "password, one-time code"),
        (["pwd", "otp", "recovery"], "password, recovery code"),
        (["otp", "pwd", "recovery"], "one-time code, password, recovery code"),
        (["saml"], "saml"),
    ]:
        assert methods_in_words(methods) == words, (methods, words)
    assert methods_in_words(["fed", "otp", "recovery"], "Google") == "Google, recovery code"


def test_a_code_is_a_second_factor_and_so_is_a_key():
    for methods, is_one in [
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
    ]:
        assert has_second_factor(methods) is is_one, (methods, is_one)


def test_a_login_gains_a_method():
    assert with_method("pwd", "otp") == "pwd otp"
    assert with_method("", "otp") == "otp"
    assert with_method("x" * 61, "otp") == "otp"
