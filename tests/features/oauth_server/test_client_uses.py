"""The last use of clients, which is recorded once a day."""

import pytest

from tests.support.oauth_apps import service_client
from tests.support.service_keys import MAPS
from wsgiauth import storage
from wsgiauth.authentication.lifetimes import DAY, HOUR
from wsgiauth.features.oauth_server.client_uses import note_use
from wsgiauth.features.oauth_server.tables import Client

MORNING = 20_000 * DAY


def used():
    return Client.get().last_used_at


@pytest.mark.every_database
def test_the_first_tokens_of_a_day_are_recorded(wiki, browser, clock):
    assert used() is None
    wiki.log_in(browser)
    assert used() == clock.now


def test_a_refresh_records_the_first_use_of_the_next_day(wiki, browser, clock):
    Client.update(scopes="openid offline_access").execute()
    tokens = wiki.log_in(browser, scope="openid offline_access")
    start, midnight = clock.now, clock.now - clock.now % DAY + DAY
    clock.now = midnight - 1
    tokens = wiki.refresh(tokens["refresh_token"])
    assert used() == start
    clock.now = midnight
    wiki.refresh(tokens["refresh_token"])
    assert used() == midnight


def test_a_program_without_a_user_is_recorded(site, clock):
    service_client(site, "reports.read").log_in_as_itself(resource=MAPS)
    assert used() == clock.now


@pytest.mark.every_database
def test_of_concurrent_uses_the_first_is_recorded(database, wiki):
    stale = Client.get()
    for now in (MORNING + HOUR, MORNING + 2 * HOUR):
        note_use(stale, now)
    assert used() == MORNING + HOUR


def test_a_login_goes_on_if_its_use_cannot_be_recorded(wiki, caplog):
    client = Client.get()
    storage.current().execute_sql("ALTER TABLE wsgiauth_oauth_client DROP COLUMN last_used_at")
    note_use(client, MORNING)
    assert "the last use of apps is not recorded for now" in caplog.text
