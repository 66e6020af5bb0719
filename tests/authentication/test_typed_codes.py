"""Codes as keyboards of the world write them."""

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


def test_a_code_is_read_as_it_was_meant():
    for case, (code, meant) in {
        **{name: (digits, "0123456789") for name, digits in DIGITS.items()},
        "spaces": (" 123 456\n", "123456"),
        "wide and narrow spaces": ("123\u3000456\u00a0", "123456"),
        "hyphen": ("123-456", "123456"),
        "full-width hyphen": (full_width("123-456"), "123456"),
        "other hyphens": ("123\u20104\u20135\u20146\u22127\u30fc8\uff709", "123456789"),
        "invisible characters": ("\ufeff123\u200b456\u200e\u00ad", "123456"),
        "full-width letters": (full_width("ABCD-efgh"), "ABCDefgh"),
        "words are no digits": ("一二三", "一二三"),
        "another character stays": ("12.34", "12.34"),
        "100 characters": ("1" * 100, "1" * 100),
        "101 characters": ("1" * 101, ""),
        "hostile": ("\u0344\u0334" * 4000, ""),
        "surrogate": ("\ud800", "\ud800"),
    }.items():
        assert plain(code) == meant, case


def test_a_code_of_an_app_is_accepted_in_any_digits(ada):
    for case, digits in DIGITS.items():
        device = totp.begin(ada, "Phone", NOW)
        first, second = (
            totp.code_of_step(totp.derive_key(KEY, device.salt), step)
            for step in (NOW // STEP, NOW // STEP + 1)
        )
        to_script = str.maketrans("0123456789", digits)
        assert totp.confirm(device, first.translate(to_script), (KEY,), NOW), case
        code = second.translate(to_script)
        assert totp.accept(ada, f"{code[:3]}-{code[3:]}", (KEY,), NOW + STEP), case


def test_a_recovery_code_is_accepted_in_full_width_and_once(ada):
    code, *_ = recovery_codes.replace(ada, rounds=4)
    assert recovery_codes.use(ada, full_width(code.lower()))
    assert not recovery_codes.use(ada, code)


def test_a_recovery_code_with_something_behind_it_is_none(ada):
    code, *_ = recovery_codes.replace(ada, rounds=4)
    assert not recovery_codes.use(ada, f"{code}{' ' * 80}x")
    assert recovery_codes.use(ada, code)
