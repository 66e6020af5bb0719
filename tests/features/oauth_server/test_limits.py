"""The limits on apps and devices: their registrations, their requests, and guesses at codes."""

from dataclasses import replace

import pytest

from tests.conftest import insert_user
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.features.oauth_server import limits
from wsgiauth.features.oauth_server.limits import DEVICE_CODES
from wsgiauth.features.registry import FEATURES
from wsgiauth.site import Site
from wsgiauth.throttling.throttle import Throttle

HERE, THERE = ("192.0.2.1",), ("198.51.100.3",)
HOUR = 60 * 60
FREE = 3  # of an address
NOW = 2_000_000_000  # seconds since the epoch


@pytest.fixture
def site(settings, database):
    """Return a site whose throttle has a clock that stands still."""
    settings = replace(
        settings, LOGIN_FAILURES_PER_ADDRESS=FREE, OAUTH_REGISTRATIONS_PER_ADDRESS=FREE
    )
    throttle = Throttle(settings, clock=lambda: NOW)
    return replace(Site.from_settings(settings, "/auth", FEATURES), throttle=throttle)


def wait(attempt, *args):
    """Return for how many seconds an attempt is refused."""
    try:
        attempt(*args)
    except RetryLaterError as error:
        return int(dict(error.headers)["Retry-After"])
    return 0


@pytest.mark.promise(93)
def test_an_address_registers_some_apps_in_an_hour(site):
    for _ in range(FREE):
        limits.registration(site, HERE).begin()
    assert wait(limits.registration, site, HERE) == HOUR
    assert wait(limits.registration, site, THERE) == 0


def test_requests_of_devices_of_an_address_have_to_wait(site):
    for _ in range(FREE):
        limits.device(site, HERE).begin()
    assert wait(limits.device, site, HERE) == 1
    assert wait(limits.device, site, THERE) == 0


@pytest.mark.promise(94)
def test_guesses_of_a_user_count_from_all_addresses_together(site, ada):
    for number in range(DEVICE_CODES):
        limits.device_code(site, ada, (f"192.0.2.{number}",)).begin()
    assert wait(limits.device_code, site, ada, THERE) == 1
    assert wait(limits.device_code, site, insert_user("Grace", "grace@example.org"), THERE) == 0


@pytest.mark.promise(94)
def test_guesses_from_an_address_count_for_all_users_together(site, ada):
    for number in range(FREE):
        user = insert_user(f"u{number}", f"u{number}@example.org")
        limits.device_code(site, user, HERE).begin()
    assert wait(limits.device_code, site, ada, HERE) == 1
    assert wait(limits.device_code, site, ada, THERE) == 0


@pytest.mark.promise(94)
def test_a_right_code_is_no_guess_and_forgives_none(site, ada):
    for _ in range(FREE - 1):
        limits.device_code(site, ada, HERE).begin()
    for _ in range(FREE):
        attempt = limits.device_code(site, ada, HERE)
        attempt.begin()
        attempt.succeeded()
    limits.device_code(site, ada, HERE).begin()
    assert wait(limits.device_code, site, ada, HERE) == 1
