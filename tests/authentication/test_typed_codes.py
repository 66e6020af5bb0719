"""Codes as keyboards of the world write them."""

import pytest

from wsgiauth.authentication.typed_codes import plain
from wsgiauth.features.factors import recovery_codes, totp
from wsgiauth.features.factors.totp import STEP


def full_width(text):
    return "".join(chr(ord(each) + 0xFEE0) for each in text)


DIGITS = {
    "full-width": full_width("0123456789"),
    "Arabic": "٠١٢٣٤٥٦٧٨٩",
    "Persian": "۰۱۲۳۴۵۶۷۸۹",
    "Devanagari": "०१२३४५६७८९",
}
KEY, NOW = "k" * 43, 2_000_000_000


@pytest.mark.parametrize(
    ("code", "meant"),
    [
        *(pytest.param(digits, "0123456789", id=name) for name, digits in DIGITS.items()),
        pytest.param(" 123 456\n", "123456", id="spaces"),
        pytest.param("123\u3000456\u00a0", "123456", id="wide and narrow spaces"),
        pytest.param("123-456", "123456", id="hyphen"),
        pytest.param(full_width("123-456"), "123456", id="full-width hyphen"),
        pytest.param(
            "123\u20104\u20135\u20146\u22127\u30fc8\uff709", "123456789", id="other hyphens"
        ),
        pytest.param("\ufeff123\u200b456\u200e\u00ad", "123456", id="invisible characters"),
        pytest.param(full_width("ABCD-efgh"), "ABCDefgh", id="full-width letters"),
        pytest.param("一二三", "一二三", id="words are no digits"),
        pytest.param("12.34", "12.34", id="another character stays"),
        pytest.param("1" * 100, "1" * 100, id="100 characters"),
        pytest.param("1" * 101, "", id="101 characters"),
        pytest.param("\u0344\u0334" * 4000, "", id="hostile"),
        pytest.param("\ud800", "\ud800", id="surrogate"),
    ],
)
def test_a_code_is_read_as_it_was_meant(code, meant):
    assert plain(code) == meant


@pytest.mark.parametrize("digits", DIGITS.values(), ids=DIGITS)
def test_a_code_of_an_app_is_accepted_in_any_digits(ada, digits):
    device = totp.begin(ada, "Phone", NOW)
    first, second = (
        totp.code_of_step(totp.derive_key(KEY, device.salt), step)
        for step in (NOW // STEP, NOW // STEP + 1)
    )
    to_script = str.maketrans("0123456789", digits)
    assert totp.confirm(device, first.translate(to_script), (KEY,), NOW)
    code = second.translate(to_script)
    assert totp.accept(ada, f"{code[:3]}-{code[3:]}", (KEY,), NOW + STEP)


def test_a_recovery_code_is_accepted_in_full_width_and_once(ada):
    code, *_ = recovery_codes.replace(ada, rounds=4)
    assert recovery_codes.use(ada, full_width(code.lower()))
    assert not recovery_codes.use(ada, code)


def test_a_recovery_code_with_something_behind_it_is_none(ada):
    code, *_ = recovery_codes.replace(ada, rounds=4)
    assert not recovery_codes.use(ada, f"{code}{' ' * 80}x")
    assert recovery_codes.use(ada, code)
