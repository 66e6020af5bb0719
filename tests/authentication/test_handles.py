"""The form of handles."""

import secrets

import pytest

from wsgiauth.authentication import passkeys
from wsgiauth.authentication.handles import is_handle
from wsgiauth.authentication.key_format import make_key


@pytest.mark.parametrize(
    "handle",
    [
        pytest.param(make_key().id, id="key"),
        pytest.param(secrets.token_hex(8), id="app"),
        pytest.param(passkeys.digest("x"), id="passkey"),
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
def test_anything_else_is_none(text):
    assert not is_handle(text)
