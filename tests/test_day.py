"""A day, and a month, of a browser and of a program: from the first login to the last request."""

import pytest

from tests.support.sites import PASSWORD, SAME_ORIGIN, USERNAME

START = 2_000_000_000  # seconds since the epoch, when these tests happen
MINUTE = 60
HOUR = 60 * MINUTE
DAY = 24 * HOUR

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}

pytestmark = [pytest.mark.every_database, pytest.mark.promise(42)]


@pytest.fixture
def clock():
    """Return what the time can be set by."""

    class Clock:
        now = START

    return Clock


@pytest.fixture
def site(site, clock):
    site.site.tokens.now = lambda: clock.now
    return site


@pytest.fixture
def browser(client, clock, ada):
    """Return a function that logs in by form, and one that visits a page so much later."""

    def log_in(**fields):
        answer = client.post("/auth/login", CREDENTIALS | fields, headers=SAME_ORIGIN, status=303)
        return answer.headers["Set-Cookie"]

    def visit(after):
        clock.now += after
        answer = client.get("/")
        assert "Set-Cookie" not in answer.headers
        return answer.json["user"] == USERNAME

    return log_in, visit


@pytest.fixture
def program(client, clock, ada):
    """Return a function that logs in by JSON, one that refreshes, and one that asks."""

    def log_in(**flags):
        return client.post_json("/auth/login", {**CREDENTIALS, **flags}, status=200).json

    def refresh(tokens, after, status=200):
        clock.now += after
        body = {"refresh_token": tokens["refresh_token"]}
        return client.post_json("/auth/refresh", body, status=status).json

    def ask(tokens, after=0):
        clock.now += after
        headers = {"Authorization": f"Bearer {tokens['access_token']}"}
        return client.get("/", headers=headers).json["user"] == USERNAME

    return log_in, refresh, ask


def test_a_browser_stays_logged_in_for_a_working_day(browser, client, clock):
    log_in, visit = browser
    assert "Max-Age" not in log_in()  # so that the browser forgets it when it is closed
    assert all(visit(30 * MINUTE) for _ in range(23))
    assert visit(30 * MINUTE - 1)
    assert not visit(1)
    assert "You have been logged out" in client.get("/auth/login", headers=SAME_ORIGIN)

    log_in()
    assert visit(HOUR - 1)
    assert visit(HOUR - 1)
    assert not visit(HOUR)  # a long lunch
    assert not visit(0)


def test_a_browser_that_is_remembered_stays_logged_in_for_a_month(browser):
    log_in, visit = browser
    assert f"; Max-Age={30 * DAY};" in log_in(remember="on")
    assert all(visit(9 * HOUR) for _ in range(20))  # mornings and evenings
    assert visit(14 * DAY - 1)
    assert visit(8 * DAY + 12 * HOUR)
    assert not visit(1)

    log_in(remember="on")
    assert visit(DAY)
    assert not visit(14 * DAY)  # a long holiday


def test_a_program_with_one_token_logs_in_every_hour(program):
    log_in, _, ask = program
    for _ in range(3):
        tokens = log_in()
        assert ask(tokens, HOUR // 2)
        assert ask(tokens, HOUR // 2 - 1)
        assert not ask(tokens, 1)


def test_a_program_that_refreshes_logs_in_once_a_day(program):
    log_in, refresh, ask = program
    tokens = log_in(refresh=True)
    for _ in range(11):
        assert ask(tokens, HOUR - 1)
        assert not ask(tokens, 1)
        tokens = refresh(tokens, 0)
    assert ask(tokens, HOUR - 1)
    assert ask(refresh(tokens, 0))
    refresh(tokens, 1, status=401)


def test_a_program_that_is_remembered_logs_in_once_a_month(program):
    log_in, refresh, ask = program
    tokens = log_in(refresh=True, remember=True)
    for _ in range(2):
        tokens = refresh(tokens, 14 * DAY - HOUR - 1)
        assert ask(tokens)
        assert not ask(tokens, HOUR)
    tokens = refresh(tokens, 2 * DAY + 1)
    assert ask(tokens)
    refresh(tokens, 1, status=401)

    tokens = log_in(refresh=True, remember=True)
    refresh(tokens, 14 * DAY, status=401)
