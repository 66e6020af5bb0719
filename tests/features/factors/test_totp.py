"""Codes of authenticator apps, and recovery codes: who accepts them, and how often."""

import pyotp
import pytest

from tests.support.processes import meet
from tests.support.sites import USERNAME
from wsgiauth import Settings, change_password, storage
from wsgiauth.accounts import find_user
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication.second_factors import SecondFactors
from wsgiauth.features.factors import factors, recovery_codes, totp
from wsgiauth.features.factors.totp import Totp

KEY = "pY7nQe2LwZ9vKc4RtXb8MdHs3UgJ6fAo"
WITH_KEY = Settings(FACTOR_KEY=KEY)
OTHER_KEY = "Zq1mWc8XrTn5YvBk2LsDj7HgPf4EaUi9"
NOW = 2_000_000_000
STEP = totp.STEP


def app_of(device, key=KEY):
    """Return what computes the codes of a device, by another implementation."""
    return pyotp.TOTP(totp.base32(totp.derive_key(key, device.salt)))


def add_app(user, name="Phone", now=NOW):
    """Return a confirmed device, and its app."""
    device = totp.begin(user, name, now)
    app = app_of(device)
    assert totp.confirm(device, app.at(now), (KEY,), now)
    return device, app


def accepts(user, code, now, settings=WITH_KEY):
    return bool(SecondFactors(factors.KINDS, settings).accept(user, code, now))


# RFC 6238, appendix B, with SHA-1, cut to six digits.
def test_the_codes_are_those_of_rfc_6238():
    codes = {
        59: "287082",
        1111111109: "081804",
        1111111111: "050471",
        1234567890: "005924",
        2000000000: "279037",
        20000000000: "353130",
    }
    key = b"12345678901234567890"
    assert {time: totp.code_of_step(key, time // STEP) for time in codes} == codes


def test_the_link_sets_up_an_app(ada):
    device = totp.begin(ada, "Phone", NOW)
    uri = totp.setup_uri(totp.derive_key(KEY, device.salt), "ada: 1/2", "Riverside: Library & Co")
    app = pyotp.parse_uri(uri)
    assert app.at(NOW) == app_of(device).at(NOW)
    assert (app.name, app.issuer) == ("ada: 1/2", "Riverside Library & Co")


def test_a_device_is_no_factor_before_its_first_code(ada):
    device = totp.begin(ada, "Phone", NOW)
    assert not factors.list_factors(ada)
    assert not accepts(ada, app_of(device).at(NOW), NOW)
    assert not totp.confirm(device, "000000", (KEY,), NOW)
    assert not factors.list_factors(ada)
    assert totp.confirm(device, app_of(device).at(NOW), (KEY,), NOW)
    assert not totp.confirm(device, app_of(device).at(NOW + STEP), (KEY,), NOW + STEP)
    assert [each.name for each in totp.devices(ada)] == ["Phone"]


@pytest.mark.every_database
def test_another_set_up_replaces_one_that_is_not_confirmed(ada):
    totp.begin(ada, "Phone", NOW, session_id="one")
    second = totp.begin(ada, "Tablet", NOW, session_id="one")
    other = totp.begin(ada, "Phone", NOW, session_id="two")
    assert totp.pending_device(ada, "one") == second
    assert totp.pending_device(ada, "two") == other
    totp.begin(ada, "Phone", NOW + 3600, session_id="three")
    assert Totp.select().count() == 1


@pytest.mark.every_database
def test_set_ups_of_several_logins_add_no_more_apps_than_one_may_have(ada):
    begun = [totp.begin(ada, "Phone", NOW, session_id=f"{number}") for number in range(11)]
    confirmed = [factors.confirm(each, app_of(each).at(NOW), (KEY,), NOW) for each in begun]
    assert confirmed == 10 * [True] + [False]


@pytest.mark.every_database
def test_this_step_and_the_one_before_are_accepted(ada):
    _, app = add_app(ada)
    begins = NOW // STEP * STEP
    # The steps of the codes that are accepted, by what is left of the present step, in seconds.
    # The next one is accepted when a clock ahead by three seconds has it.
    accepted = {STEP: [-1, 0], 4: [-1, 0], 3: [-1, 0, 1], 1: [-1, 0, 1]}
    found = {}
    for number, left in enumerate(accepted, 1):
        now = begins + (100 * number + 1) * STEP - left
        steps = [
            step
            for step in (-2, 2, -1, 0, 1)  # an accepted one ends those before it
            if accepts(ada, app.at(now + step * STEP), now)
        ]
        found[left] = steps
    assert found == accepted


@pytest.mark.promise(52)
def test_a_code_that_was_accepted_early_is_not_accepted_again(ada):
    _, app = add_app(ada)
    begins = NOW // STEP * STEP + 100 * STEP
    assert accepts(ada, app.at(begins), begins - 3)
    assert not accepts(ada, app.at(begins), begins)
    assert not accepts(ada, app.at(begins - 1), begins - 3)  # of the step before


@pytest.mark.every_database
@pytest.mark.promise(52)
def test_a_code_works_once(ada):
    _, app = add_app(ada)
    assert not accepts(ada, app.at(NOW), NOW)  # it confirmed the device
    now = NOW + 2 * STEP
    assert accepts(ada, app.at(now), now)
    assert not accepts(ada, app.at(now), now)
    assert not accepts(ada, app.at(now - STEP), now)


def test_spaces_in_a_code_do_not_matter_and_anything_else_is_no_code(ada):
    _, app = add_app(ada)
    others = ["", "12345", "1234567", "一二三四五六", "x" * 10_000, "\ud800", "\0"]
    assert [each for each in others if accepts(ada, each, NOW + STEP)] == []
    code = app.at(NOW + STEP)
    assert accepts(ada, f" {code[:3]} {code[3:]}", NOW + STEP)


def test_each_of_several_devices_is_a_factor(ada):
    _, phone = add_app(ada)
    _, tablet = add_app(ada, "Tablet")
    now = NOW + STEP
    assert accepts(ada, tablet.at(now), now)
    assert accepts(ada, phone.at(now), now)


@pytest.mark.every_database
def test_a_code_of_another_user_is_not_accepted(ada, grace):
    _, app = add_app(grace)
    add_app(ada)
    code, *_ = recovery_codes.replace(grace, rounds=4)
    assert not accepts(ada, app.at(NOW + STEP), NOW + STEP)
    assert not accepts(ada, code, NOW)
    assert accepts(grace, code, NOW)


@pytest.mark.every_database
def test_the_last_device_takes_the_recovery_codes_with_it(ada):
    (phone, _), (tablet, _) = add_app(ada), add_app(ada, "Tablet")
    recovery_codes.replace(ada, rounds=4)
    assert factors.remove(ada, phone.id) == 1
    assert recovery_codes.count(ada) == 10
    assert factors.remove(ada, phone.id) == 0
    assert factors.remove(ada, tablet.id) == 1
    assert not factors.list_factors(ada)
    assert recovery_codes.count(ada) == 0


@pytest.mark.every_database
def test_a_device_of_another_user_stays(ada, grace):
    device, _ = add_app(grace)
    assert factors.remove(ada, device.id) == 0
    assert factors.remove(ada) == 0
    assert factors.list_factors(grace)


@pytest.mark.every_database
@pytest.mark.promise(54)
def test_the_database_alone_yields_no_code(ada):
    device, app = add_app(ada)
    codes = recovery_codes.replace(ada, rounds=4)
    now = NOW + STEP
    assert app_of(device, OTHER_KEY).at(now) != app.at(now)
    assert not accepts(ada, app.at(now), now, Settings(FACTOR_KEY=OTHER_KEY))
    stored = str([*Totp.select().dicts(), *OneTimeSecret.select().dicts()])
    assert app.secret not in stored
    for code in codes:
        assert code not in stored
        assert code.replace("-", "") not in stored


# Rotation of FACTOR_KEY

PREPARED = Settings(FACTOR_KEY=KEY, FACTOR_KEY_FALLBACKS=(OTHER_KEY,))
SWAPPED = Settings(FACTOR_KEY=OTHER_KEY, FACTOR_KEY_FALLBACKS=(KEY,))
DONE = Settings(FACTOR_KEY=OTHER_KEY)


def stored_key(device):
    return Totp.get(Totp.salt == device.salt).key_id


def forget_key(device):
    """Leave the row as a version without fallbacks makes it."""
    Totp.update(key_id="").where(Totp.salt == device.salt).execute()


@pytest.mark.every_database
@pytest.mark.promise(52)
def test_a_code_is_accepted_with_the_key_of_its_app(ada):
    device, app = add_app(ada)
    for number, (rotated, is_accepted) in enumerate(
        ((PREPARED, True), (SWAPPED, True), (DONE, False)), 1
    ):
        now = NOW + number * STEP
        assert stored_key(device) == totp.key_id(KEY)
        # A guess is compared with one key.
        assert not accepts(ada, app_of(device, OTHER_KEY).at(now), now, rotated)
        assert accepts(ada, app.at(now), now, rotated) is is_accepted
    assert stored_key(device) == totp.key_id(KEY)


@pytest.mark.every_database
@pytest.mark.promise(52)
def test_the_next_code_tells_the_key_of_an_app_from_before_fallbacks(ada, grace):
    now = NOW + STEP
    for user, key, other in ((ada, KEY, OTHER_KEY), (grace, OTHER_KEY, KEY)):
        device, _ = add_app(user)
        forget_key(device)
        code = app_of(device, key).at(now)
        assert accepts(user, code, now, SWAPPED)
        assert stored_key(device) == totp.key_id(key)
        assert not accepts(user, code, now, SWAPPED)
        of_other_key = app_of(device, other).at(now + STEP)
        assert not accepts(user, of_other_key, now + STEP, SWAPPED)


def test_a_set_up_is_confirmed_by_a_process_that_has_swapped_the_keys(ada):
    for begun, confirming in ((KEY, SWAPPED), (OTHER_KEY, PREPARED)):
        device = totp.begin(ada, "Phone", NOW)
        code = app_of(device, begun).at(NOW)
        assert totp.confirm(device, code, totp.factor_keys(confirming), NOW)
        assert stored_key(device) == totp.key_id(begun)


@pytest.mark.promise(54)
def test_the_name_of_a_key_does_not_reveal_it():
    assert totp.key_id(KEY) not in KEY
    assert totp.key_id(KEY) != totp.key_id(OTHER_KEY)
    assert totp.key_id(KEY) != totp.derive_key(KEY, "").hex()[:16]


@pytest.mark.every_database
def test_the_apps_of_each_key_are_counted(ada, grace):
    devices = [add_app(each)[0] for each in (ada, ada, grace)]
    forget_key(devices[0])
    totp.begin(ada, "Tablet", NOW)
    assert totp.count_by_key() == {"": 1, totp.key_id(KEY): 2}


@pytest.mark.every_database
@pytest.mark.promise(36)
@pytest.mark.promise(52)
def test_a_recovery_code_works_once_also_after_a_new_password(ada, settings):
    outdated, *_ = recovery_codes.replace(ada, rounds=4)
    first, second, third, *_ = recovery_codes.replace(ada, rounds=4)
    assert not accepts(ada, outdated, NOW)  # a new set replaces the old one
    assert recovery_codes.count(ada) == 10
    assert accepts(ada, first, NOW)
    assert not accepts(ada, first, NOW)
    assert recovery_codes.count(ada) == 9
    assert accepts(ada, f" {second.lower().replace('-', '')} ", NOW)
    change_password(ada, "another unrelated phrase", settings=settings)
    assert accepts(find_user(USERNAME), third, NOW)


def accept_once(url, code):
    storage.open_database(url)
    return accepts(find_user(USERNAME), code, NOW + STEP)


@pytest.mark.every_database
@pytest.mark.promise(52)
@pytest.mark.parametrize("kind", ["app", "recovery code"])
def test_of_eight_processes_with_one_code_one_succeeds(in_processes, kind, ada, settings):
    _, app = add_app(ada)
    code = app.at(NOW + STEP) if kind == "app" else recovery_codes.replace(ada, rounds=4)[0]
    accepted = in_processes(accept_once, settings.DATABASE_URL, [code] * 8)
    assert sorted(accepted) == [False] * 7 + [True]


def replace_codes(url):
    storage.open_database(url)
    user = find_user(USERNAME)
    meet()
    return recovery_codes.replace(user, rounds=4)


@pytest.mark.every_database
def test_of_eight_processes_that_make_recovery_codes_the_codes_of_one_remain(
    in_processes, ada, settings
):
    sets = in_processes(replace_codes, settings.DATABASE_URL)
    assert recovery_codes.count(ada) == recovery_codes.NUMBER
    accepted = [all(accepts(ada, code, NOW) for code in codes) for codes in sets]
    assert sorted(accepted) == [False] * 7 + [True]


def remove_app(url, handle):
    storage.open_database(url)
    user = find_user(USERNAME)
    meet()
    return factors.remove(user, handle)


@pytest.mark.every_database
def test_of_eight_processes_that_remove_every_app_the_last_one_ends_the_recovery_codes(
    in_processes, ada, settings
):
    recovery_codes.replace(ada, rounds=4)
    handles = [add_app(ada, f"App {number}")[0].id for number in range(8)]
    assert in_processes(remove_app, settings.DATABASE_URL, handles) == [1] * 8
    assert recovery_codes.count(ada) == 0
