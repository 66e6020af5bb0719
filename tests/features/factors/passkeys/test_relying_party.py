"""What a relying party accepts, of an authenticator that can lie about everything."""

import json
import logging
import sys
from dataclasses import replace

import pytest

from tests.support.authenticators import (
    CAN_BE_BACKED_UP,
    HAS_CREDENTIAL,
    IS_BACKED_UP,
    PASSKEYS,
    USER_PRESENT,
    USER_VERIFIED,
    Authenticator,
    add_passkey,
    cbor,
    changed,
    decode,
    encode,
)
from tests.support.sites import echo
from wsgiauth import AuthMiddleware, change_password, storage
from wsgiauth.accounts import find_user, update_user
from wsgiauth.authentication.browser_keys import CONFIRM, LOG_IN, SECOND_STEP
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ConfigurationError, UnauthenticatedError, ValidationError
from wsgiauth.features.factors.passkeys import MOST_PASSKEYS, Passkey
from wsgiauth.features.factors.passkeys.challenges import LIFETIME
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.settings import kinds

NOW = 2_000_000_000


@pytest.fixture
def settings(settings):
    return replace(settings, **PASSKEYS)


@pytest.fixture
def site(settings):
    made = AuthMiddleware(echo, settings)
    made.site.tokens.now = lambda: NOW
    yield made
    storage.discard_connection(made.database)


@pytest.fixture
def party(site):
    return site.site.part(RelyingParty)


@pytest.fixture
def key(site, ada):
    """Return the authenticator with Ada's passkey."""
    return add_passkey(site, ada)


@pytest.fixture
def log_in(party):
    """Return a function that logs in with an authenticator, whose answer it can change."""

    def log_in(key, change=lambda answer: answer, purpose=LOG_IN, bound_to=(), user=None):
        options = party.request_options(purpose, *bound_to, now=NOW, user=user)
        presented = party.read(change(key.get(options)), purpose, *bound_to, now=NOW)
        return presented and party.accept(presented, NOW, user=user)

    return log_in


@pytest.fixture
def register(party, ada):
    """Return a function that registers a passkey of Ada, with a changed answer."""

    def register(key, change=lambda answer: answer, user=ada):
        options = party.creation_options(user, NOW)
        party.register(user, "Laptop", change(key.create(options)), NOW)

    return register


def refused(register, *arguments, **options):
    with pytest.raises(ValidationError) as caught:
        register(*arguments, **options)
    assert not Passkey.select().exists()
    return caught.value.errors


def test_a_passkey_of_each_algorithm_logs_its_user_in(site, ada, log_in):
    for algorithm in (-7, -8, -257):  # ES256, EdDSA, RS256
        key = add_passkey(site, ada, authenticator=Authenticator(algorithm))
        assert log_in(key) == (ada, "hwk user")
        stored = Passkey.get()
        assert (stored.name, stored.relying_party, stored.transports) == (
            "Laptop",
            "localhost",
            "internal",
        )
        assert (stored.created_at, stored.last_used_at) == (NOW, NOW)
        stored.delete_instance()


def test_a_credential_id_has_the_lengths_of_the_standard(site, ada, log_in):
    for length in (1, 1023):
        key = Authenticator()
        key.credential_id = bytes(length - 1) + b"x"
        add_passkey(site, ada, authenticator=key)
        assert log_in(key).user == ada


def test_the_user_handle_is_random_and_one_for_all_passkeys_of_a_user(site, ada, grace):
    first, second, other = (add_passkey(site, each) for each in (ada, ada, grace))
    assert first.handle == second.handle != other.handle
    assert len(first.handle) == 32
    assert {each.user_handle for each in Passkey.select()} == {
        encode(first.handle),
        encode(other.handle),
    }


def test_a_browser_is_asked_for_no_second_passkey_of_one_authenticator(site, party, ada, key):
    options = json.loads(party.creation_options(ada, NOW))
    (known,) = options["excludeCredentials"]
    assert known["id"] == encode(key.credential_id)
    assert options["rp"] == {"id": "localhost", "name": "localhost"}


def test_only_a_login_without_a_name_demands_that_the_user_is_verified(log_in, ada, key):
    key.flags = USER_PRESENT
    assert log_in(key) is None
    for purpose in (SECOND_STEP, CONFIRM):
        assert log_in(key, purpose=purpose, user=ada) == (ada, "hwk")


def test_a_user_without_passkeys_is_asked_for_none(party, ada):
    assert party.request_options(CONFIRM, now=NOW, user=ada) == ""


# What is refused

LIES = {
    "another origin": {"origin": "http://localhost:8081"},
    "another scheme": {"origin": "https://localhost:8080"},
    "a host below": {"origin": "http://x.localhost:8080"},
    "origin is no string": {"origin": ["http://localhost:8080"]},
    "another relying party": {"host": "example.org"},
    "another type": {"type": "webauthn.create"},
    "a payment": {"type": "payment.get"},
    "a frame of another site": {"further": {"crossOrigin": True}},
    "a strange frame": {"further": {"crossOrigin": "false"}},
    "a page above": {"further": {"crossOrigin": False, "topOrigin": "https://example.org"}},
    "no challenge": {"further": {"challenge": None}},
    "nobody was there": {"flags": USER_VERIFIED},
    "not verified": {"flags": USER_PRESENT},
    "backed up, but cannot be": {"flags": USER_PRESENT | USER_VERIFIED | IS_BACKED_UP},
    "another user's handle": {"handle": b"x" * 32},
    "another credential": {"credential_id": b"x" * 32},
}


@pytest.mark.promise(56)
def test_a_lie_is_refused_at_a_login(log_in, key):
    truth, found = vars(key).copy(), {}
    for name, lies in LIES.items():
        vars(key).update(lies)
        found[name] = log_in(key)
        vars(key).update(truth)
    assert found == dict.fromkeys(LIES)
    assert log_in(key)


def tamper(name):
    def change(answer):
        part = bytearray(decode(json.loads(answer)["response"][name]))
        part[-1] ^= 1
        return changed(answer, **{name: encode(part)})

    return change


OVERSIZED = "A" * 8004
CHANGES = {
    "tampered signature": tamper("signature"),
    "tampered data": tamper("authenticatorData"),
    "tampered client data": tamper("clientDataJSON"),
    "no signature": lambda answer: changed(answer, signature=None),
    "no data": lambda answer: changed(answer, authenticatorData=None),
    "no client data": lambda answer: changed(answer, clientDataJSON=None),
    "no handle": lambda answer: changed(answer, userHandle=None),
    "long signature": lambda answer: changed(answer, signature=OVERSIZED),
    "long data": lambda answer: changed(answer, authenticatorData=OVERSIZED),
    "long client data": lambda answer: changed(answer, clientDataJSON=OVERSIZED),
    "long handle": lambda answer: changed(answer, userHandle="A" * 88),
    "long id": lambda answer: changed(answer, id="A" * 1366),
    "long": lambda answer: answer + " " * 12_000,
    "padding": lambda answer: changed(answer, signature="AAA="),
    "Base64 of no length": lambda answer: changed(answer, authenticatorData="A"),
    "an id with other last bits": lambda answer: changed(
        answer, id=json.loads(answer)["id"][:-1] + "_"
    ),
    "a number": lambda answer: changed(answer, signature=7),
    "another type": lambda answer: changed(answer, type="password"),
    "no type": lambda answer: changed(answer, type=None),
    "nothing": lambda answer: "",
    "null": lambda answer: "null",
    "a list": lambda answer: "[]",
    "a string": lambda answer: '"x"',
    "deep": lambda answer: answer[:-1] + ', "more": ' + "[" * 500 + "]" * 500 + "}",
    "deep client data": lambda answer: changed(
        answer, clientDataJSON=encode(b"[" * 1000 + b"]" * 1000)
    ),
    "no object inside": lambda answer: '{"id": "AA", "type": "public-key", "response": 7}',
    "client data is a list": lambda answer: changed(answer, clientDataJSON=encode(b"[]")),
    "client data is no UTF-8": lambda answer: changed(answer, clientDataJSON=encode(b"\xff")),
    "transports are a number": lambda answer: changed(answer, transports=7),
    "data is garbage": lambda answer: changed(answer, authenticatorData=encode(b"\xff" * 50)),
}


@pytest.mark.promise(56)
@pytest.mark.promise(58)
def test_a_changed_answer_is_refused_at_a_login(log_in, key):
    found = {name: log_in(key, change) for name, change in CHANGES.items()}
    assert found == dict.fromkeys(CHANGES)
    assert log_in(key)


@pytest.mark.promise(56)
def test_a_challenge_works_once(party, key, ada):
    answer = key.get(party.request_options(LOG_IN, now=NOW))
    presented = party.read(answer, LOG_IN, now=NOW)
    assert party.accept(presented, NOW)
    assert party.accept(party.read(answer, LOG_IN, now=NOW), NOW) is None
    assert party.read(answer, LOG_IN, now=NOW + LIFETIME) is None


@pytest.mark.promise(56)
def test_a_challenge_of_another_purpose_or_binding_is_refused(party, key):
    answer = key.get(party.request_options(CONFIRM, "7", "x", now=NOW))
    assert party.read(answer, CONFIRM, "7", "x", now=NOW)
    others = [(LOG_IN, "7", "x"), (SECOND_STEP, "7", "x"), (CONFIRM, "8", "x"), (CONFIRM, "7", "y")]
    assert [each for each in others if party.read(answer, *each, now=NOW)] == []


@pytest.mark.promise(9)
@pytest.mark.promise(56)
def test_another_users_passkey_or_key_or_an_inactive_user_is_refused(site, log_in, ada, grace, key):
    other = add_passkey(site, grace)
    assert log_in(other, purpose=SECOND_STEP, user=ada) is None
    assert log_in(key, purpose=SECOND_STEP, user=ada)
    right, key.key = key.key, Authenticator().key
    assert log_in(key) is None
    key.key = right
    assert log_in(key)
    ada.is_active = False
    ada.save()
    assert log_in(key) is None


def test_a_passkey_of_another_host_is_refused_and_not_offered(party, log_in, key, ada):
    Passkey.update(relying_party="example.org").execute()
    assert log_in(key) is None
    assert party.passkeys_of(ada) == []


def test_a_passkey_that_is_removed_while_it_is_verified_is_refused(party, key):
    presented = party.read(key.get(party.request_options(LOG_IN, now=NOW)), LOG_IN, now=NOW)
    signed = party._ceremonies.signed

    class Removing:
        def signed(self, *arguments):
            Passkey.delete().execute()
            return signed(*arguments)

    party._ceremonies = Removing()
    assert party.accept(presented, NOW) is None


def test_forgeries_cost_no_query(party, key, queries):
    answer = key.get(party.request_options(LOG_IN, now=NOW))
    garbage = [change(answer) for change in CHANGES.values()]
    assert queries(lambda: [party.read(each, CONFIRM, now=NOW) for each in garbage]) == []


# The counter


@pytest.mark.promise(56)
def test_a_counter_that_goes_back_is_reported_and_not_refused(site, ada, log_in, caplog):
    key = Authenticator()
    key.count = 5
    add_passkey(site, ada, authenticator=key)
    cloned = RecordedEvent.select().where(RecordedEvent.name == "passkey_cloned")
    caplog.set_level(logging.WARNING, "wsgiauth")
    for count, expected in ((5, 0), (8, 0), (8, 1), (3, 2), (4, 2)):
        key.count = count  # and one more with the signature
        assert log_in(key).user == ada
        assert cloned.count() == expected
    assert f"event=passkey_cloned user_id={ada.id}" in caplog.text


def test_a_passkey_that_is_backed_up_later_is_stored_as_such(log_in, key):
    assert log_in(key)
    assert Passkey.get().is_backed_up is False
    key.flags |= CAN_BE_BACKED_UP | IS_BACKED_UP
    log_in(key)
    assert Passkey.get().is_backed_up is True
    # An authenticator that does not count is not suspicious.
    assert not RecordedEvent.select().where(RecordedEvent.name == "passkey_cloned").exists()


# Registration


@pytest.mark.promise(56)
def test_a_lie_is_refused_at_a_registration(register):
    not_read = ("not verified", "another user's handle", "another credential")
    lies = {name: each for name, each in LIES.items() if name not in not_read}
    for name, each in {**lies, "another type": {"type": "webauthn.get"}}.items():
        key = Authenticator()
        vars(key).update(each)
        errors = refused(register, key)
        assert errors == {"credential": ["The passkey was not added. Try again."]}, name


def with_data(data):
    attested = cbor({"fmt": "none", "attStmt": {}, "authData": data})
    return lambda answer: changed(answer, attestationObject=encode(attested))


def with_key(public):
    def change(answer):
        before = decode(json.loads(answer)["response"]["attestationObject"])
        data = before[before.index(b"authData") + len(b"authData") + 2 :]
        assert data[32] & HAS_CREDENTIAL
        return with_data(data[: 37 + 16 + 2 + 32] + cbor(public))(answer)

    return change


REGISTRATIONS = {
    "garbage": lambda answer: changed(answer, attestationObject=encode(b"\xff" * 99)),
    "nested": lambda answer: changed(answer, attestationObject=encode(b"\x81" * 5900)),
    "none": lambda answer: changed(answer, attestationObject=None),
    "long": lambda answer: changed(answer, attestationObject=OVERSIZED),
    "no credential": with_data(bytes(32) + b"\x05" + bytes(4)),
    "another id": lambda answer: changed(answer, id="AAAA"),
    "another algorithm": with_key({1: 2, 3: -35, -1: 2, -2: bytes(48), -3: bytes(48)}),
    "no algorithm": with_key({1: 2}),
    "no point": with_key({1: 2, 3: -7}),
    "a point that is not on the curve": with_key(
        {1: 2, 3: -7, -1: 1, -2: bytes(32), -3: bytes(32)}
    ),
    "text for a point": with_key({1: 2, 3: -7, -1: 1, -2: "x" * 32, -3: "y" * 32}),
    "RSA of zeros": with_key({1: 3, 3: -257, -1: bytes(256), -2: bytes(3)}),
    "an Ed25519 key that is too short": with_key({1: 1, 3: -8, -1: 6, -2: bytes(31)}),
    "a long key": with_key({1: 3, 3: -257, -1: b"\xff" * 1100, -2: b"\1\0\1"}),
}


@pytest.mark.promise(56)
@pytest.mark.promise(58)
def test_a_changed_answer_is_refused_at_a_registration(register):
    for change in REGISTRATIONS.values():
        refused(register, Authenticator(), change)
    key = Authenticator()
    refused(register, key, with_data(key._data()))  # without a credential


def test_an_answer_of_which_only_the_framing_was_changed_is_accepted(register):
    key = Authenticator()
    register(key, with_key(key.key.public))
    assert Passkey.get().credential_id == encode(key.credential_id)


@pytest.mark.promise(56)
def test_the_challenge_of_another_user_registers_nothing(party, ada, grace):
    answer = Authenticator().create(party.creation_options(grace, NOW))
    with pytest.raises(ValidationError):
        party.register(ada, "Laptop", answer, NOW)


@pytest.mark.promise(56)
def test_the_challenge_of_a_registration_works_once(party, ada):
    options = party.creation_options(ada, NOW)
    party.register(ada, "Laptop", Authenticator().create(options), NOW)
    with pytest.raises(ValidationError, match="already"):
        party.register(ada, "Phone", Authenticator().create(options), NOW)
    with pytest.raises(ValidationError):
        party.register(ada, "Phone", Authenticator().create(options), NOW + LIFETIME)
    assert [each.name for each in Passkey.select()] == ["Laptop"]


@pytest.mark.promise(56)
def test_a_passkey_has_one_owner(register, key, ada, grace):
    for user in (ada, grace):
        with pytest.raises(ValidationError, match="already"):
            register(key, user=user)
    assert Passkey.get().user_id == ada.id


def test_a_user_has_at_most_ten_passkeys(site, register, ada):
    for _ in range(MOST_PASSKEYS):
        add_passkey(site, ada)
    with pytest.raises(ValidationError, match="too many"):
        register(Authenticator())


def test_a_user_who_has_just_changed_gets_no_passkey(register, site, settings):
    changes = {
        "deactivated": lambda user: update_user(user, is_active=False),
        "new password": lambda user: change_password(
            user, "another unrelated phrase", settings=settings
        ),
        "deleted": lambda user: user.delete_instance(),
    }
    for words, change in changes.items():
        with storage.database.atomic() as transaction:
            change(find_user("ada"))
            with pytest.raises(UnauthenticatedError):
                register(Authenticator())
            assert not Passkey.select().exists(), words
            transaction.rollback()
    register(Authenticator())


# Settings


@pytest.mark.promise(29)
def test_a_missing_package_is_said_in_one_sentence(settings, monkeypatch, tmp_path):
    monkeypatch.setattr(kinds, "__file__", str(tmp_path / "wsgiauth/settings/kinds.py"))
    name = "wsgiauth.features.factors.passkeys.webauthn"
    monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "fido2", None)
    for each in [each for each in sys.modules if each.startswith("fido2.")]:
        monkeypatch.setitem(sys.modules, each, None)
    for distribution in ("wsgi-accounts", "."):
        with pytest.raises(ConfigurationError) as caught:
            AuthMiddleware(echo, settings)
        assert str(caught.value) == (
            "PASSKEYS needs the package fido2, which is not installed:"
            f" `pip install '{distribution}[passkeys]'` installs it."
        )
        (tmp_path / "setup.py").touch()  # from now on in a checkout
    plain = AuthMiddleware(echo, replace(settings, PASSKEYS=False))
    storage.discard_connection(plain.database)
