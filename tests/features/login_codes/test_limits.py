"""The limit on guesses at codes in emails, from an address."""

from dataclasses import replace

import pytest

from tests.support.mails import Post
from tests.support.sites import USERNAME
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.features.login_codes.limits import code_attempt
from wsgiauth.features.registry import FEATURES
from wsgiauth.site import Site
from wsgiauth.throttling.throttle import DAY, DOUBLING, Throttle

FREE = 5
START = 2_000_000_000  # seconds since the epoch
HERE, THERE = ("192.0.2.1",), ("198.51.100.3",)


@pytest.mark.every_database
@pytest.mark.promise(82)
def test_wrong_codes_count_for_an_address_during_a_day(settings, database):
    now = START
    chosen = replace(settings, LOGIN_FAILURES_PER_ADDRESS=FREE)
    throttle = Throttle(chosen, clock=lambda: now)
    site = replace(Site.from_settings(chosen, "/auth", FEATURES, Post()), throttle=throttle)
    waits = []
    for _ in range(FREE + len(DOUBLING)):
        code_attempt(site, HERE).begin()
        try:
            code_attempt(site, HERE)
        except RetryLaterError as error:
            waits.append(int(dict(error.headers)["Retry-After"]))
            now += waits[-1]
    assert waits == [*DOUBLING, DOUBLING[-1]]
    code_attempt(site, THERE)
    throttle.login(USERNAME, HERE)  # passwords have a count of their own
    now = START + DAY
    code_attempt(site, HERE).begin()
    code_attempt(site, HERE)
