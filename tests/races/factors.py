"""Races of second factors and passkeys."""

from tests.conftest import insert_user
from tests.races.race import KEY, NOW, OTHER_PASSWORD, SETTINGS, Race, race
from tests.support.sites import EMAIL, USERNAME
from wsgiauth import change_password
from wsgiauth.authentication.second_factors import SecondFactors
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.factors import factors, passkeys, recovery_codes, totp
from wsgiauth.features.factors.passkeys import MOST_PASSKEYS, NewPasskey, Passkey
from wsgiauth.features.factors.passkeys.challenges import Challenge
from wsgiauth.features.factors.recovery_codes import NUMBER
from wsgiauth.features.factors.totp import MOST_DEVICES, STEP, Totp
from wsgiauth.storage import database


def begin(user, session_id):
    """Return the device of a set-up that a session has begun."""
    totp.begin(user, "Phone", NOW, session_id=session_id)
    return totp.pending_device(user, session_id)


def code_of(device):
    return totp.code_of_step(totp.derive_key(KEY, device.salt), NOW // STEP)


def confirm(device):
    return factors.confirm(device, code_of(device), (KEY,), NOW)


def confirmed(user, session_id):
    """Return the handle of a new app."""
    device = begin(user, session_id)
    assert confirm(device)
    return device.id


def challenge(name):
    return Challenge(name.encode(), NOW + 60, b"")


def add_passkey(user, credential_id, name):
    new = NewPasskey(credential_id, "key", 0, "handle", "", is_backed_up=False)
    passkeys.add(user, new, "Key", challenge(name), relying_party="example.org", now=NOW)
    return True


@race(
    "The set-up of an app begins twice in a session",
    "There is one set-up.",
    "one writer",
    "lock of the users",
)
class TwoSetUps(Race):
    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def one(self, ada):
        return totp.begin(ada, "Phone", NOW, session_id="session").id

    def check(self, outcome, ada):
        assert [each.id for each in Totp.select()] == [outcome.one] == [outcome.other]


@race("An app is confirmed twice", "There is one app.", "compare and set: wsgiauth_totp.id")
class ConfirmedTwice(Race):
    def prepare(self):
        return (begin(insert_user(USERNAME, EMAIL), "session"),)

    def one(self, device):
        return confirm(device)

    def check(self, outcome, device):
        assert outcome.is_once(False)
        assert Totp.select().where(Totp.confirmed_at > 0).count() == 1


@race(
    "The last free place for an app is taken twice",
    "The limit holds.",
    "one writer",
    "lock of the users",
)
class LastApp(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        for number in range(MOST_DEVICES - 1):
            confirmed(ada, str(number))
        return begin(ada, "one"), begin(ada, "other")

    def one(self, device, _):
        return confirm(device)

    def other(self, _, device):
        return confirm(device)

    def check(self, outcome, *devices):
        assert outcome.is_once(False)


@race("A code of an app is used twice", "It works once.", "compare and set: wsgiauth_totp.counter")
class CodeTwice(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        confirmed(ada, "session")
        Totp.update(counter=0).execute()
        return ada, code_of(Totp.get())

    def one(self, ada, code):
        return bool(SecondFactors(factors.KINDS, SETTINGS).accept(ada, code, NOW))

    def check(self, outcome, ada, code):
        assert outcome.is_once(False)


@race(
    "Two second factors are removed",
    "The recovery codes end with the last one.",
    "one writer",
    "lock of the users",
)
class TwoRemovals(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        handles = confirmed(ada, "one"), confirmed(ada, "other")
        recovery_codes.replace(ada, rounds=4)
        return ada, *handles

    def one(self, ada, handle, _):
        return factors.remove(ada, handle)

    def other(self, ada, _, handle):
        return factors.remove(ada, handle)

    def check(self, outcome, ada, *handles):
        assert (outcome.one, outcome.other) == (1, 1)
        assert recovery_codes.count(ada) == 0


@race(
    "A first second factor is added, and recovery codes are created",
    "No code from before the factor remains.",
    "one writer",
    "lock of the users",
)
class FirstFactor(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        return ada, begin(ada, "session")

    def one(self, ada, device):
        return confirm(device)

    def other(self, ada, device):
        return len(recovery_codes.replace(ada, rounds=4))

    def check(self, outcome, ada, device):
        assert (outcome.one, outcome.other) == (True, NUMBER)
        assert recovery_codes.count(ada) == (NUMBER if outcome.first == "one" else 0)


class _Changed(Race):
    """The password is changed, which ends the session that makes a credential."""

    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def other(self, ada, *_):
        change_password(ada, OTHER_PASSWORD, settings=SETTINGS)
        return True

    def check(self, outcome, *_):
        made = {"one": True, "other": "UnauthenticatedError"}[outcome.first]
        assert (outcome.one, outcome.other) == (made, True)


@race(
    "A password is changed, and an app confirmed",
    "No session that the change ended adds an app.",
    "one writer",
    "lock of the users",
)
class PasswordAndApp(_Changed):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        return ada, begin(ada, "session")

    def one(self, ada, device):
        return confirm(device)


@race(
    "A password is changed, and recovery codes are created",
    "No session that the change ended creates codes.",
    "one writer",
    "lock of the users",
)
class PasswordAndCodes(_Changed):
    def one(self, ada):
        return len(recovery_codes.replace(ada, rounds=4)) == NUMBER


@race(
    "A password is changed, and a passkey added",
    "No session that the change ended adds a passkey.",
    "one writer",
    "lock of the users",
)
class PasswordAndPasskey(_Changed):
    def one(self, ada):
        return add_passkey(ada, "new", "one")


@race("Recovery codes are created twice", "One set remains.", "one writer", "lock of the users")
class TwoSets(Race):
    def prepare(self):
        return (insert_user(USERNAME, EMAIL),)

    def one(self, ada):
        return len(recovery_codes.replace(ada, rounds=4))

    def check(self, outcome, ada):
        assert outcome.one == outcome.other == recovery_codes.count(ada) == NUMBER


@race("A recovery code is used twice", "It works once.", "compare and set: wsgiauth_one_time.id")
class RecoveryTwice(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        return ada, recovery_codes.replace(ada, rounds=4)[0]

    def one(self, ada, code):
        return recovery_codes.use(ada, code)

    def check(self, outcome, ada, code):
        assert outcome.is_once(False)
        assert recovery_codes.count(ada) == NUMBER - 1


@race(
    "A recovery code is used, and all are replaced",
    "A replaced code does not work.",
    "compare and set: wsgiauth_one_time.id",
)
class UsedAndReplaced(RecoveryTwice):
    def other(self, ada, code):
        return len(recovery_codes.replace(ada, rounds=4))

    def check(self, outcome, ada, code):
        assert (outcome.one, outcome.other) == (outcome.first == "one", NUMBER)
        assert recovery_codes.count(ada) == NUMBER


@race(
    "The last free place for a passkey is taken twice",
    "The limit holds.",
    "one writer",
    "lock of the users",
)
class LastPasskey(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        for number in range(MOST_PASSKEYS - 1):
            add_passkey(ada, str(number), str(number))
        return (ada,)

    def one(self, ada):
        return add_passkey(ada, "one", "one")

    def other(self, ada):
        return add_passkey(ada, "other", "other")

    def check(self, outcome, ada):
        assert outcome.is_once("ValidationError")
        assert Passkey.select().count() == MOST_PASSKEYS


class _AddedTwice(Race):
    def prepare(self):
        return insert_user(USERNAME, EMAIL), insert_user("Grace", "grace@example.org")

    def check(self, outcome, ada, grace):
        assert outcome.is_once("ValidationError")
        assert Passkey.select().count() == 1


@race("Two users add one passkey", "One of them has it.", "unique key: wsgiauth_passkey.id")
class OnePasskey(_AddedTwice):
    def one(self, ada, grace):
        return add_passkey(ada, "same", "one")

    def other(self, ada, grace):
        return add_passkey(grace, "same", "other")


@race(
    "A challenge is answered twice", "One answer is accepted.", "unique key: wsgiauth_one_time.id"
)
class OneChallenge(_AddedTwice):
    def one(self, ada, grace):
        return add_passkey(ada, "one", "same")

    def other(self, ada, grace):
        return add_passkey(grace, "other", "same")


def record_use(passkey, sign_count):
    with database.atomic():
        return passkeys.record_use(passkey, sign_count, is_backed_up=False, now=NOW)


class _OfPasskey(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        add_passkey(ada, "only", "only")
        return ada, Passkey.get()


@race(
    "A passkey and its copy are used",
    "The copy is reported.",
    "one writer",
    "lock of the row: wsgiauth_passkey",
)
class Cloned(_OfPasskey):
    def one(self, ada, passkey):
        return record_use(passkey, 1)

    def check(self, outcome, ada, passkey):
        assert (outcome.one, outcome.other) == (True, True)
        assert RecordedEvent.select().where(RecordedEvent.name == "passkey_cloned").count() == 1


@race(
    "A passkey is removed, and used",
    "A removed passkey is not accepted.",
    "one writer",
    "lock of the row: wsgiauth_passkey",
)
class RemovedAndUsed(_OfPasskey):
    def one(self, ada, passkey):
        return factors.remove(ada, passkey.id)

    def other(self, ada, passkey):
        return record_use(passkey, 1)

    def check(self, outcome, ada, passkey):
        assert (outcome.one, outcome.other) == (1, outcome.first == "other")
