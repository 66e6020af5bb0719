"""Strings that a browser keeps for the site."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import replace

import pytest

from tests.support.sites import SECRET_KEY
from wsgiauth.authentication.sealing import seal, unseal

TEXT = "Ada Lovelace, ада@bücher.example"


def test_what_is_sealed_is_opened_for_its_purpose_alone(settings):
    sealed = seal(TEXT, settings, "a")
    assert unseal(sealed, settings, "a") == TEXT
    assert unseal(sealed, settings, "b") is None
    assert unseal(seal("", settings, "a"), settings, "a") == ""


def test_a_former_key_opens_and_another_one_does_not(settings):
    sealed = seal(TEXT, settings, "a")
    other = replace(settings, SECRET_KEY=SECRET_KEY[::-1])
    assert unseal(sealed, other, "a") is None
    assert unseal(sealed, replace(other, SECRET_KEY_FALLBACKS=(SECRET_KEY,)), "a") == TEXT


def test_the_text_is_in_no_seal_and_each_seal_differs(settings):
    first, second = (seal(TEXT, settings, "a") for _ in range(2))
    assert first != second
    assert TEXT.encode() not in urlsafe_b64decode(f"{first}==")


@pytest.mark.parametrize("sent", ["", "x", "é", "A" * 43, "A" * 4000, "\x00", "=", "a b"])
def test_a_string_that_was_not_sealed_is_none(settings, sent):
    assert unseal(sent, settings, "a") is None


def test_a_seal_with_one_changed_bit_is_none(settings):
    whole = urlsafe_b64decode(f"{seal(TEXT, settings, 'a')}==")
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1
        assert unseal(urlsafe_b64encode(changed).decode().rstrip("="), settings, "a") is None
