"""Accounts of providers without a user: kept for half an hour, for one browser, and used once."""

import pytest

from tests.support.identities import account
from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.features.providers import unclaimed
from wsgiauth.features.providers.unclaimed import LIFETIME

NOW = 2_000_000_000


WAITING = account(groups=("a", "b"), sid="s")  # asked for once, because it has a time


def start(**changes):
    values = {"destination": "/page?a=b", "remember": True, "now": NOW}
    return unclaimed.start(WAITING, **values | changes)


def test_the_cookie_finds_what_the_provider_has_said(database):
    cookie = start()
    found = unclaimed.find(cookie, NOW + LIFETIME - 1)
    assert found.account == WAITING
    assert (found.destination, found.remember) == ("/page?a=b", True)
    assert found.secret not in repr(found)
    assert found.secret not in str(list(OneTimeSecret.select().dicts()))


@pytest.mark.every_database
def test_the_longest_account_that_a_provider_can_describe_is_kept(database):
    groups = tuple(f"{number:03}{'😀' * 147}" for number in range(300))
    described = account(groups=groups, name="😀" * 100, username="😀" * 100)
    cookie = unclaimed.start(described, destination="", remember=False, now=NOW)
    assert unclaimed.find(cookie, NOW).account.groups == groups[:100]


def test_groups_that_the_provider_left_out_are_none(database):
    cookie = unclaimed.start(account(groups=None), destination="", remember=False, now=NOW)
    assert unclaimed.find(cookie, NOW).account.groups == ()


def test_another_cookie_finds_nothing(database):
    started = start()
    for cookie in ("", ".", "x", "x.y", "é.", "a" * 5000):
        assert (cookie, unclaimed.find(started._replace(value=cookie), NOW)) == (cookie, None)


def test_it_is_used_once_and_in_time(database):
    cookie = start()
    assert unclaimed.find(cookie, NOW + LIFETIME) is None
    found = unclaimed.find(cookie, NOW)
    assert unclaimed.finish(found, NOW)
    assert not unclaimed.finish(found, NOW)
    assert unclaimed.find(cookie, NOW) is None


def test_a_destination_that_was_changed_to_another_site_is_dropped(database):
    cookie = start()
    secret = cookie.value.rpartition(".")[2]
    changed = cookie._replace(value=f"Ly9ldmlsLmV4YW1wbGU=.{secret}")
    assert unclaimed.find(changed, NOW).destination == ""
