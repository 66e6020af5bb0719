"""What clocks that are apart, and a change of SECRET_KEY, mean for codes and for guesses."""

from dataclasses import replace

import pyotp
import pytest
from webtest import TestApp

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.settings import LONG_KEY
from tests.support.sites import PASSWORD, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.features.factors import totp
from wsgiauth.testing import make_user
from wsgiauth.throttling.counts import Counter, Limit
from wsgiauth.throttling.throttle import DOUBLING

APART = 3  # seconds
NOW = 1_800_000_000
LOGIN = {"username": USERNAME, "password": PASSWORD}


@pytest.fixture
def make_site():
    """Return a function that makes a site."""
    made = []

    def make(settings):
        made.append(AuthMiddleware(echo, settings))
        return made[-1]

    yield make
    for each in made:
        storage.discard_connection(each.database)


@pytest.mark.promise(52)
@pytest.mark.promise(78)
@pytest.mark.every_database
@pytest.mark.parametrize("first", ["slow", "fast"])
def test_a_code_is_accepted_by_either_of_two_clocks_and_then_by_none(first, make_site, settings):
    begins = NOW // totp.STEP * totp.STEP
    sites = {}
    for name, now in (("slow", begins - 2), ("fast", begins - 2 + APART)):
        sites[name] = make_site(replace(settings, FACTOR_KEY=FACTOR_KEY))
        sites[name].site.tokens.now = lambda now=now: now
    app = add_app(sites["slow"], make_user(sites["slow"], USERNAME, password=PASSWORD))
    login = LOGIN | {"code": pyotp.TOTP(app.secret).at(begins)}
    answers = [
        TestApp(sites[name]).post_json("/auth/login", login, status="*").status_int
        for name in (first, "slow", "fast")
    ]
    assert answers == [200, 401, 401]


def test_who_asks_two_hosts_all_the_time_gets_no_more_guesses(database):
    """Each host adds its waits to its own time, so the clock that is ahead decides."""
    limit = Limit("account", 5, DOUBLING, 24 * 3600)
    together, apart = (
        sum(
            Counter(f"{difference}", limit).add(NOW + second + skew)
            for second in range(300)
            for skew in (0, difference)
        )
        for difference in (0, APART)
    )
    assert together == apart < 15


def test_a_swap_of_the_keys_gives_the_free_guesses_once_more(make_site, settings, stopped_throttle):
    """Not more: each side of the swap keeps its own count."""
    swapped = replace(settings, SECRET_KEY=LONG_KEY, SECRET_KEY_FALLBACKS=(SECRET_KEY,))
    sides = [make_site(each) for each in (settings, swapped)]
    make_user(sides[0], USERNAME)
    free = settings.LOGIN_FAILURES_PER_ACCOUNT
    guesses = [guess_until_refused(sides[number]) for number in (0, 1, 0, 1)]
    assert guesses == [free, free, 0, 0]


def guess_until_refused(site):
    """Return how many wrong passwords are compared before a wait."""
    client, number = TestApp(site), 0
    wrong = {"username": USERNAME, "password": "a wrong guess"}
    while client.post_json("/auth/login", wrong, status=[401, 429]).status_int == 401:
        number += 1
    return number
