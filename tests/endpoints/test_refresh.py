"""POST /auth/refresh."""

from dataclasses import replace

import pytest
from webtest import TestApp

from tests.support.settings import LONG_KEY
from tests.support.sites import PASSWORD, SAME_ORIGIN, SECRET_KEY, USERNAME, echo
from wsgiauth import AuthMiddleware, change_password, storage

CREDENTIALS = {"username": USERNAME, "password": PASSWORD}

START = 2_000_000_000  # seconds since the epoch, when these tests happen
HOUR = 3600
DAY = 24 * HOUR


@pytest.fixture
def heard():
    return []


@pytest.fixture
def clock():
    """Return what the time can be set by."""

    class Clock:
        now = START

    return Clock


@pytest.fixture
def open_site(settings, heard, clock):
    """Return a function that returns a client of a site whose settings are changed."""
    opened = []

    def open_one(**changes):
        changed = replace(settings, **changes)
        site = AuthMiddleware(echo, changed, on_event=lambda event: heard.append(event.name))
        site.site.tokens.now = lambda: clock.now
        opened.append(site.database)
        return TestApp(site)

    yield open_one
    for each in opened:
        storage.discard_connection(each)


@pytest.fixture
def site(open_site):
    return open_site().app


def log_in(client, **flags):
    return client.post_json("/auth/login", {**CREDENTIALS, "refresh": True, **flags}).json


@pytest.fixture
def pair(client, ada):
    return log_in(client)


def refreshed(client, pair, **options):
    body = {"refresh_token": pair["refresh_token"]}
    return client.post_json("/auth/refresh", body, **options)


def is_accepted(client, pair):
    headers = {"Authorization": f"Bearer {pair['access_token']}"}
    return client.get("/auth/me", headers=headers, expect_errors=True).status_int == 200


def test_a_login_has_a_refresh_token_only_if_it_asks_for_one(client, ada):
    assert "refresh_token" not in client.post_json("/auth/login", CREDENTIALS).json


def test_a_refresh_returns_a_new_pair(client, pair):
    renewed = refreshed(client, pair).json
    assert renewed.keys() == {"access_token", "token_type", "expires_in", "refresh_token"}
    assert renewed["refresh_token"] != pair["refresh_token"]
    assert renewed["expires_in"] == 3600
    assert is_accepted(client, renewed)


@pytest.mark.every_database
@pytest.mark.promise(43)
def test_the_previous_token_gets_the_current_pair_again(client, pair):
    renewed = refreshed(client, pair).json
    assert refreshed(client, pair).json["refresh_token"] == renewed["refresh_token"]


@pytest.mark.every_database
@pytest.mark.promise(44)
def test_a_replay_of_an_older_token_ends_the_login_and_its_access_tokens(client, pair, heard):
    renewed = refreshed(client, refreshed(client, pair).json).json
    assert refreshed(client, pair, status=401).json["code"] == "invalid_grant"
    refreshed(client, renewed, status=401)
    assert not is_accepted(client, renewed)
    assert heard[-2:] == ["login", "refresh_reused"]


@pytest.mark.promise(43, 44)
@pytest.mark.parametrize(("seconds", "stands"), [(30, True), (31, False)])
def test_a_replay_ends_the_login_after_half_a_minute(client, pair, heard, clock, seconds, stands):
    clock.now += HOUR - 60  # the half minute begins with the refresh
    renewed = refreshed(client, pair).json
    assert is_accepted(client, renewed)
    clock.now += seconds
    refreshed(client, pair, status=200 if stands else 401)
    assert is_accepted(client, renewed) is is_accepted(client, pair) is stands
    assert heard.count("refresh_reused") == (not stands)


@pytest.mark.promise(44)
def test_a_client_that_got_no_answer_refreshes_again_when_it_wakes_up(client, pair, heard, clock):
    lost = refreshed(client, pair).json
    clock.now += 8 * HOUR
    again = refreshed(client, pair).json
    assert [is_accepted(client, each) for each in (again, lost)] == [True, False]
    refreshed(client, again)
    assert heard == ["login"]
    refreshed(client, lost, status=401)
    assert heard == ["login", "refresh_reused"]


@pytest.mark.promise(44)
@pytest.mark.parametrize("url", ["logout", "me"])
def test_after_a_thief_got_another_answer_the_owner_s_next_request_ends_both(
    client, pair, heard, clock, url
):
    clock.now += HOUR - 60
    owner = refreshed(client, pair).json
    clock.now += 60
    thief = refreshed(client, pair).json
    assert is_accepted(client, thief)
    headers = {"Authorization": f"Bearer {owner['access_token']}"}
    client.get(f"/auth/{url}", headers=headers, status="*")
    assert not is_accepted(client, thief)
    refreshed(client, thief, status=401)
    assert heard == ["login", "refresh_reused"]


@pytest.mark.every_database
@pytest.mark.promise(44)
@pytest.mark.parametrize(("behind", "stands"), [(60, True), (61, False), (30 * 60, False)])
def test_a_host_whose_clock_is_ahead_does_not_prolong_the_half_minute(
    client, pair, heard, clock, behind, stands
):
    clock.now += HOUR - 60
    assert is_accepted(client, refreshed(client, pair).json)
    clock.now -= behind
    refreshed(client, pair, status=200 if stands else 401)
    assert heard.count("refresh_reused") == (not stands)


@pytest.mark.promise(44)
def test_a_replay_within_half_a_minute_does_not_prolong_it(client, pair, clock):
    assert is_accepted(client, refreshed(client, pair).json)
    clock.now += 30
    refreshed(client, pair)
    clock.now += 1
    refreshed(client, pair, status=401)


@pytest.mark.promise(44)
def test_a_replay_is_reported_once_and_leaves_other_logins(client, pair, heard):
    other = log_in(client)
    refreshed(client, refreshed(client, pair).json)
    for _ in range(2):
        refreshed(client, pair, status=401)
    assert heard.count("refresh_reused") == 1
    assert is_accepted(client, other)
    refreshed(client, other)


# How long


@pytest.mark.parametrize(("second", "stands"), [(12 * HOUR - 1, True), (12 * HOUR, False)])
def test_a_refresh_token_lives_for_some_hours_used_or_not(client, pair, clock, second, stands):
    clock.now += 6 * HOUR
    used = refreshed(client, log_in(client)).json
    clock.now = START + second
    refreshed(client, pair, status=200 if stands else 401)
    refreshed(client, used)


def test_refreshing_does_not_prolong_those_hours(client, pair, clock):
    for _ in range(11):
        clock.now += HOUR
        pair = refreshed(client, pair).json
    clock.now += HOUR - 1
    pair = refreshed(client, pair).json
    assert pair["expires_in"] == 1
    clock.now += 1
    assert not is_accepted(client, pair)
    refreshed(client, pair, status=401)


@pytest.mark.parametrize(("second", "stands"), [(HOUR - 1, True), (HOUR, False)])
def test_an_access_token_ends_before_its_login(client, pair, clock, second, stands):
    clock.now += second
    assert is_accepted(client, pair) is stands
    assert is_accepted(client, refreshed(client, pair).json)


@pytest.mark.parametrize(("second", "stands"), [(14 * DAY - 1, True), (14 * DAY, False)])
def test_a_remembered_login_ends_without_a_refresh(client, ada, clock, second, stands):
    pair = log_in(client, remember=True)
    for _ in range(2):
        clock.now += second
        answer = refreshed(client, pair, status=200 if stands else 401)
        pair = answer.json if stands else pair


@pytest.mark.parametrize(("second", "stands"), [(30 * DAY - 1, True), (30 * DAY, False)])
def test_a_remembered_login_ends_whatever_happens(client, ada, clock, second, stands):
    pair = log_in(client, remember=True)
    for day in (10, 20):
        clock.now = START + day * DAY
        pair = refreshed(client, pair).json
    clock.now = START + second
    refreshed(client, pair, status=200 if stands else 401)


def test_a_site_that_remembers_nobody_does_not_remember_programs(open_site, ada, clock):
    client = open_site(REMEMBER_DAYS=0)
    pair = log_in(client, remember=True)
    clock.now += 12 * HOUR
    refreshed(client, pair, status=401)


def test_an_access_token_lives_no_longer_than_its_login(open_site, ada, clock):
    client = open_site(JWT_EXPIRY_MINUTES=40 * DAY // 60, REMEMBER_IDLE_DAYS=2)
    pair = log_in(client, remember=True)
    assert pair["expires_in"] == 2 * DAY
    clock.now += DAY
    pair = refreshed(client, pair).json
    assert pair["expires_in"] == 2 * DAY
    clock.now += DAY + HOUR
    assert is_accepted(client, pair)
    assert log_in(client)["expires_in"] == 12 * HOUR


# Another key


def test_a_new_key_keeps_refresh_tokens_while_the_former_one_is_a_fallback(open_site, client, pair):
    rotating = open_site(SECRET_KEY=LONG_KEY, SECRET_KEY_FALLBACKS=(SECRET_KEY,))
    rotated = open_site(SECRET_KEY=LONG_KEY)
    refreshed(rotated, pair, status=401)
    renewed = refreshed(rotating, pair).json
    refreshed(client, renewed, status=401)  # a process that has not been restarted yet
    again = refreshed(rotating, pair).json  # sent by a second thread
    assert again["refresh_token"] == renewed["refresh_token"]
    assert is_accepted(rotated, refreshed(rotated, renewed).json)


# What is not accepted


@pytest.mark.promise(45)
def test_neither_token_is_accepted_in_the_place_of_the_other(client, pair):
    assert not is_accepted(client, {"access_token": pair["refresh_token"]})
    refreshed(client, {"refresh_token": pair["access_token"]}, status=401)


@pytest.mark.promise(45)
def test_a_token_that_was_changed_is_refused(client, pair):
    for change in [lambda token: token + "A", lambda token: token[:-1], str.upper]:
        refreshed(client, {"refresh_token": change(pair["refresh_token"])}, status=401)
        assert is_accepted(client, pair), change


@pytest.mark.promise(45)
def test_a_refresh_token_is_read_from_json_alone(client, pair):
    for body in [{}, {"content_type": "application/json", "params": "{}"}]:
        for case, place in {
            "form": lambda token: {"params": {"refresh_token": token}},
            "header": lambda token: {"headers": {"Authorization": f"Bearer {token}"}},
            "cookie": lambda token: {"headers": {"Cookie": f"wsgiauth={token}"}},
            "cookie of its name": lambda token: {"headers": {"Cookie": f"refresh_token={token}"}},
        }.items():
            sent = {"headers": SAME_ORIGIN, **body, **place(pair["refresh_token"])}
            answer = client.post("/auth/refresh", **sent, expect_errors=True)
            assert answer.status_int in (400, 401, 415), (body, case)
            assert "_token" not in answer, (body, case)
            client.reset()
            refreshed(client, pair)


@pytest.mark.promise(45)
def test_a_refresh_token_is_not_read_from_the_query(client, pair):
    for method in ["get", "post_json"]:
        path = f"/auth/refresh?refresh_token={pair['refresh_token']}"
        answer = getattr(client, method)(path, {}, expect_errors=True)
        assert answer.status_int == {"get": 405, "post_json": 401}[method]


@pytest.mark.promise(45)
def test_a_refresh_token_is_no_login_cookie(client, pair):
    client.set_cookie("wsgiauth", pair["refresh_token"])
    assert client.get("/").json["user"] is None


@pytest.mark.promise(45)
def test_a_token_that_is_no_string_is_refused(client, pair):
    for token in [None, 1, ["x"], {"x": 1}, True]:
        client.post_json("/auth/refresh", {"refresh_token": token}, status=400)


@pytest.mark.promise(45)
def test_a_login_by_form_has_no_refresh_token(client, ada):
    form = {**CREDENTIALS, "refresh": "on"}
    json = {**SAME_ORIGIN, "Accept": "application/json"}
    assert client.post("/auth/login", form, headers=json).json.keys() == {"detail", "next"}


# What ends it


def test_a_new_password_ends_the_refresh_token(client, pair, ada, settings):
    change_password(ada, "another unrelated phrase", settings=settings)
    refreshed(client, pair, status=401)


def test_a_logout_ends_the_refresh_token(client, pair):
    headers = {"Authorization": f"Bearer {pair['access_token']}"}
    client.post("/auth/logout", headers=headers)
    refreshed(client, pair, status=401)


@pytest.mark.every_database
@pytest.mark.promise(42)
def test_a_login_that_ends_while_its_refresh_waits_for_a_lock_stays_ended(client, ada, site, clock):
    pair = log_in(client, remember=True)
    idle = site.site.settings.REMEMBER_IDLE_DAYS * DAY
    times = iter([clock.now + idle - 1])  # then the wait, and the end of the login
    site.site.tokens.now = lambda: next(times, clock.now + idle)
    refreshed(client, pair, status=401)
