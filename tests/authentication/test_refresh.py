"""Refresh tokens under load: eight processes with one token, and a server that is killed."""

import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http.client import HTTPException
from signal import SIGKILL

import pytest
from webtest import TestApp

from tests.support.logins import find_session
from tests.support.processes import THREADS, Client, meet, started
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, Settings
from wsgiauth.accounts import create_user
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication import lifetimes, sessions
from wsgiauth.authentication.refresh import RefreshTokens, refresh
from wsgiauth.events import subscribe

pytestmark = pytest.mark.every_database

LOGINS = 10
KILLS = int(os.environ.get("KILLS", "2"))  # for each database


@pytest.fixture
def log_in(database, settings, tokens):
    """Return a function that logs Ada in, and returns the pair of tokens."""
    ada = create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    lifetime = lifetimes.of_refreshable(settings, remember=False)

    def new_pair():
        login = sessions.start(ada, tokens, lifetime)
        return {
            "access_token": login.token,
            "refresh_token": RefreshTokens(settings).issue(login.session_id, login.generation),
        }

    return new_pair


SITES = [
    {},
    {"JWT_ISSUER": "shop"},
    {"JWT_AUDIENCE": "shop"},
    {"JWT_AUDIENCE": "forum"},
    {"JWT_ISSUER": "shop", "JWT_AUDIENCE": "forum"},
    {"JWT_ISSUER": "forum", "JWT_AUDIENCE": "shop"},
]


@pytest.mark.promise(45)
def test_a_refresh_token_is_for_one_issuer_and_audience():
    for site in SITES:
        for other in SITES:
            token = RefreshTokens(Settings(SECRET_KEY=SECRET_KEY, **site)).issue("x", 1)
            found = RefreshTokens(Settings(SECRET_KEY=SECRET_KEY, **other)).verify(token)
            assert found == (("x", 1) if site == other else None), (site, other)


FORMER_TOKENS = {
    "ACkaYgoE0ouWFD6xg7T6leJSrQeoRc748hHShIhGPiM": {},
    "vTZbVhi3b6mf4i42GUZnesQg9rZVi5szrDee8xpW2B4": {
        "JWT_ISSUER": "https://example.org",
        "JWT_AUDIENCE": "site",
    },
}


@pytest.mark.parametrize("signature", FORMER_TOKENS)
def test_a_token_of_an_earlier_version_is_accepted(signature):
    tokens = RefreshTokens(Settings(SECRET_KEY=SECRET_KEY, **FORMER_TOKENS[signature]))
    token = f"wsgiauth-refresh_AbCdEfGhIjKlMnOpQrStUv_7_{signature}"
    assert tokens.verify(token) == ("AbCdEfGhIjKlMnOpQrStUv", 7)
    assert tokens.issue("AbCdEfGhIjKlMnOpQrStUv", 7) == token


def refresh_at_once(pairs, url):
    """Send each refresh token when every process does; return the answers and the events."""
    heard = []
    settings = Settings(SECRET_KEY=SECRET_KEY, DATABASE_URL=url)
    client = TestApp(AuthMiddleware(echo, settings, on_event=heard.append))
    answers = []
    for pair in pairs:
        meet()
        body = {"refresh_token": pair["refresh_token"]}
        answers.append(client.post_json("/auth/refresh", body, status="*").json)
    return answers, [each.name for each in heard]


def is_valid(pair, tokens):
    return find_session(pair["access_token"], tokens) is not None


@pytest.mark.promise(43)
def test_eight_processes_that_refresh_at_once_get_one_refresh_token(
    in_processes, log_in, settings, tokens
):
    pairs = [log_in() for _ in range(LOGINS)]
    told = in_processes(partial(refresh_at_once, pairs), settings.DATABASE_URL)
    for pair, *renewed in zip(pairs, *(answers for answers, _ in told), strict=True):
        assert len({each["refresh_token"] for each in renewed} - {pair["refresh_token"]}) == 1
        assert all(is_valid(each, tokens) for each in renewed)
    assert [each.generation for each in Session.select()] == [2] * LOGINS


@pytest.mark.promise(44)
def test_eight_processes_that_replay_at_once_end_the_login_once(
    in_processes, log_in, settings, tokens
):
    pairs = [log_in() for _ in range(LOGINS)]
    Session.update(generation=2, refreshed_at=Session.refreshed_at - 31).execute()
    told = in_processes(partial(refresh_at_once, pairs), settings.DATABASE_URL)
    assert {each["code"] for answers, _ in told for each in answers} == {"invalid_grant"}
    heard = [event for _, events in told for event in events]
    assert heard == ["refresh_reused"] * LOGINS
    assert not any(is_valid(pair, tokens) for pair in pairs)


@pytest.mark.promise(43, 44)
@pytest.mark.parametrize(("times", "generation"), [(1, 2), (2, None)])
def test_a_refresh_that_others_overtake_does_not_set_the_number_back(
    log_in, database, settings, tokens, times, generation
):
    session_id, _ = RefreshTokens(settings).verify(log_in()["refresh_token"])

    def overtake(_):  # after the first query of the refresh below
        database.query_hooks.clear()
        for number in range(times):
            assert refresh(session_id, number + 1, tokens)

    database.query_hooks.append(overtake)
    login = refresh(session_id, 1, tokens)
    assert (login and login.generation) == generation


@pytest.mark.promise(44)
def test_two_that_notice_a_replay_report_it_once(log_in, database, settings, tokens):
    session_id, _ = RefreshTokens(settings).verify(log_in()["refresh_token"])
    Session.update(generation=3).execute()
    heard, queries = [], []
    subscribe(database, [lambda event: heard.append(event.name)])

    def overtake(query):
        queries.append(query)
        if len(queries) == 2:  # the refresh below is about to end the login
            assert refresh(session_id, 1, tokens) is None

    database.query_hooks.append(overtake)
    assert refresh(session_id, 1, tokens) is None
    assert heard == ["refresh_reused"]


def test_a_number_that_a_restored_backup_does_not_know_is_refused(log_in, settings, tokens):
    pair = log_in()
    session_id, generation = RefreshTokens(settings).verify(pair["refresh_token"])
    assert refresh(session_id, generation + 1, tokens) is None
    assert is_valid(pair, tokens)


class Program:
    """A program that keeps its newest pair of tokens."""

    def __init__(self, pair):
        self.pair = pair
        self.refreshed = 0

    def refresh(self, client):
        body = {"refresh_token": self.pair["refresh_token"]}
        status, answer = client.ask("POST", "/auth/refresh", body)
        assert status == 200, answer
        self.pair = answer
        self.refreshed += 1

    def keep_refreshing(self, address):
        """Refresh until the server is gone."""
        client = Client(address)
        with suppress(OSError, HTTPException):
            while True:
                self.refresh(client)
        client.connection.close()

    def check(self, address):
        """Refresh as the program does that was told nothing when the server was killed."""
        client = Client(address)
        self.refresh(client)
        assert client.ask("GET", "/", token=self.pair["access_token"])[1]["user"] == USERNAME
        client.connection.close()


@pytest.mark.promise(27)
@pytest.mark.slow
def test_a_kill_during_a_refresh_logs_nobody_out(log_in, settings):
    programs = [Program(log_in()) for _ in range(THREADS)]
    now = int(time.time())  # for all servers, so that none starts half a minute later
    for _ in range(KILLS):
        enough = sum(each.refreshed for each in programs) + random.randrange(4, 80)  # noqa: S311
        with (
            started(settings, now) as (process, address),
            ThreadPoolExecutor(THREADS) as threads,
        ):
            for each in programs:
                each.check(address)
            busy = [threads.submit(each.keep_refreshing, address) for each in programs]
            while sum(each.refreshed for each in programs) < enough and not any(
                each.done() for each in busy
            ):
                time.sleep(random.random() / 500)  # noqa: S311 - no secret
            os.kill(process.pid, SIGKILL)
            for each in busy:
                each.result()
    with started(settings, now) as (_, address):
        for each in programs:
            each.check(address)
    # Each answer was a new number, or the one whose answer was lost.
    assert sorted(each.generation for each in Session.select()) == sorted(
        each.refreshed + 1 for each in programs
    )
