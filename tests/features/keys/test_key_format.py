"""The format of API keys and of handles: what is made, and what is refused without the database."""

import re
import secrets
import zlib

import pytest

from wsgiauth.accounts.tables import Key
from wsgiauth.authentication.one_time import digest
from wsgiauth.features.keys.api_keys import MadeKey, id_of, is_handle, make_key

DOCUMENTED = re.compile(r"wsgiauth_[0-9A-Za-z]{12}_[0-9A-Za-z]{49}")
KNOWN = "wsgiauth_000000000000_" + 43 * "0"


def test_a_key_has_the_documented_format_and_its_own_id():
    key_id, text = make_key()
    assert DOCUMENTED.fullmatch(text)
    assert text.split("_")[1] == key_id == id_of(text)


def test_no_two_keys_share_an_id_or_a_secret():
    made = [make_key() for _ in range(100)]
    ids, secret_parts = {key_id for key_id, _ in made}, {text[22:-6] for _, text in made}
    assert len(ids) == len(secret_parts) == 100


def test_the_checksum_is_the_crc_32_in_base_62():
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
    crc = zlib.crc32(KNOWN.encode())
    checksum = "".join(digits[crc // 62**power % 62] for power in range(5, -1, -1))
    assert id_of(KNOWN + checksum) == "000000000000"


def test_a_mistyped_key_is_none():
    _, text = make_key()
    for position in (9, 20, 22, 40, 64, 65, 70):
        other = "0" if text[position] != "0" else "1"
        assert id_of(text[:position] + other + text[position + 1 :]) is None, position


def test_what_has_another_form_is_no_key():
    text = make_key()[1]
    spoilt = {
        "nothing": "",
        "short": text[:-1],
        "long": text + "0",
        "very long": text * 10_000,
        "line break": text + "\n",
        "capitals": text.upper(),
        "other separators": text.replace("_", "-"),
        "digit of another script": text[:-1] + "\u0660",
        "surrogate": text[:-1] + "\udcff",
        "space": " " + text,
    }
    assert {name: id_of(each) for name, each in spoilt.items()} == dict.fromkeys(spoilt)


def test_the_secret_is_not_printed():
    new = MadeKey(Key(id="000000000000"), "canary")
    assert f"{new!r} {new}".count("canary") == 0


@pytest.mark.promise(11)
def test_only_what_names_a_key_or_a_factor_is_a_handle():
    key, app, passkey = make_key()[0], secrets.token_hex(8), digest("x")
    assert [each for each in (key, app, passkey) if not is_handle(each)] == []
    others = ["", "\0", "a\0", "a" * 65, "a-b", "a\n", "\ud800", "\uff41", None, 1, ["a"]]
    assert [each for each in others if is_handle(each)] == []
