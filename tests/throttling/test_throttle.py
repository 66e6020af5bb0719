"""The throttle: whose turn it is to guess or to register, asked of one process and of several."""

import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from unittest.mock import patch

import bcrypt
import pytest
from webtest import TestApp

from tests.support.logins import find_session
from tests.support.processes import PROCESSES, meet
from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, SECRET_KEY, USERNAME
from wsgiauth import Settings, change_password, storage
from wsgiauth.accounts import create_user, delete_user, names, update_user
from wsgiauth.accounts.models import User
from wsgiauth.app import AuthApp
from wsgiauth.authentication import sessions
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.features.registry import FEATURES
from wsgiauth.site import Site
from wsgiauth.throttling.counts import NAME, AttemptCount, Counter, locked_names
from wsgiauth.throttling.hash_slots import HashSlots
from wsgiauth.throttling.throttle import Throttle

pytestmark = pytest.mark.promise(12)

START = 2_000_000_000  # seconds since the epoch, when these tests happen
HOUR = 60 * 60
DAY = 24 * HOUR
FREE = 5
WAITS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900, 900]

HOME, WORK, THERE, ELSEWHERE = "192.0.2.1", "192.0.2.2", "198.51.100.3", "203.0.113.4"
FREE_LOGINS = 60  # in a minute
RIGHT = {"username": USERNAME, "password": PASSWORD}
WRONG = {"username": USERNAME, "password": "wrong"}
HOSTILE = {
    "empty": "",
    "over-long": "x" * 16_000,
    "thousands of accents": "\u0301\u0316" * 1000,
    "letters that become eighteen": "\ufdfa" * 2000,
    "NUL": "ada\0",
    "SQL": "' OR ''='",
    "placeholders": "\U0001f600 %s ? {}",
}
FORWARDED = ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Client-IP", "True-Client-IP"]

LIMITS = [
    "LOGIN_FAILURES_PER_ACCOUNT",
    "LOGIN_FAILURES_PER_ADDRESS",
    "LOGINS_PER_ACCOUNT",
    "REGISTRATIONS_PER_ADDRESS",
]

THREADS = 5  # of each of eight processes
GUESSES = 40


@pytest.fixture
def clock():
    """Return what the time can be set by."""

    class Clock:
        now = START

    return Clock


@pytest.fixture
def throttle(settings, database, clock):
    """Return a throttle that goes by `clock`."""
    return Throttle(settings, clock=lambda: clock.now)


@pytest.fixture
def client_of(settings, database, clock):
    """Return a function that returns a client of a site with these settings."""

    def client(**changes):
        chosen = replace(settings, **changes)
        return TestApp(app_of(chosen, clock), extra_environ=environ_of(HOME))

    return client


@pytest.fixture
def client(client_of):
    return client_of()


@pytest.fixture
def comparisons(monkeypatch):
    """Return a list that grows with every bcrypt comparison."""
    made = []
    compare = bcrypt.checkpw
    monkeypatch.setattr(bcrypt, "checkpw", lambda *each: made.append(each) or compare(*each))
    return made


def app_of(settings, clock):
    """Return what answers below /auth, with a throttle that goes by `clock` and patient slots."""
    throttle = Throttle(settings, clock=lambda: clock.now)
    slots = HashSlots(settings, longest_wait=60)
    site = replace(
        Site.from_settings(settings, "/auth", FEATURES), throttle=throttle, hash_slots=slots
    )
    app = AuthApp(site)
    return lambda environ, start: app({**environ, "wsgiauth.site": site}, start)


def environ_of(address):
    return {"SCRIPT_NAME": "/auth", "REMOTE_ADDR": address, "wsgiauth.root": ""}


def log_in(client, credentials, address=HOME, **options):
    """Return the answer to a login by JSON."""
    options = {"status": "*", "extra_environ": environ_of(address), **options}
    return client.post_json("/login", credentials, **options)


def fail(throttle, name="ada", address=THERE, times=1):
    """Guess and fail."""
    for _ in range(times):
        throttle.login(name, (address,)).begin()


def fail_for_long(throttle, clock, name="ada", address=THERE):
    """Guess until every further guess costs the longest wait."""
    for _ in range(FREE + 10):
        clock.now += wait_for(throttle, name, address)
        fail(throttle, name, address)


def refusal(action, *arguments):
    """Return with what an action is refused, or None."""
    try:
        action(*arguments)
    except RetryLaterError as error:
        return error
    return None


def seconds(refused):
    return 0 if refused is None else int(dict(refused.headers)["Retry-After"])


def wait_for(throttle, name="ada", address=THERE):
    """Return how many seconds a login has to wait."""
    return seconds(refusal(throttle.login, name, (address,)))


def rows():
    return list(AttemptCount.select().order_by(AttemptCount.id).dicts())


# The ladder


@pytest.mark.every_database
def test_five_failures_are_free_and_each_further_one_doubles_the_wait(client, ada, clock):
    for _ in range(FREE):
        assert log_in(client, WRONG).status_int == 401
    for wait in WAITS:
        refused = log_in(client, WRONG)
        assert (refused.status_int, refused.headers["Retry-After"]) == (429, str(wait))
        clock.now += wait - 1
        assert log_in(client, WRONG).headers["Retry-After"] == "1"
        clock.now += 1
        assert log_in(client, WRONG).status_int == 401


def test_an_address_and_an_unknown_name_have_five_free_failures_as_well(client, ada):
    for name in (EMAIL, "nobody"):
        wrong = {"username": name, "password": "wrong"}
        assert [log_in(client, wrong).status_int for _ in range(FREE + 1)] == [401] * FREE + [429]


def test_the_answers_tell_nothing_about_accounts(client, settings, clock):
    without_account = answers_of_the_ladder(client, clock)
    AttemptCount.delete().execute()
    clock.now = START
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    assert answers_of_the_ladder(client, clock) == without_account


def answers_of_the_ladder(client, clock):
    """Return status, headers and body of all answers, by form and JSON, waited for and not."""
    answers = []
    for step in range(2 * (FREE + len(WAITS))):
        by_form = client.post("/login", WRONG, headers=SAME_ORIGIN, status="*")
        by_json = log_in(client, WRONG)
        answers += [(each.status, each.headerlist, each.body) for each in (by_form, by_json)]
        clock.now += int(by_json.headers.get("Retry-After", 0)) if step % 2 else 0
    assert {status[:3] for status, _, _ in answers} == {"401", "429"}
    return answers


def test_a_program_is_told_when_to_try_again(client):
    for _ in range(FREE):
        log_in(client, WRONG)
    refused = log_in(client, WRONG)
    assert refused.content_type == "application/problem+json"
    assert refused.json == {
        "type": "about:blank",
        "title": "Too Many Requests",
        "status": 429,
        "detail": "There were too many attempts. Try again in a second.",
        "code": "throttled",
    }


def test_a_person_is_told_when_to_try_again(throttle, clock):
    told = []
    fail(throttle, times=FREE)
    for wait in WAITS:
        told.append(refusal(throttle.login, "ada", (THERE,)).detail.partition("again in ")[2])
        clock.now += wait
        fail(throttle)
    seconds = [f"{wait} seconds." for wait in (2, 4, 8, 16, 32, 64)]
    minutes = [f"{minutes} minutes." for minutes in (3, 5, 9, 15, 15, 15)]
    assert told == ["a second.", *seconds, *minutes]


def test_a_refused_attempt_is_told_once_as_an_event(throttle, caplog):
    fail(throttle, times=FREE)
    assert "throttled" not in caplog.text
    wait_for(throttle)
    (record,) = (each for each in caplog.records if each.name == "wsgiauth")
    assert (record.event, record.reason) == ("throttled", "account")


@pytest.mark.every_database
def test_a_refused_attempt_is_not_counted(throttle, clock):
    fail(throttle, times=FREE)
    before = rows()
    for _ in range(10):
        assert wait_for(throttle) == 1
        assert rows() == before


def test_a_throttled_login_computes_no_hash(client, ada, comparisons):
    for _ in range(FREE):
        log_in(client, WRONG)
    for credentials in (RIGHT, WRONG):
        assert log_in(client, credentials).status_int == 429
    assert len(comparisons) == FREE


# What is one name


def test_one_name_in_all_its_forms_has_one_count(throttle):
    names = ("ada", "ADA", "\uff21\uff44\uff41")
    fail(throttle, "ada", times=FREE - 2)
    for name in names[1:]:
        fail(throttle, name)
    assert [wait_for(throttle, name) for name in names] == [1, 1, 1]


def test_both_spellings_of_an_international_domain_have_one_count(throttle):
    fail(throttle, "ada@bücher.example", times=FREE - 1)
    fail(throttle, "Ada@XN--bcher-kva.example")
    assert wait_for(throttle, "ada@bücher.example") == 1


def test_a_username_and_an_e_mail_are_counted_apart_so_that_neither_tells_of_the_other(
    throttle, ada
):
    fail(throttle, USERNAME, times=FREE)
    assert wait_for(throttle, USERNAME) == 1
    fail(throttle, EMAIL, times=FREE)
    assert wait_for(throttle, EMAIL) == 1


def test_a_hostile_name_is_counted_like_any_other(client):
    for case, name in HOSTILE.items():
        if name:  # without a name, nothing is attempted
            wrong = {"username": name, "password": "wrong"}
            statuses = [log_in(client, wrong).status_int for _ in range(FREE + 1)]
            assert statuses == [401] * FREE + [429], case


def test_no_more_of_a_name_is_normalised_than_an_e_mail_can_have(throttle, monkeypatch):
    lengths = []
    key = names.key
    monkeypatch.setattr(names, "key", lambda text: lengths.append(len(text)) or key(text))
    for case, name in HOSTILE.items():
        lengths.clear()
        fail(throttle, name)
        assert max(lengths) <= names.EMAIL_MAX_LENGTH, case


def test_texts_that_begin_alike_for_longer_than_a_name_can_be_are_one_name(throttle):
    for number in range(FREE):
        fail(throttle, "x" * 254 + str(number))
    assert wait_for(throttle, "x" * 254) == 1


def test_no_name_passes_for_another_one_at_an_address(throttle, ada):
    for typed in ["ada\0{}", "ada\0{}\0", "\0ada\0{}", 'ada", "{}', "ada{}"]:
        AttemptCount.delete().execute()
        throttle.recognise(ada, (HOME,))
        fail(throttle, typed.format(HOME), times=FREE)
        assert wait_for(throttle, "ada", HOME) == 0, typed
        fail(throttle, "ada", ELSEWHERE, times=FREE)
        fail(throttle, typed.format(THERE), THERE)
        assert wait_for(throttle, "ada", THERE) == 1, typed


def test_nothing_that_was_typed_is_kept(client, ada):
    for _ in range(2):
        log_in(client, {"username": "a password by mistake", "password": "wrong"}, THERE)
    log_in(client, RIGHT)
    client.post_json("/register", {"username": "Grace", "email": "g@x", "password": PASSWORD})
    kept = rows()
    assert kept
    for row in kept:
        assert re.fullmatch(r"[0-9a-f]{64}", row.pop("id"))
        assert row.pop("kind") in (None, "name")
        assert all(type(value) is int for value in row.values())


def test_what_is_kept_cannot_be_recognised_without_the_key(throttle, settings, clock):
    fail(throttle)
    ids = {row["id"] for row in rows()}
    another = Throttle(replace(settings, SECRET_KEY=SECRET_KEY[::-1]), clock=lambda: clock.now)
    fail(another)
    assert ids < {row["id"] for row in rows()}
    assert len(rows()) == 2 * len(ids)


# Success


@pytest.mark.every_database
def test_a_success_clears_what_was_counted_for_the_name(client, ada):
    for _ in range(FREE - 1):
        log_in(client, WRONG)
    assert log_in(client, RIGHT).status_int == 200
    statuses = [log_in(client, WRONG, THERE).status_int for _ in range(FREE + 1)]
    assert statuses == [401] * FREE + [429]


@pytest.mark.every_database
def test_a_success_does_not_clear_what_was_counted_for_the_address(client_of, ada):
    client = client_of(LOGIN_FAILURES_PER_ACCOUNT=0, LOGIN_FAILURES_PER_ADDRESS=3)
    wrong = {"username": "nobody", "password": "wrong"}
    tries = [wrong, wrong, RIGHT, RIGHT, RIGHT, wrong, wrong]
    assert [log_in(client, each).status_int for each in tries] == [401, 401, *[200] * 3, 401, 429]


@pytest.mark.every_database
def test_a_success_takes_no_place_from_the_failures_of_its_address(settings, database, clock):
    # An attempt that will succeed is under way while others are counted.
    throttle = Throttle(replace(settings, LOGIN_FAILURES_PER_ADDRESS=3), clock=lambda: clock.now)
    fail(throttle, "0")
    attempt = throttle.login("ada", (THERE,))
    attempt.begin()
    fail(throttle, "1")
    assert refusal(fail, throttle, "2") is not None
    attempt.succeeded()
    fail(throttle, "2")
    assert refusal(fail, throttle, "3") is not None


# Successes


@pytest.mark.every_database
def test_a_client_that_logs_in_all_the_time_is_slowed_down(client_of, clock, ada):
    client = client_of(LOGINS_PER_ACCOUNT=3)
    assert log_in(client, RIGHT).status_int == 200  # and is known from here on
    assert [log_in(client, RIGHT).status_int for _ in range(4)] == [200, 200, 200, 429]
    refused = log_in(client, {**RIGHT, "username": "ADA"})
    assert (refused.status_int, refused.headers["Retry-After"]) == (429, "1")
    clock.now += 60
    assert log_in(client, RIGHT).status_int == 200


def test_sixty_logins_in_a_minute_are_not_too_many(throttle, ada):
    throttle.recognise(ada, (HOME,))
    assert [refusal(succeed, throttle, ada) for _ in range(FREE_LOGINS)] == [None] * FREE_LOGINS
    assert seconds(refusal(succeed, throttle, ada)) == 1


def test_the_logins_of_one_account_do_not_slow_another_one_down(throttle, ada):
    throttle.recognise(ada, (HOME,))
    for _ in range(FREE_LOGINS):
        succeed(throttle, ada)
    assert wait_for(throttle, "grace", HOME) == 0


def test_a_stranger_does_not_learn_that_an_account_logs_in_often(throttle, ada):
    throttle.recognise(ada, (HOME,))
    for _ in range(FREE_LOGINS):
        succeed(throttle, ada)
    assert wait_for(throttle, "ada", THERE) == 0


def test_failures_are_no_logins(throttle, ada):
    throttle.recognise(ada, (HOME,))
    for _ in range(FREE_LOGINS + 1):
        fail(throttle, "ada", HOME)
        throttle.recognise(ada, (HOME,))
    assert wait_for(throttle, "ada", HOME) == 0


def succeed(throttle, user):
    """Log in at home."""
    attempt = throttle.login(user.username, (HOME,))
    attempt.begin()
    attempt.succeeded()
    throttle.recognise(user, (HOME,))


# Addresses


def test_an_address_has_fifty_failures_across_all_names(throttle, clock):
    for number in range(50):
        assert wait_for(throttle, str(number)) == 0
        fail(throttle, str(number))
    for number, wait in enumerate(WAITS[:12]):  # what goes into an hour
        assert wait_for(throttle, f"another {number}") == wait
        assert wait_for(throttle, f"another {number}", ELSEWHERE) == 0
        clock.now += wait
        fail(throttle, f"another {number}")


@pytest.mark.every_database
def test_what_its_address_refuses_is_not_counted_for_the_name(settings, database, clock):
    throttle = Throttle(replace(settings, LOGIN_FAILURES_PER_ADDRESS=1), clock=lambda: clock.now)
    attempts = [throttle.login("ada", (THERE,)) for _ in range(FREE + 1)]
    assert [seconds(refusal(each.begin)) for each in attempts] == [0] + [1] * FREE
    fail(throttle, "ada", ELSEWHERE)
    assert wait_for(throttle, "ada", HOME) == 0


@pytest.mark.promise(13)
def test_a_client_that_claims_other_addresses_gains_nothing(client_of):
    client = client_of(LOGIN_FAILURES_PER_ADDRESS=1, REGISTRATIONS_PER_ADDRESS=1)
    statuses = []
    for number, header in enumerate(("X-Unknown", *FORWARDED)):
        address = f"10.0.0.{number}"
        headers = {header: f"for={address}" if header == "Forwarded" else address}
        answer = log_in(client, {**WRONG, "username": str(number)}, headers=headers)
        account = {"username": str(number), "email": f"{number}@x", "password": PASSWORD}
        registered = client.post_json("/register", account, headers=headers, status="*")
        statuses.append((answer.status_int, registered.status_int))
    assert statuses == [(401, 201)] + [(429, 429)] * len(FORWARDED)


@pytest.mark.promise(13)
def test_who_has_a_network_is_one_client(client_of):
    client = client_of(LOGIN_FAILURES_PER_ADDRESS=2)
    of_one, of_neighbour = ["2001:db8::1", "2001:db8::2", "2001:db8::ffff:0:1"], "2001:db8:0:1::1"
    for addresses in ([*of_one, of_neighbour], [HOME, f"::ffff:{HOME}", HOME, WORK]):
        answers = [
            log_in(client, {**WRONG, "username": f"{number}"}, address)
            for number, address in enumerate(addresses)
        ]
        assert [each.status_int for each in answers] == [401, 401, 429, 401]


@pytest.mark.promise(13)
def test_every_connection_of_a_client_is_the_same_client(client_of):
    client = client_of(LOGIN_FAILURES_PER_ADDRESS=2)
    for connections in (
        [f"{HOME}:{port}" for port in (5001, 5002, 5003)],
        ["[2001:db8::1]:5001", "[2001:db8::1]", "2001:db8::1"],
    ):
        answers = [
            log_in(client, {"username": str(number), "password": "wrong"}, remote)
            for number, remote in enumerate(connections)
        ]
        assert [each.status_int for each in answers] == [401, 401, 429]


@pytest.mark.every_database
def test_spraying_names_that_are_known_at_the_address_meets_a_limit(settings, database, clock):
    throttle = Throttle(replace(settings, LOGIN_FAILURES_PER_ADDRESS=10), clock=lambda: clock.now)
    known_at(throttle, HOME, range(9), settings)
    sprayed = [f"u{number}" for number in range(8)]
    rounds = [[refusal(fail, throttle, name, HOME) for name in sprayed] for _ in range(4)]
    # Up to the tenth failure, each name has five free ones. From then on it has one.
    assert [each.count(None) for each in rounds] == [8, 8, 2, 0]
    assert refusal(fail, throttle, "u8", HOME) is None  # an owner gets in at the first try
    assert wait_for(throttle, "u8", HOME) == 1


def test_spraying_gets_the_limit_of_the_address_and_one_for_each_name(settings, database, clock):
    throttle = Throttle(replace(settings, LOGIN_FAILURES_PER_ADDRESS=10), clock=lambda: clock.now)
    known_at(throttle, HOME, range(12), settings)
    sprayed = [f"u{number}" for number in range(12)]
    for _ in range(2):
        for name in sprayed[:5]:
            fail(throttle, name, HOME)
    rounds = [[refusal(fail, throttle, name, HOME) for name in sprayed] for _ in range(2)]
    assert [each.count(None) for each in rounds] == [12, 0]


def test_a_success_at_a_known_name_does_not_count_as_spraying(settings, database, clock):
    throttle = Throttle(replace(settings, LOGIN_FAILURES_PER_ADDRESS=2), clock=lambda: clock.now)
    known_at(throttle, HOME, range(2), settings)
    for _ in range(3):
        attempt = throttle.login("u0", (HOME,))
        attempt.begin()
        attempt.succeeded()
    fail(throttle, "u1", HOME, times=2)
    assert wait_for(throttle, "u1", HOME) == 0


def test_failures_at_known_names_do_not_make_strangers_wait(settings, database, clock):
    throttle = Throttle(replace(settings, LOGIN_FAILURES_PER_ADDRESS=2), clock=lambda: clock.now)
    known_at(throttle, HOME, range(4), settings)
    for number in range(4):
        fail(throttle, f"u{number}", HOME)
    assert wait_for(throttle, "a newcomer to this office", HOME) == 0


def known_at(throttle, address, numbers, settings):
    """Make accounts, and the client at an address known to them."""
    for number in numbers:
        user = create_user(f"u{number}", f"u{number}@x", PASSWORD, settings=settings)
        throttle.recognise(user, (address,))


@pytest.mark.parametrize(
    ("limit", "attempt"),
    [
        pytest.param(
            "LOGIN_FAILURES_PER_ADDRESS",
            lambda throttle, networks: throttle.login(networks[0], networks).begin(),
            id="failures",
        ),
        pytest.param(
            "REGISTRATIONS_PER_ADDRESS",
            lambda throttle, networks: throttle.registration(networks).begin(),
            id="registrations",
        ),
    ],
)
def test_a_site_has_the_limits_of_ten_networks(settings, database, clock, limit, attempt):
    throttle = Throttle(replace(settings, **{limit: 1}), clock=lambda: clock.now)
    rotated = [(f"2001:db8:0:{number}::/64", "2001:db8::/48") for number in range(12)]
    tried = [refusal(attempt, throttle, networks) is None for networks in rotated]
    assert tried == [True] * 10 + [False] * 2
    elsewhere = ("2001:db8:1::/64", "2001:db8:1::/48")
    assert refusal(attempt, throttle, elsewhere) is None


# Registration


def register(client, number, **fields):
    account = {"username": f"u{number}", "email": f"{number}@x", "password": PASSWORD, **fields}
    return client.post_json("/register", account, status="*")


@pytest.mark.every_database
def test_an_address_registers_twenty_times_an_hour(throttle, clock):
    for _ in range(20):
        throttle.registration((THERE,)).begin()
        clock.now += 10
    assert seconds(refusal(throttle.registration, (THERE,))) == HOUR - 200
    assert refusal(throttle.registration, (ELSEWHERE,)) is None
    clock.now += HOUR - 201
    assert seconds(refusal(throttle.registration, (THERE,))) == 1
    clock.now += 1
    assert refusal(throttle.registration, (THERE,)) is None


def test_a_program_that_registers_too_often_is_told_when_to_come_back(client_of, clock):
    client = client_of(REGISTRATIONS_PER_ADDRESS=1)
    assert register(client, 1).status_int == 201
    refused = register(client, 2)
    assert (refused.status_int, refused.headers["Retry-After"]) == (429, str(HOUR))
    assert refused.content_type == "application/problem+json"
    assert refused.json["code"] == "throttled"
    assert refused.json["detail"].endswith("Try again in 60 minutes.")
    clock.now += HOUR
    assert register(client, 2).status_int == 201


def test_taken_names_count_or_all_could_be_tried(client_of, ada, comparisons):
    client = client_of(REGISTRATIONS_PER_ADDRESS=2)
    statuses = [register(client, number, username=USERNAME).status_int for number in range(3)]
    assert statuses == [409, 409, 429]


def test_broken_rules_count_when_the_answer_could_say_that_a_name_is_taken(client_of):
    client = client_of(REGISTRATIONS_PER_ADDRESS=2)
    fields = ({"password": "short"}, {"username": "a da"}, {})
    assert [register(client, 1, **each).status_int for each in fields] == [422, 422, 429]


def test_broken_rules_do_not_count_when_no_name_is_looked_up(client_of):
    client = client_of(REGISTRATIONS_PER_ADDRESS=1)
    malformed = {"username": "a da", "email": "nowhere"}
    broken = [register(client, 1, **malformed).status_int for _ in range(3)]
    assert [*broken, register(client, 1).status_int] == [422, 422, 422, 201]


# Limits that are turned off, and time


@pytest.mark.parametrize(
    ("limit", "attempt"),
    [
        pytest.param(
            "LOGIN_FAILURES_PER_ACCOUNT",
            lambda throttle, number: fail(throttle, "ada", str(number)),
            id="account",
        ),
        pytest.param(
            "LOGIN_FAILURES_PER_ADDRESS",
            lambda throttle, number: fail(throttle, str(number), THERE),
            id="address",
        ),
        pytest.param(
            "REGISTRATIONS_PER_ADDRESS",
            lambda throttle, number: throttle.registration((THERE,)).begin(),
            id="registrations",
        ),
    ],
)
def test_each_limit_can_be_turned_off_alone(settings, database, clock, limit, attempt):
    refused = {}
    for free in (3, 0):
        throttle = Throttle(replace(settings, **{limit: free}), clock=lambda: clock.now)
        refused[free] = [refusal(attempt, throttle, number) is not None for number in range(6)]
        AttemptCount.delete().execute()
    assert refused == {3: [False] * 3 + [True] * 3, 0: [False] * 6}


def test_without_limits_nothing_is_counted(settings, database, ada, clock):
    off = dict.fromkeys(LIMITS, 0)
    throttle = Throttle(replace(settings, **off), clock=lambda: clock.now)
    for _ in range(2):
        throttle.registration((HOME,)).begin()
        attempt = throttle.login("ada", (HOME,))
        attempt.begin()
        attempt.succeeded()
        throttle.recognise(ada, (HOME,))
    assert [row["count"] for row in rows()] == [0, 0, 0]  # known under two names and a number


def test_the_time_is_that_of_the_system_unless_another_is_given(settings, database):
    throttle = Throttle(settings)
    throttle.login("ada", (THERE,)).begin()
    assert all(START > row["expires_at"] - DAY > 1_700_000_000 for row in rows())


@pytest.mark.every_database
@pytest.mark.parametrize(
    ("window", "attempt", "wait"),
    [
        pytest.param(
            DAY,
            lambda throttle, number: fail(throttle, "ada", str(number)),
            lambda throttle: wait_for(throttle, "ada", "?"),
            id="account",
        ),
        pytest.param(
            HOUR,
            lambda throttle, number: fail(throttle, str(number), THERE),
            lambda throttle: wait_for(throttle, "?", THERE),
            id="address",
        ),
    ],
)
def test_a_count_begins_anew_after_its_window(settings, database, clock, window, attempt, wait):
    throttle = Throttle(replace(settings, LOGIN_FAILURES_PER_ADDRESS=FREE), clock=lambda: clock.now)
    for number in range(FREE - 1):
        attempt(throttle, number)
    clock.now += window
    for number in range(FREE - 1):
        attempt(throttle, number)
    clock.now += window - 1
    assert wait(throttle) == 0
    attempt(throttle, FREE)
    assert wait(throttle) == 1


@pytest.mark.every_database
def test_no_wait_outlasts_its_window(settings, database, clock):
    throttle = Throttle(replace(settings, LOGIN_FAILURES_PER_ADDRESS=1), clock=lambda: clock.now)
    for number in range(8):
        clock.now += wait_for(throttle, str(number))
        fail(throttle, str(number))
    clock.now = START + HOUR - 10
    fail(throttle, "another")
    assert wait_for(throttle, "one more") == 10


# The owner is not locked out


@pytest.mark.every_database
def test_the_owner_logs_in_from_a_known_address_whatever_strangers_do(client, throttle, clock, ada):
    assert log_in(client, RIGHT).status_int == 200
    for typed in (USERNAME, EMAIL):
        fail_for_long(throttle, clock, typed)
        assert wait_for(throttle, typed) == 900
    for name in (USERNAME.upper(), EMAIL):
        assert log_in(client, {**RIGHT, "username": name}).status_int == 200


@pytest.mark.parametrize("post", [TestApp.post_json, TestApp.post], ids=["JSON", "form"])
def test_an_address_is_known_from_the_registration_on(client, throttle, clock, post):
    post(client, "/register", {**RIGHT, "email": EMAIL}, headers=SAME_ORIGIN)
    fail_for_long(throttle, clock, USERNAME)
    client.reset()
    assert log_in(client, RIGHT).status_int == 200


def test_the_owner_at_a_new_address_waits_with_the_others(client, throttle, clock, ada):
    fail_for_long(throttle, clock, USERNAME)
    refused = log_in(client, RIGHT)
    assert (refused.status_int, refused.headers["Retry-After"]) == (429, "900")


def test_a_database_that_fails_after_a_change_of_name_is_only_logged(
    throttle, ada, database, caplog
):
    database.execute_sql("DROP TABLE wsgiauth_attempt_count")
    throttle.follow(ada, (HOME,))
    assert "the account database failed" in caplog.text


def test_who_was_read_for_a_request_is_recognised_as_well(throttle, ada, tokens):
    caller, *_ = find_session(sessions.start(ada, tokens).token, tokens)
    throttle.recognise(caller, (HOME,))
    fail(throttle, "ada", THERE, times=FREE)
    for name in (USERNAME, EMAIL):
        assert wait_for(throttle, name, HOME) == 0


def test_all_strangers_share_one_count(throttle, ada):
    throttle.recognise(ada, (HOME,))
    for number in range(FREE):
        fail(throttle, "ada", str(number))
    assert wait_for(throttle, "ada", "another") == 1


def test_failures_at_a_known_address_are_not_counted_for_strangers(throttle, ada):
    throttle.recognise(ada, (HOME,))
    fail(throttle, "ada", HOME, times=FREE)
    fail(throttle, "ada", THERE, times=FREE)
    assert wait_for(throttle, "ada", ELSEWHERE) == 1


def test_failures_at_one_known_address_are_not_counted_for_another(throttle, ada):
    for address in (HOME, WORK):
        throttle.recognise(ada, (address,))
        fail(throttle, "ada", address, times=FREE - 1)
    for address in (HOME, WORK):
        assert wait_for(throttle, "ada", address) == 0
        fail(throttle, "ada", address)
        assert wait_for(throttle, "ada", address) == 1


def test_failures_of_strangers_are_not_counted_for_a_known_address(throttle, ada, clock):
    throttle.recognise(ada, (HOME,))
    fail_for_long(throttle, clock)
    fail(throttle, "ada", HOME, times=FREE)
    assert wait_for(throttle, "ada", HOME) == 1


def test_failures_of_neighbours_do_not_keep_out_who_is_known_at_the_address(throttle, ada):
    throttle.recognise(ada, (HOME,))
    for number in range(50):
        fail(throttle, str(number), HOME)
    assert wait_for(throttle, "51", HOME) > 0
    assert wait_for(throttle, "ada", HOME) == 0


@pytest.mark.every_database
def test_a_known_address_is_throttled_for_its_own_failures(throttle, ada, clock):
    throttle.recognise(ada, (HOME,))
    fail(throttle, "ada", HOME, times=FREE)
    for wait in WAITS:
        assert wait_for(throttle, "ada", HOME) == wait
        clock.now += wait
        fail(throttle, "ada", HOME)


def test_an_address_is_known_to_one_account_alone(throttle, settings, ada):
    throttle.recognise(ada, (HOME,))
    fail(throttle, "grace", THERE, times=FREE)
    assert wait_for(throttle, "grace", HOME) == 1


@pytest.mark.every_database
@pytest.mark.parametrize(
    ("name", "give_up"),
    [
        pytest.param(USERNAME, delete_user, id="the account is deleted"),
        pytest.param(EMAIL, delete_user, id="the account is deleted, e-mail"),
        pytest.param(USERNAME, lambda user: User.delete().execute(), id="all are deleted at once"),
        pytest.param(USERNAME, lambda user: update_user(user, username="b"), id="renamed"),
        pytest.param(EMAIL, lambda user: update_user(user, email="b@x"), id="other address"),
    ],
)
def test_an_account_that_gets_a_name_knows_no_client_of_its_previous_owner(
    throttle, settings, ada, name, give_up
):
    throttle.recognise(ada, (HOME,))
    give_up(ada)
    fail(throttle, name, THERE, times=FREE)
    assert wait_for(throttle, name, HOME) == 1
    named = {"username": "c", "email": "c@x", "email" if "@" in name else "username": name}
    successor = create_user(**named, password=PASSWORD, settings=settings)
    assert wait_for(throttle, name, HOME) == 1
    throttle.recognise(successor, (HOME,))
    assert wait_for(throttle, name, HOME) == 0


def test_a_new_password_makes_every_client_a_stranger(throttle, settings, ada):
    throttle.recognise(ada, (HOME,))
    change_password(ada, "other unrelated birds", settings=settings)
    fail(throttle, USERNAME, THERE, times=FREE)
    assert wait_for(throttle, USERNAME, HOME) == 1
    throttle.recognise(ada, (HOME,))
    assert wait_for(throttle, USERNAME, HOME) == 0


def test_a_database_that_fails_after_a_change_of_password_is_only_logged(
    throttle, ada, database, caplog
):
    database.execute_sql("DROP TABLE wsgiauth_attempt_count")
    throttle.keep(ada, (HOME,), former=ada)
    assert "the account database failed" in caplog.text


def test_a_user_who_gets_a_name_back_is_known_under_it(throttle, ada):
    throttle.recognise(ada, (HOME,))
    update_user(ada, username="countess")
    update_user(ada, username=USERNAME)
    fail(throttle, USERNAME, THERE, times=FREE)
    assert wait_for(throttle, USERNAME, HOME) == 0


def test_a_strangers_attempt_looks_up_no_account(throttle, ada, queries):
    throttle.recognise(ada, (HOME,))
    for name in (USERNAME, EMAIL, "nobody"):
        assert "wsgiauth_user" not in str(queries(lambda name=name: fail(throttle, name, THERE)))


@pytest.mark.every_database
@pytest.mark.parametrize(("age", "known"), [(30 * DAY - 1, True), (30 * DAY, False)])
def test_an_address_is_known_for_thirty_days_from_the_last_login(
    client, throttle, clock, ada, age, known
):
    assert log_in(client, RIGHT).status_int == 200
    clock.now += 20 * DAY
    assert log_in(client, RIGHT).status_int == 200
    clock.now += age
    fail(throttle, USERNAME, times=FREE)
    assert (log_in(client, RIGHT).status_int == 200) is known


def test_a_failure_makes_no_address_known(client, throttle, ada):
    log_in(client, WRONG)
    fail(throttle, USERNAME, times=FREE - 1)
    assert log_in(client, RIGHT).status_int == 429


@pytest.mark.every_database
def test_a_login_at_a_known_address_clears_its_own_count_alone(client, throttle, clock, ada):
    assert log_in(client, RIGHT).status_int == 200
    fail_for_long(throttle, clock, USERNAME)
    for _ in range(FREE - 1):
        log_in(client, WRONG)
    assert log_in(client, RIGHT).status_int == 200
    assert wait_for(throttle, USERNAME) == 900
    assert [log_in(client, WRONG).status_int for _ in range(FREE)] == [401] * FREE


# Many at once


def test_an_attempt_that_others_overtook_waits_as_long_as_they_do(throttle, clock):
    fail(throttle, times=FREE)
    for wait in (1, 2):
        assert wait_for(throttle) == wait
        clock.now += wait
        overtaken = throttle.login("ada", (THERE,))
        fail(throttle)
        assert seconds(refusal(overtaken.begin)) == 2 * wait


def test_an_attempt_waits_a_second_if_the_wait_ended_meanwhile(throttle, clock, monkeypatch):
    fail(throttle, times=FREE - 1)
    overtaken = throttle.login("ada", (THERE,))
    fail(throttle)
    add = Counter.add

    def late(counter, now):
        is_counted = add(counter, now)
        AttemptCount.delete().execute()
        return is_counted

    monkeypatch.setattr(Counter, "add", late)
    assert seconds(refusal(overtaken.begin)) == 1


def wide_open(settings):
    """Return settings under which nothing but the count of a name refuses a login."""
    return replace(
        settings,
        LOGIN_FAILURES_PER_ADDRESS=0,
        HASHING_THREADS=GUESSES,
        HASHING_PER_ADDRESS=0,
    )


def at_once(app, tries, threads):
    """Log in with each name, password and address, so many at a time; returns the statuses."""
    barrier = Barrier(threads)

    def begin(credentials, address):
        try:
            return log_in(TestApp(app), credentials, address).status_int
        finally:
            storage.discard_connection(storage.current())

    with ThreadPoolExecutor(threads, initializer=barrier.wait) as executor:
        return list(executor.map(lambda each: begin(*each), tries))


@pytest.mark.every_database
def test_of_forty_guesses_at_once_five_are_compared(settings, database, clock, ada, comparisons):
    tries = [(WRONG, f"192.0.2.{number}") for number in range(GUESSES)]
    statuses = at_once(app_of(wide_open(settings), clock), tries, 20)
    assert sorted(statuses) == [401] * FREE + [429] * (GUESSES - FREE)
    assert len(comparisons) == FREE


@pytest.mark.every_database
def test_of_forty_guesses_at_once_after_a_wait_one_is_compared(
    settings, database, throttle, clock, ada, comparisons
):
    fail(throttle, USERNAME, times=FREE)
    clock.now += 1
    tries = [(WRONG, f"192.0.2.{number}") for number in range(GUESSES)]
    statuses = at_once(app_of(wide_open(settings), clock), tries, 20)
    assert sorted(statuses) == [401] + [429] * (GUESSES - 1)
    assert len(comparisons) == 1


@pytest.mark.every_database
def test_the_owner_succeeds_among_the_guesses_of_others(settings, database, throttle, clock, ada):
    throttle.recognise(ada, (HOME,))
    tries = [(WRONG, THERE)] * GUESSES
    tries[GUESSES // 2] = RIGHT, HOME
    statuses = at_once(app_of(wide_open(settings), clock), tries, 20)
    assert statuses[GUESSES // 2] == 200
    assert sorted(statuses) == [200] + [401] * FREE + [429] * (GUESSES - FREE - 1)


def guess(url):
    """Guess with the other processes; returns the statuses, and how often bcrypt compared."""

    class Clock:
        now = START

    settings = wide_open(Settings(SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=url))
    storage.open_database(url)
    app = app_of(settings, Clock)
    meet()
    with patch("bcrypt.checkpw", wraps=bcrypt.checkpw) as compared:
        statuses = at_once(app, [(WRONG, THERE)] * (GUESSES // PROCESSES), THREADS)
    return statuses, compared.call_count


@pytest.mark.every_database
def test_of_forty_guesses_at_once_in_eight_processes_five_are_compared(
    in_processes, settings, database, ada
):
    results = in_processes(guess, settings.DATABASE_URL)
    statuses = [status for some, _ in results for status in some]
    assert sorted(statuses) == [401] * FREE + [429] * (GUESSES - FREE)
    assert sum(compared for _, compared in results) == FREE


# Locked names


@pytest.mark.every_database
def test_names_with_which_strangers_must_wait_are_counted(throttle, clock, ada):
    throttle.recognise(ada, (HOME,))
    fail(throttle, address=HOME, times=FREE)  # which is known
    for number in range(10 * FREE):  # the address must wait, with no name
        fail(throttle, f"name{number}")
    assert locked_names(START) == 0
    fail(throttle, address=ELSEWHERE, times=FREE)
    fail(throttle, "nobody", ELSEWHERE, times=FREE)
    assert locked_names(START) == 2
    clock.now += 1
    assert locked_names(START + 1) == 0
    fail(throttle, address=ELSEWHERE)
    assert (locked_names(START + 1), locked_names(START + 2), locked_names(START + 3)) == (1, 1, 0)


@pytest.mark.every_database
def test_a_password_in_a_session_is_counted_for_the_name(throttle, ada):
    for _ in range(FREE):
        throttle.confirmation(ada, "session", (THERE,)).begin()
    assert locked_names(START) == 1
    assert AttemptCount.select().where(AttemptCount.kind == NAME).count() == 1


def test_a_name_is_free_when_its_count_has_expired(throttle, ada):
    fail(throttle, times=FREE)
    AttemptCount.update(expires_at=START).execute()
    assert locked_names(START) == 0
