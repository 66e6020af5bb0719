"""The limits on apps and devices: their registrations, their requests, and guesses at codes."""

from dataclasses import replace

import pytest

from tests.conftest import insert_user
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.throttling.throttle import DEVICE_CODES, Throttle

HERE, THERE = ("192.0.2.1",), ("198.51.100.3",)
HOUR = 60 * 60
FREE = 3  # of an address


class Clock:
    """A clock that tests move."""

    now = 2_000_000_000  # seconds since the epoch


@pytest.fixture
def throttle(settings, database):
    """Return a throttle whose clock stands still."""
    settings = replace(
        settings, LOGIN_FAILURES_PER_ADDRESS=FREE, OAUTH_REGISTRATIONS_PER_ADDRESS=FREE
    )
    return Throttle(settings, clock=lambda: Clock.now)


def wait(attempt, *args):
    """Return for how many seconds an attempt is refused."""
    try:
        attempt(*args)
    except RetryLaterError as error:
        return int(dict(error.headers)["Retry-After"])
    return 0


@pytest.mark.promise(93)
def test_an_address_registers_some_apps_in_an_hour(throttle):
    for _ in range(FREE):
        throttle.client_registration(HERE).begin()
    assert wait(throttle.client_registration, HERE) == HOUR
    assert wait(throttle.client_registration, THERE) == 0


def test_requests_of_devices_of_an_address_have_to_wait(throttle):
    for _ in range(FREE):
        throttle.device(HERE).begin()
    assert wait(throttle.device, HERE) == 1
    assert wait(throttle.device, THERE) == 0


@pytest.mark.promise(94)
def test_guesses_of_a_user_count_from_all_addresses_together(throttle, ada):
    for number in range(DEVICE_CODES):
        throttle.device_code(ada, (f"192.0.2.{number}",)).begin()
    assert wait(throttle.device_code, ada, THERE) == 1
    assert wait(throttle.device_code, insert_user("Grace", "grace@example.org"), THERE) == 0


@pytest.mark.promise(94)
def test_guesses_from_an_address_count_for_all_users_together(throttle, ada):
    for number in range(FREE):
        user = insert_user(f"u{number}", f"u{number}@example.org")
        throttle.device_code(user, HERE).begin()
    assert wait(throttle.device_code, ada, HERE) == 1
    assert wait(throttle.device_code, ada, THERE) == 0


@pytest.mark.promise(94)
def test_a_right_code_is_no_guess_and_forgives_none(throttle, ada):
    for _ in range(FREE - 1):
        throttle.device_code(ada, HERE).begin()
    for _ in range(FREE):
        attempt = throttle.device_code(ada, HERE)
        attempt.begin()
        attempt.succeeded()
    throttle.device_code(ada, HERE).begin()
    assert wait(throttle.device_code, ada, HERE) == 1
