"""The table of passkeys, on every database."""

from dataclasses import replace

import pytest

from tests.support.authenticators import PASSKEYS, Authenticator, add_passkey
from tests.support.factors import FACTOR_KEY, add_app
from tests.support.sites import PASSWORD, echo
from wsgiauth import AuthMiddleware, find_user, storage
from wsgiauth.accounts import create_user
from wsgiauth.authentication.browser_keys import LOG_IN
from wsgiauth.authentication.second_factors import Factor, SecondFactors
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.factors import factors, recovery_codes
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.storage.models import from_timestamp

pytestmark = pytest.mark.every_database


@pytest.fixture
def settings(settings):
    return replace(settings, FACTOR_KEY=FACTOR_KEY, **PASSKEYS)


@pytest.fixture
def site(settings):
    made = AuthMiddleware(echo, settings)
    yield made
    storage.discard_connection(made.database)


def test_a_passkey_logs_in_on_every_database(site, ada):
    key, party, now = add_passkey(site, ada), site.site.part(RelyingParty), site.site.tokens.now()
    presented = party.read(key.get(party.request_options(LOG_IN, now=now)), LOG_IN, now=now)
    assert party.accept(presented, now) == (ada, "hwk user")
    assert party.accept(presented, now) is None


def test_passkeys_are_factors_like_apps(site, ada, settings):
    add_app(site, ada)
    add_passkey(site, ada, "Laptop")
    assert [
        (each.method, each.name) for each in SecondFactors(factors.KINDS, settings).of(ada)
    ] == [
        ("otp", "Phone"),
        ("hwk", "Laptop"),
    ]
    passkey = Passkey.get()
    _, found = factors.list_factors(ada)
    assert found == Factor(
        "hwk", passkey.id, "Laptop", from_timestamp(passkey.created_at), "Passkey"
    )


def test_passkeys_do_not_count_where_they_are_off(site, ada, settings):
    add_passkey(site, ada)
    assert SecondFactors(factors.KINDS, settings).is_needed_by(ada)
    assert not SecondFactors(factors.KINDS, replace(settings, PASSKEYS=False)).is_needed_by(ada)
    assert factors.are_offered(replace(settings, FACTOR_KEY=None))
    assert not factors.are_offered(replace(settings, FACTOR_KEY=None, PASSKEYS=False))


def test_a_passkey_of_another_host_still_counts(site, ada, settings):
    add_passkey(site, ada)
    elsewhere = replace(settings, PUBLIC_URL="https://example.org")
    assert SecondFactors(factors.KINDS, elsewhere).is_needed_by(ada)


def test_the_last_factor_takes_the_recovery_codes_with_it(site, ada):
    add_app(site, ada)
    add_passkey(site, ada)
    recovery_codes.replace(ada, rounds=4)
    app, passkey = factors.list_factors(ada)
    assert factors.remove(ada, app.handle) == 1
    assert recovery_codes.count(ada) == 10
    assert factors.remove(ada, passkey.handle) == 1
    assert recovery_codes.count(ada) == 0
    removed = RecordedEvent.select().where(RecordedEvent.name == "factor_removed")
    assert {each.reason for each in removed} == {"otp", "passkey"}


def test_all_factors_are_removed_at_once(site, ada, settings):
    grace = create_user("Grace", "grace@example.org", PASSWORD, settings=settings)
    for user in (ada, grace):
        add_app(site, user)
        add_passkey(site, user)
    assert factors.remove(grace, Passkey.get(Passkey.user == ada).id) == 0
    assert factors.remove(ada) == 2
    assert [each.method for each in factors.list_factors(grace)] == ["otp", "hwk"]


def test_passkeys_go_with_their_user(site, ada):
    add_passkey(site, ada)
    ada.delete_instance()
    assert not Passkey.select().exists()


def log_in_once(settings, answer):
    storage.open_database(settings.DATABASE_URL)
    party, now = RelyingParty(settings), 2_000_000_000
    proof = party.accept(party.read(answer, LOG_IN, now=now), now)
    return proof is not None and proof.user == find_user("ada")


def register_once(settings, answer):
    storage.open_database(settings.DATABASE_URL)
    try:
        RelyingParty(settings).register(find_user("ada"), "Laptop", answer, 2_000_000_000)
    except ValueError:
        return False
    return True


@pytest.mark.promise(56)
@pytest.mark.parametrize("action", [log_in_once, register_once])
def test_of_eight_processes_with_one_answer_one_succeeds(in_processes, action, site, ada, settings):
    site.site.tokens.now = lambda: 2_000_000_000
    party, now = site.site.part(RelyingParty), 2_000_000_000
    if action is log_in_once:
        answer = add_passkey(site, ada).get(party.request_options(LOG_IN, now=now))
    else:
        answer = Authenticator().create(party.creation_options(ada, now))
    succeeded = in_processes(action, settings, [answer] * 8)
    assert sorted(succeeded) == [False] * 7 + [True]
    assert Passkey.select().count() == 1
