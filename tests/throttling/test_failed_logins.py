"""The last failed logins of a name, and the waits of now, for the staff."""

import re
from dataclasses import replace

import pytest
from webob import Request

from tests.support.factors import FACTOR_KEY, add_app
from tests.support.sites import EMAIL, PASSWORD, USERNAME, echo
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import delete_user, update_user
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.storage import context
from wsgiauth.storage.models import from_timestamp
from wsgiauth.storage.statements import insert_or_ignore
from wsgiauth.throttling import failed_logins
from wsgiauth.throttling.attempts import KNOWN_FOR
from wsgiauth.throttling.counts import AttemptCount
from wsgiauth.throttling.failed_logins import (
    HOUR,
    KEPT_FOR,
    LISTED,
    FailedLogin,
    FailedLogins,
    FailureLog,
    Wait,
    list_failures,
)
from wsgiauth.throttling.throttle import CANDIDATES, LockedUser, Throttle
from wsgiauth.web.clients import networks_of

pytestmark = pytest.mark.promise(12)

NOW = 2_000_000_000  # seconds since the epoch, when these tests happen
FREE = 5
FULL_HOUR = NOW - NOW % HOUR
HOME, THERE = "192.0.2.1", "198.51.100.3"
LOG = FailureLog.of(b"key", "ada")
IPV6_SITE = "2001:db8:5::/48"
WRONG = {"username": USERNAME, "password": "wrong"}


@pytest.fixture
def throttle(settings, database):
    """Return a throttle whose time stands still."""
    return Throttle(settings, clock=lambda: NOW)


@pytest.fixture
def site(settings):
    """Return a site with second factors."""
    middleware = AuthMiddleware(echo, replace(settings, FACTOR_KEY=FACTOR_KEY))
    yield middleware
    storage.discard_connection(middleware.database)


def fail(log=LOG, now=NOW, reason="wrong password", address=HOME):
    """Record a failure of a client, as in its request."""
    environ = Request.blank("/", remote_addr=address).environ
    token = context.enter_request((storage.current(), environ, {}))
    log.add(now, reason)
    context.leave_request(token)


def listed(*logs, now=NOW):
    return [(each.time.timestamp(), *each[1:]) for each in list_failures(logs or [LOG], now)]


# What is kept


@pytest.mark.every_database
def test_failures_are_listed_with_the_newest_first(database):
    fail(now=NOW)
    fail(now=NOW + 2, reason="inactive", address="2001:db8::7")
    LOG.add(NOW + 3, "wrong password")  # outside a request
    other = FailureLog.of(b"key", "grace")
    fail(other, now=NOW + 1, reason="no such user")
    assert list_failures([LOG], NOW)[-1] == FailedLogin(from_timestamp(NOW), "wrong password", HOME)
    assert listed(LOG, other) == [
        (NOW + 3, "wrong password", None),
        (NOW + 2, "inactive", "2001:db8::7"),
        (NOW + 1, "no such user", HOME),
        (NOW, "wrong password", HOME),
    ]


@pytest.mark.every_database
def test_a_flood_leaves_one_row_with_the_last_failures(database):
    for second in range(3 * LISTED):
        fail(now=NOW + second, address="ä" * 100)
    assert [time for time, *_ in listed()] == [NOW + 29 - each for each in range(LISTED)]
    for second in range(3 * LISTED):
        fail(now=NOW + 100 + second, reason="inactive", address="")
    assert listed()[-1] == (NOW + 120, "inactive", None)
    assert FailedLogins.select().count() == 1


@pytest.mark.every_database
def test_failures_of_the_same_moment_are_all_recorded(database, monkeypatch):
    def late(model, **row):
        monkeypatch.undo()
        fail(address=THERE)
        return insert_or_ignore(model, **row)

    monkeypatch.setattr(failed_logins, "insert_or_ignore", late)
    fail()
    assert [address for *_, address in listed()] == [HOME, THERE]


@pytest.mark.parametrize("start", [NOW, FULL_HOUR, FULL_HOUR + HOUR - 1])
def test_failures_are_listed_for_a_day(database, start):
    fail(now=start)
    fail(now=start + 1)
    assert len(listed(now=start + KEPT_FOR - 1)) == 2
    assert len(listed(now=start + KEPT_FOR)) == 1


@pytest.mark.every_database
def test_the_last_failures_of_all_hours_are_listed(database):
    times = [NOW + hour * HOUR for hour in range(24)]
    for now in times:
        fail(now=now)
    assert [time for time, *_ in listed(now=times[-1])] == times[: -LISTED - 1 : -1]


@pytest.mark.every_database
@pytest.mark.promise(40)
@pytest.mark.parametrize("other", [False, True], ids=["the same name", "another name"])
def test_a_failure_expires_within_25_hours_although_others_follow(database, other):
    for hour in range(0, 25, 3):  # so few that the first is not dropped for the last
        fail(now=FULL_HOUR + hour * HOUR)
    last = FULL_HOUR + 25 * HOUR
    fail(FailureLog.of(b"key", "grace") if other else LOG, now=last)
    stored = [line for row in FailedLogins.select() for line in row.lines.splitlines()]
    assert min(int(line.split("\t")[0]) for line in stored) >= last - KEPT_FOR


def test_an_address_cannot_add_a_line(database):
    fail(address="\n1\t\u2028")
    assert listed() == [(NOW, "wrong password", "?1??")]


def test_a_row_says_no_name_and_cannot_be_recognised_without_the_key(database):
    fail()
    assert re.fullmatch(r"[0-9a-f]{64}", FailedLogins.get().id)
    assert listed(FailureLog.of(b"another key", "ada")) == []


def test_a_database_that_fails_meanwhile_is_only_logged(client, ada, caplog):
    storage.current().execute_sql("DROP TABLE wsgiauth_failed_logins")
    assert client.post_json("/auth/login", WRONG, status=401).json["code"] == "invalid_credentials"
    assert "the account database failed: OperationalError: no such table" in caplog.text


# Logins


def log_in(client, name, address=HOME):
    """Log in with a wrong password."""
    environ = {"REMOTE_ADDR": address}
    wrong = {**WRONG, "username": name}
    client.post_json("/auth/login", wrong, extra_environ=environ, status=401)


def reasons(site, user):
    return [each.reason for each in site.site.throttle.failed_logins(user)]


@pytest.mark.parametrize("name", [USERNAME, EMAIL.upper()])
def test_a_login_is_recorded_under_the_name_that_was_typed(site, client, ada, name):
    log_in(client, name)
    log_in(client, "Grace")
    (failure,) = site.site.throttle.failed_logins(ada)
    assert failure[1:] == ("wrong password", HOME)


def test_a_login_from_a_known_address_is_recorded_as_well(site, client, ada):
    site.site.throttle.recognise(ada, (HOME,))
    log_in(client, USERNAME)
    assert reasons(site, ada) == ["wrong password"]


def test_the_right_password_of_an_inactive_account_is_recorded_as_such(site, client, ada):
    ada.is_active = False
    ada.save()
    client.post_json("/auth/login", {**WRONG, "password": PASSWORD}, status=401)
    assert reasons(site, ada) == ["inactive"]


def test_a_wrong_code_is_recorded_and_one_in_a_session_is_not(site, client, ada, bearer):
    headers = bearer(ada)
    app = add_app(site, ada)
    right = {**WRONG, "password": PASSWORD}
    for code in ("000000", "x"):
        client.post_json("/auth/login", {**right, "code": code}, status=401)
    client.post_json("/auth/confirm", {"code": "x"}, headers=headers, status=401)
    client.post_json("/auth/login", {**right, "code": app.code()})
    assert reasons(site, ada) == ["wrong code", "wrong code"]


def test_a_wrong_password_in_a_session_is_no_failed_login(site, client, ada, bearer):
    client.post_json("/auth/confirm", {"password": "wrong"}, headers=bearer(ada), status=401)
    assert reasons(site, ada) == []


def test_failures_stay_with_the_name(site, client, ada, grace, settings):
    log_in(client, USERNAME)
    update_user(ada, username="Lovelace")
    assert reasons(site, ada) == []
    update_user(grace, username=USERNAME)
    assert reasons(site, grace) == ["wrong password"]


def test_a_success_writes_nothing(client, ada):
    client.post_json("/auth/login", {**WRONG, "password": PASSWORD})
    assert not FailedLogins.select().exists()


def test_an_attempt_that_must_wait_writes_nothing(stopped_throttle, client, ada):
    for _ in range(FREE):
        log_in(client, USERNAME)
    before = FailedLogins.get().lines
    client.post_json("/auth/login", WRONG, status=429)
    assert FailedLogins.get().lines == before


@pytest.mark.every_database
@pytest.mark.promise(9)
def test_a_name_without_an_account_makes_the_same_statements(client, ada, queries):
    def statements(name, address):
        sent = queries(lambda: log_in(client, name, address))
        # The first login of a process counts the former passwords.
        sent = [sql for sql in sent if "GROUP BY" not in sql]
        return [(sql.split()[0], re.search(r"\bwsgiauth_\w+", sql)[0]) for sql in sent]

    for _ in range(2):  # the first failure inserts the row, the next changes it
        known = statements(USERNAME, HOME)
        assert statements("nobody", THERE) == known
        assert ("UPDATE", "wsgiauth_failed_logins") in known


def users_of_rows():
    return [row.user_id for row in FailedLogins.select()]


@pytest.mark.every_database
def test_a_row_has_the_number_of_the_last_user_who_was_found(database):
    for user_id, expected in [(None, None), (7, 7), (None, 7), (2**40, 2**40)]:
        LOG.add(NOW, "wrong password", user_id)
        assert users_of_rows() == [expected]


def test_only_a_failure_of_a_user_has_a_number(site, client, ada):
    log_in(client, "nobody")
    assert users_of_rows() == [None]
    log_in(client, USERNAME)
    assert sorted(users_of_rows(), key=str) == [ada.id, None]


def test_a_wrong_code_has_the_number_of_its_user(site, client, ada):
    add_app(site, ada)
    right = {**WRONG, "password": PASSWORD, "code": "000000"}
    client.post_json("/auth/login", right, status=401)
    assert users_of_rows() == [ada.id]


# Waits


def try_to_log_in(throttle, name, address, times=FREE):
    for _ in range(times):
        throttle.login(name, (address,)).begin()


def log_in_too_often(throttle, user):
    for _ in range(60):
        throttle.login_without_password(user).begin()


def enter_wrong_codes(throttle, user, address, is_known=False):
    if is_known:
        attempt = throttle.second_factor(user, (address,))
        attempt.begin()
        attempt.succeeded()
    for _ in range(FREE):
        throttle.second_factor(user, (address,)).begin()


def fail_under_other_names(throttle, address):
    for number in range(50):
        throttle.login(f"name{number}", (address,)).begin()


def be_known(throttle, user):
    throttle.recognise(user, (HOME,))


WAITS = {
    "none": (lambda throttle, ada: try_to_log_in(throttle, USERNAME, HOME, FREE - 1), []),
    "username": (
        lambda throttle, ada: try_to_log_in(throttle, USERNAME, HOME),
        [("account", "username", None)],
    ),
    "email": (
        lambda throttle, ada: try_to_log_in(throttle, EMAIL, THERE),
        [("account", "email", None)],
    ),
    "known address": (
        lambda throttle, ada: (be_known(throttle, ada), try_to_log_in(throttle, EMAIL, HOME)),
        [("account", None, HOME)],
    ),
    "logins": (log_in_too_often, [("logins", "username", None)]),
    "codes": (
        lambda throttle, ada: enter_wrong_codes(throttle, ada, HOME),
        [("second factor", None, None)],
    ),
    "codes at a known address": (
        lambda throttle, ada: enter_wrong_codes(throttle, ada, HOME, is_known=True),
        [("second factor", None, HOME)],
    ),
    "address": (
        lambda throttle, ada: fail_under_other_names(throttle, HOME),
        [("address", None, HOME)],
    ),
    "an address that is known": (
        lambda throttle, ada: (be_known(throttle, ada), fail_under_other_names(throttle, HOME)),
        [],
    ),
}


@pytest.mark.every_database
@pytest.mark.parametrize("happened", WAITS)
def test_the_waits_of_a_user_are_those_that_an_attempt_meets(throttle, ada, happened):
    make, expected = WAITS[happened]
    make(throttle, ada)
    until = from_timestamp(NOW + 1)
    waits = throttle.waits(ada, [HOME, THERE, HOME, None])
    assert waits == [Wait(reason, until, name, address) for reason, name, address in expected]


@pytest.fixture
def ipv6_site_must_wait(throttle):
    """Fail at other names from the /64 networks of one /48 500 times, so that all of it waits."""
    for number in range(2):
        throttle.login(f"name{number}", (f"2001:db8:5:{number:x}::/64", IPV6_SITE)).begin()
        if number == 0:  # 498 more of the same
            AttemptCount.update(count=AttemptCount.count + 498).execute()


@pytest.mark.usefixtures("ipv6_site_must_wait")
def test_a_wait_of_an_ipv6_site_is_that_of_its_addresses(throttle, ada):
    with pytest.raises(RetryLaterError):
        throttle.login(USERNAME, networks_of("2001:db8:5:ffff::1"))
    addresses = ["2001:db8:5:ffff::1", "2001:db8:5:fffe::1", "2001:db8:6::1"]
    until = from_timestamp(NOW + 1)
    assert throttle.waits(ada, addresses) == [Wait("address", until, None, IPV6_SITE)]


@pytest.mark.usefixtures("ipv6_site_must_wait")
def test_a_wait_of_an_ipv6_site_concerns_only_its_strangers(throttle, ada):
    known, stranger = "2001:db8:5:ffff::1", "2001:db8:5:fffe::1"
    throttle.recognise(ada, networks_of(known))
    throttle.login(USERNAME, networks_of(known))
    assert throttle.waits(ada, [known]) == []
    assert len(throttle.waits(ada, [known, stranger])) == 1
    assert len(throttle.waits(ada, [stranger, known])) == 1


def test_a_wait_of_an_ipv6_client_is_that_of_its_network(throttle, ada):
    network = "2001:db8:0:1::/64"
    throttle.recognise(ada, (network,))
    try_to_log_in(throttle, USERNAME, network)
    (wait,) = throttle.waits(ada, ["2001:db8:0:1::7"])
    assert (wait.reason, wait.address) == ("account", network)


def test_a_wait_that_is_over_is_not_listed(throttle, settings, ada):
    try_to_log_in(throttle, USERNAME, HOME)
    for later in (1, KEPT_FOR):
        assert Throttle(settings, clock=lambda now=NOW + later: now).waits(ada, [HOME]) == []


def test_an_address_that_is_no_longer_known_waits_with_all_names(throttle, settings, ada):
    later = Throttle(settings, clock=lambda: NOW + KNOWN_FOR)
    fail_under_other_names(later, HOME)
    be_known(throttle, ada)
    assert [wait.reason for wait in later.waits(ada, [HOME])] == ["address"]


def test_a_limit_that_is_turned_off_has_no_waits(throttle, settings, ada):
    try_to_log_in(throttle, USERNAME, HOME)
    without = Throttle(replace(settings, LOGIN_FAILURES_PER_ACCOUNT=0), clock=lambda: NOW)
    assert without.waits(ada, [HOME]) == []


@pytest.mark.promise(50)
def test_failures_and_waits_cost_one_query_each(throttle, ada, queries):
    fail()
    assert len(queries(lambda: throttle.failed_logins(ada))) == 1
    assert len(queries(lambda: throttle.waits(ada, [HOME, THERE]))) == 1


# Users who are locked out


def be_locked_out(throttle, user):
    """Fail under the username until strangers must wait."""
    for _ in range(FREE):
        attempt = throttle.login(user.username, (HOME,))
        attempt.begin()
        attempt.failed("wrong password", user.id)


@pytest.mark.every_database
def test_users_who_are_locked_out_are_listed_with_the_newest_failure_first(
    throttle, settings, ada, grace, queries
):
    assert throttle.locked_users() == []
    be_locked_out(throttle, ada)
    throttle.failure_log(EMAIL).add(NOW, "wrong password", ada.id)
    later = Throttle(settings, clock=lambda: NOW + 1)
    be_locked_out(later, grace)
    # Not `ada`, whose wait of a second is over.
    assert later.locked_users() == [LockedUser(grace, from_timestamp(NOW + 2))]
    until = [(ada, from_timestamp(NOW + 1)), (grace, from_timestamp(NOW + 2))]
    assert sorted(throttle.locked_users(), key=lambda each: each.until) == until
    assert [each.user for each in throttle.locked_users(1)] == [grace]
    assert len(queries(throttle.locked_users)) == 3


def test_the_longest_wait_of_a_user_is_listed(throttle, ada):
    be_locked_out(throttle, ada)
    AttemptCount.update(retry_at=NOW + 90).where(AttemptCount.kind == "name").execute()
    attempt = throttle.second_factor(ada, (THERE,))
    for _ in range(FREE):
        attempt.begin()
        attempt.failed("wrong code", ada.id)
    assert throttle.locked_users() == [LockedUser(ada, from_timestamp(NOW + 90))]


def test_a_user_who_failed_without_a_wait_is_not_locked_out(throttle, ada):
    throttle.failure_log(USERNAME).add(NOW, "wrong password", ada.id)
    assert throttle.locked_users() == []


def test_a_deleted_user_is_not_locked_out(throttle, ada):
    be_locked_out(throttle, ada)
    delete_user(ada)
    assert throttle.locked_users() == []


def test_locked_users_are_sought_among_some_of_the_newest_failures(throttle, ada):
    be_locked_out(throttle, ada)
    for number in range(CANDIDATES):
        throttle.failure_log(f"name{number}").add(NOW + 1, "wrong password", 10**6 + number)
    assert throttle.locked_users(1) == []
    assert [each.user for each in throttle.locked_users(2)] == [ada]
