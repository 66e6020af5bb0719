"""Codes as keyboards of the world write them, and as people paste them."""

from wsgiauth.authentication.typed_codes import digits_in, letters_in
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


def test_a_number_is_read_as_it_was_meant():
    for case, (typed, meant) in {
        **{name: (digits[1:9], "12345678") for name, digits in DIGITS.items()},
        "spaces": (" 1234 5678\n", "12345678"),
        "wide and narrow spaces": ("1234\u3000567\u00a08", "12345678"),
        "hyphen": ("1234-5678", "12345678"),
        "full-width hyphen": (full_width("1234-5678"), "12345678"),
        "other hyphens": ("1\u20102\u20133\u20144\u22125\u30fc6\uff7078", "12345678"),
        "invisible characters": ("\ufeff1234\u200b567\u200e\u00ad8", "12345678"),
        "sentence": ("Your code is 1234 5678.", "12345678"),
        "another number": ("12345678, for 10 minutes", "12345678"),
        "Japanese sentence": ("コードは12345678です。", "12345678"),
        "Arabic sentence": (f"رمزك هو \u200e{DIGITS['Arabic'][1:9]}.", "12345678"),
        "twice": ("1234 5678 (12345678)", "12345678"),
        "1000 characters": ("x" * 992 + "12345678", "12345678"),
        "1001 characters": ("x" * 993 + "12345678", ""),
        "minutes in a line without breaks": ("minutes:1234 5678It works 10 minutes", "12345678"),
        "a code and a date": ("2026-11-28: 12345678", ""),
        "two codes": ("12345678, 87654321", ""),
        "part of a longer number": ("123456789", ""),
        "other separator": ("1234.5678", ""),
        "words are no digits": ("一二三四五六七八", ""),
        "hostile": ("\u0344\u0334" * 4000, ""),
        "many spaces": ("1" + " " * 998 + "x", ""),
        "surrogate": ("\ud800", ""),
    }.items():
        assert digits_in(typed, 8) == meant, case


def test_letters_are_read_as_they_were_meant():
    for case, (typed, meant) in {
        "as shown": ("BCDF-GHJK", "BCDFGHJK"),
        "small letters and spaces": (" bcdf ghjk\n", "BCDFGHJK"),
        "full-width letters": (full_width("BCDF-ghjk"), "BCDFGHJK"),
        "sentence": ("Your code is BCDF-GHJK.", "BCDFGHJK"),
        "longer code": ("Your code is BCDF-GHJK-LMNP.", ""),
        "part of a word": ("A code xBCDF-GHJKx is", ""),
        "two codes": ("BCDF-GHJK, BCDF-GHJL", ""),
        "hostile": ("\u0344\u0334" * 4000, ""),
        "many groups": ("BCDF-" * 200, ""),
    }.items():
        assert letters_in(typed, 8) == meant, case


def test_a_code_of_an_app_is_accepted_in_any_digits_and_in_a_sentence(ada):
    for case, digits in DIGITS.items():
        device = totp.begin(ada, "Phone", NOW)
        first, second = (
            totp.code_of_step(totp.derive_key(KEY, device.salt), step)
            for step in (NOW // STEP, NOW // STEP + 1)
        )
        to_script = str.maketrans("0123456789", digits)
        assert totp.confirm(device, first.translate(to_script), (KEY,), NOW), case
        code = second.translate(to_script)
        sentence = f"The code is {code[:3]}-{code[3:]}."
        assert totp.accept(ada, sentence, (KEY,), NOW + STEP), case


def test_a_recovery_code_is_accepted_in_full_width_or_in_a_sentence_and_once(ada):
    first, second, *_ = recovery_codes.replace(ada, rounds=4)
    for code, typed in ((first, full_width(first.lower())), (second, f"Recovery code: {second}.")):
        assert recovery_codes.use(ada, typed)
        assert not recovery_codes.use(ada, code)


def test_a_recovery_code_with_something_behind_it_or_another_one_is_none(ada):
    code, other, *_ = recovery_codes.replace(ada, rounds=4)
    for typed in (f"{code}x", f"{code}-x", f"{code} {other}", f"{' ' * 1000}{code}"):
        assert not recovery_codes.use(ada, typed)
    assert recovery_codes.use(ada, code)
