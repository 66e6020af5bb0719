"""Grants whose time is over are deleted."""

import pytest

from tests.support.oauth_apps import App
from wsgiauth.authentication.lifetimes import DAY
from wsgiauth.features.oauth_server.tables import Grant


@pytest.fixture
def two_grants(wiki, site, browser, clock):
    """Let two apps have grants, of which the first expires earlier; return the apps."""
    other = App(site, "Blog", scopes=["openid", "offline_access"])
    wiki.log_in(browser)
    clock.move(60)
    other.log_in(browser, scope="openid offline_access")
    return wiki, other


def test_purge_deletes_expired_grants(wsgiauth, two_grants):
    Grant.update(expires_at=1).where(Grant.client == two_grants[0].id).execute()
    assert ", 1 expired app grant," in wsgiauth("purge")[1]
    assert [each.client_id for each in Grant.select()] == [two_grants[1].id]
    assert ", 0 expired app grants," in wsgiauth("purge")[1]


def test_a_new_grant_deletes_some_that_have_expired(two_grants, browser, clock):
    first, other = two_grants
    Grant.update(expires_at=int(clock.now) - DAY).where(Grant.client == first.id).execute()
    other.log_in(browser)
    assert {each.client_id for each in Grant.select()} == {other.id}
