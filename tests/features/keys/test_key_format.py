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


@pytest.mark.parametrize("position", [9, 20, 22, 40, 64, 65, 70])
def test_a_mistyped_key_is_none(position):
    _, text = make_key()
    other = "0" if text[position] != "0" else "1"
    assert id_of(text[:position] + other + text[position + 1 :]) is None


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda text: "", id="nothing"),
        pytest.param(lambda text: text[:-1], id="short"),
        pytest.param(lambda text: text + "0", id="long"),
        pytest.param(lambda text: text * 10_000, id="very long"),
        pytest.param(lambda text: text + "\n", id="line break"),
        pytest.param(lambda text: text.upper(), id="capitals"),
        pytest.param(lambda text: text.replace("_", "-"), id="other separators"),
        pytest.param(lambda text: text[:-1] + "\u0660", id="digit of another script"),
        pytest.param(lambda text: text[:-1] + "\udcff", id="surrogate"),
        pytest.param(lambda text: " " + text, id="space"),
    ],
)
def test_what_has_another_form_is_no_key(spoil):
    assert id_of(spoil(make_key()[1])) is None


def test_the_secret_is_not_printed():
    new = MadeKey(Key(id="000000000000"), "canary")
    assert f"{new!r} {new}".count("canary") == 0


@pytest.mark.parametrize(
    "handle",
    [
        pytest.param(make_key()[0], id="key"),
        pytest.param(secrets.token_hex(8), id="app"),
        pytest.param(digest("x"), id="passkey"),
    ],
)
def test_what_names_a_key_or_a_factor_is_a_handle(handle):
    assert is_handle(handle)


@pytest.mark.promise(11)
@pytest.mark.parametrize(
    "text",
    ["", "\0", "a\0", "a" * 65, "a-b", "a\n", "\ud800", "\uff41", None, 1, ["a"]],
    ids=repr,
)
def test_anything_else_is_no_handle(text):
    assert not is_handle(text)
