"""Signed values: for one purpose, as long as they last, and as this site has made them."""

import json
from base64 import urlsafe_b64decode
from dataclasses import replace
from importlib import import_module

import pytest

from tests.support.house import MODULES
from tests.support.settings import LONG_KEY
from tests.support.sites import SECRET_KEY
from tests.support.tables import row_by_row
from wsgiauth import Settings
from wsgiauth.exceptions import ConfigurationError
from wsgiauth.signed_values import ExpiringValues, KeyedDigests, Purpose, SignedValues, encoded

NOW, MINUTE = 2_000_000_000, 60
SETTINGS = Settings(SECRET_KEY=SECRET_KEY)
OTHER = replace(SETTINGS, SECRET_KEY=LONG_KEY)
ROTATED = replace(OTHER, SECRET_KEY_FALLBACKS=(SECRET_KEY,))
PLAIN, SECRET = Purpose("tests"), Purpose("secret tests", is_secret=True)
TEXT = "Ada Lovelace, ада@bücher.example".encode()


def signing(purpose, settings=SETTINGS):
    return SignedValues(settings, purpose)


def expiring(settings=SETTINGS, lifetime=MINUTE):
    return ExpiringValues(settings, PLAIN, lifetime)


@pytest.fixture(params=[PLAIN, SECRET], ids=["plain", "secret"])
def purpose(request):
    return request.param


@row_by_row("payload", [b"", b"\x00", TEXT, bytes(range(256))])
def test_what_is_signed_is_read(payload):
    for purpose in (PLAIN, SECRET):
        assert signing(purpose).read(signing(purpose).sign(payload)) == payload


def test_a_value_needs_no_encoding_in_a_cookie_or_a_url(purpose):
    payload, signature = signing(purpose).sign(bytes(range(256))).split(".")
    assert len(signature) == 43
    assert set(payload + signature) <= set(encoded(bytes(range(256))) + "-_")
    assert "=" not in payload + signature


def test_a_value_is_valid_for_its_purpose_alone(purpose):
    value = signing(purpose).sign(TEXT)
    assert signing(purpose._replace(name="other tests")).read(value) is None


def test_a_digest_of_the_same_purpose_is_no_signature(purpose):
    """A site shows some digests, such as those in refresh tokens."""
    payload = signing(purpose).sign(TEXT).partition(".")[0]
    digest = KeyedDigests(SETTINGS, purpose).current(json.dumps([payload]).encode())
    assert signing(purpose).read(f"{payload}.{encoded(digest)}") is None


def test_a_value_is_valid_only_for_what_it_is_bound_to(purpose):
    values = signing(purpose)
    value = values.sign(TEXT, "7", "session")
    assert values.read(value, "7", "session") == TEXT
    for other in ((), ("7",), ("session", "7"), ("7session",), ("7", "session", ""), ('7", "s',)):
        assert values.read(value, *other) is None
    assert values.read(values.sign(TEXT), "") is None


def test_a_value_with_one_changed_character_is_refused(purpose):
    values = signing(purpose)
    value = values.sign(TEXT)
    for place, character in enumerate(value):
        changed = "A" if character != "A" else "B"
        assert values.read(value[:place] + changed + value[place + 1 :]) is None
        assert values.read(value[:place] + value[place + 1 :]) is None


def test_a_signature_has_one_form_only(purpose):
    """Otherwise a used value could come again as another string."""
    values = signing(purpose)
    value = values.sign(TEXT)
    letters = encoded(bytes(range(256)))
    others = [value[:-1] + each for each in {*letters, *"-_"} - {value[-1]}]
    others += [value + "=", value + "==", f"{value} ", f"{value}\n", value.replace(".", "=.")]
    assert [each for each in others if values.read(each) is not None] == []


def test_the_parts_of_two_values_make_no_third(purpose):
    values = signing(purpose)
    (one, of_one), (other, of_other) = (values.sign(each).split(".") for each in (b"1", b"2"))
    for forged in (f"{one}.{of_other}", f"{other}.{of_one}", f"{one}.{other}.{of_one}"):
        assert values.read(forged) is None


@row_by_row(
    "sent",
    [
        *("", ".", "..", "x", "a b", "=", "{}", "[]", "\x00", "\ud800", "é", "é.é"),
        *("A" * 43, "A" * 4000, f".{'A' * 43}", f"A.{'A' * 43}", f"\u0661.{'A' * 43}"),
    ],
)
def test_garbage_is_refused(sent):
    for purpose in (PLAIN, SECRET):
        assert signing(purpose).read(sent) is None
    assert expiring().read(sent, now=NOW) is None


def test_a_value_that_is_too_long_is_refused():
    value = signing(PLAIN).sign(TEXT)
    assert signing(PLAIN._replace(max_length=len(value))).read(value) == TEXT
    assert signing(PLAIN._replace(max_length=len(value) - 1)).read(value) is None
    assert signing(PLAIN).read(signing(PLAIN).sign(bytes(7000))) is None


def test_a_former_key_reads_and_another_one_does_not(purpose):
    value = signing(purpose).sign(TEXT)
    assert signing(purpose, ROTATED).read(value) == TEXT
    assert signing(purpose, OTHER).read(value) is None
    assert signing(purpose).read(signing(purpose, ROTATED).sign(TEXT)) is None


def test_values_need_a_key(purpose):
    with pytest.raises(ConfigurationError, match="SECRET_KEY"):
        signing(purpose, Settings())


def test_a_secret_value_hides_its_payload_and_differs_each_time():
    values = [signing(SECRET).sign(TEXT) for _ in range(2)]
    assert values[0] != values[1]
    assert len(values[0]) == len(values[1])
    for value in values:
        assert TEXT not in urlsafe_b64decode(value.partition(".")[0] + "==")


def test_a_value_lasts_for_its_lifetime():
    value = expiring().sign(TEXT, now=NOW + 0.9)
    for now in (NOW - MINUTE, NOW, NOW + MINUTE - 0.1):
        assert expiring().read(value, now=now) == (TEXT, NOW + MINUTE)
    for now in (NOW + MINUTE, NOW + 10 * MINUTE):
        assert expiring().read(value, now=now) is None


def test_a_value_of_a_clock_that_is_far_ahead_is_refused():
    value = expiring().sign(TEXT, now=NOW)
    assert expiring().read(value, now=NOW - MINUTE - 1) is None
    assert expiring(lifetime=1).read(value, now=NOW - 2) is None


def test_a_value_that_expires_is_bound_and_rotated_as_the_others():
    value = expiring().sign(TEXT, "7", now=NOW)
    assert expiring(ROTATED).read(value, "7", now=NOW).payload == TEXT
    assert expiring().read(value, "8", now=NOW) is None
    assert expiring(OTHER).read(value, "7", now=NOW) is None


def test_the_end_of_a_value_cannot_be_changed():
    payload, _, signature = expiring().sign(TEXT, now=NOW).partition(".")
    later = encoded((NOW + 9 * MINUTE).to_bytes(8) + TEXT)
    assert len(later) == len(payload)
    assert expiring().read(f"{later}.{signature}", now=NOW) is None


def test_digests_stay_as_they_are():
    """Refresh tokens and rows of the database have them."""
    digests = KeyedDigests(ROTATED, Purpose("former passwords"))
    stored = "13b990f9167702187fc30df0de8912cd8718900c5f3076154ae4c12b7ad22a7c"
    assert digests.all(b"name")[1].hex() == stored
    assert digests.all(b"name")[0] == digests.current(b"name")


def purposes():
    """Return the purposes that the modules of the package declare, by module and name."""
    importers = (
        name
        for name, path in MODULES.items()
        if "wsgiauth.signed_values" in path.read_text(encoding="utf-8")
    )
    modules = [import_module(f"wsgiauth.{name}") for name in importers]
    return {
        (module.__name__, name): value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, Purpose)
    }


def test_no_two_purposes_have_the_same_name():
    names = [each.name for each in purposes().values()]
    assert len(names) >= 11
    assert len(names) == len(set(names))
    # The keys of signed values have these names; those of digests have the name of the purpose.
    starts = ("signature of ", "encryption of ")
    assert [each for each in names if each.startswith(starts)] == []
