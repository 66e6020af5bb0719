"""The places in which a process hashes."""

import logging
import queue
import threading
from dataclasses import replace

import bcrypt
import pytest
from webtest import TestApp

from tests.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import Settings, storage
from wsgiauth.accounts import create_user
from wsgiauth.app import AuthApp
from wsgiauth.endpoints import Auth
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.hashing import HashingPlaces

pytestmark = pytest.mark.promise(14)

PATIENCE = 10  # seconds, after which a thread counts as lost
HERE, THERE = "192.0.2.1", "198.51.100.2"
LOGIN = {"username": USERNAME, "password": PASSWORD}
ACCOUNT = {**LOGIN, "email": EMAIL}


class Person(threading.Thread):
    """Somebody on the way to a hash, who is settled when hashing, waiting or refused."""

    def __init__(self):
        super().__init__(daemon=True)
        self.settled = threading.Event()
        self.awake = threading.Event()  # unset for who is slow to wake up
        self.awake.set()
        self.start()
        assert self.settled.wait(PATIENCE)


class Watched(threading.Condition):
    """A condition that says when somebody waits for it, and can be hard to hear."""

    is_heard = True

    def wait(self, timeout=None):
        self.timeout = timeout
        person = threading.current_thread()
        if timeout:
            person.settled.set()
        is_notified = super().wait(timeout)
        self.release()
        assert person.awake.wait(PATIENCE)
        self.acquire()
        return is_notified

    def notify_all(self):
        if self.is_heard:
            super().notify_all()


class Visitor(Person):
    """Somebody who wants a place, gets, awaits or is refused it, and stays until told to leave."""

    def __init__(self, places, address, arrivals):
        self.places = places
        self.address = address
        self.arrivals = arrivals
        self.leaving = threading.Event()
        self.state = "waiting"
        super().__init__()

    def run(self):
        try:
            with self.places.place(self.address):
                self.state = "hashing"
                self.arrivals.put(self)
                self.settled.set()
                assert self.leaving.wait(PATIENCE)
        except RetryLaterError:
            self.state = "refused"
        self.settled.set()

    def leave(self):
        self.leaving.set()
        self.join(PATIENCE)


class House:
    """Places, and who is in them."""

    def __init__(self, **settings):
        settings = {"THREADS": 1, "QUEUE": 1, "WAIT": 60, "PER_ADDRESS": 0, **settings}
        chosen = {f"HASHING_{name}": value for name, value in settings.items()}
        made = []

        def condition():
            made.append(Watched())
            return made[0]

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(threading, "Condition", condition)
            self.places = HashingPlaces(Settings(**chosen))
        (self.condition,) = made
        self.visitors = []
        self.arrivals = queue.Queue()

    def visit(self, *addresses):
        """Let visitors come one after another; returns what became of each."""
        come = [Visitor(self.places, address, self.arrivals) for address in addresses]
        self.visitors += come
        return [visitor.state for visitor in come]

    def next(self):
        """Return the address of the next who got a place."""
        return self.arrivals.get(timeout=PATIENCE).address

    def leave(self, address):
        """Let the first visitor with a place and this address go."""
        visitor = next(
            each for each in self.visitors if (each.state, each.address) == ("hashing", address)
        )
        visitor.leave()
        self.visitors.remove(visitor)


@pytest.fixture
def house():
    """Return a function that makes a house, which is empty in the end."""
    made = []

    def build(**settings):
        made.append(House(**settings))
        return made[-1]

    yield build
    for each in made:
        each.condition.is_heard = True
        for visitor in each.visitors:
            visitor.leaving.set()
        for visitor in each.visitors:
            visitor.join(PATIENCE)
            assert not visitor.is_alive()


def is_refused(places, address):
    try:
        places.require_room(address)
    except RetryLaterError:
        return True
    return False


# Places and the queue


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("length", [0, 1, 2])
def test_so_many_hash_and_so_many_wait_and_the_others_are_refused(house, threads, length):
    full = house(THREADS=threads, QUEUE=length)
    expected = ["hashing"] * threads + ["waiting"] * length + ["refused"] * 2
    assert full.visit(*"abcdefg"[: len(expected)]) == expected


def test_nobody_hashes_beyond_the_places_however_many_come_and_go(house):
    busy = house(THREADS=2, QUEUE=6)
    busy.visit(*"abcdefgh")
    hashing = {busy.next(), busy.next()}
    for _ in range(6):
        busy.leave(hashing.pop())
        hashing.add(busy.next())
        assert busy.arrivals.empty()
        assert len(hashing) == 2


def test_who_waits_gets_a_place_in_order_of_arrival(house):
    busy = house(THREADS=1, QUEUE=4)
    busy.visit(*"abcde")
    order = []
    for _ in range(5):
        order.append(busy.next())
        busy.leave(order[-1])
    assert order == [*"abcde"]


def test_two_places_that_are_left_go_to_two_even_if_the_first_is_slow(house):
    busy = house(THREADS=2, QUEUE=2)
    busy.visit(*"abcd")
    _, _, first, second = busy.visitors
    first.awake.clear()
    for address in "ab":
        second.settled.clear()
        busy.leave(address)
        assert second.settled.wait(PATIENCE)  # has looked, and it is not their turn
    first.awake.set()
    assert [busy.next() for _ in range(4)] == [*"abcd"]


def test_nobody_overtakes_one_whose_turn_it_is_but_who_is_still_asleep(house):
    busy = house(THREADS=1, QUEUE=1)
    busy.visit("a", "b")
    busy.condition.is_heard = False
    busy.leave("a")
    assert is_refused(busy.places, "c")
    assert busy.visit("c") == ["refused"]
    busy.condition.is_heard = True
    with busy.condition:
        busy.condition.notify_all()
    assert [busy.next(), busy.next()] == ["a", "b"]


def test_a_wait_is_as_long_as_it_is_set(house):
    busy = house(WAIT=60)
    busy.visit("a", "b")
    assert 0 < busy.condition.timeout <= 60


def test_who_has_waited_long_enough_is_refused_and_makes_room(house):
    busy = house(WAIT=0)
    assert busy.visit("a", "b", "c") == ["hashing", "refused", "refused"]
    assert not is_refused(busy.places, "d")
    busy.leave("a")
    assert busy.visit("d") == ["hashing"]


def test_who_leaves_the_queue_by_an_exception_makes_room(house, monkeypatch):
    class TimeoutOfTheServerError(BaseException):
        pass

    busy = house()
    busy.visit("a")

    def interrupted(timeout=None):
        raise TimeoutOfTheServerError

    with monkeypatch.context() as patch:
        patch.setattr(busy.condition, "wait", interrupted)
        with pytest.raises(TimeoutOfTheServerError), busy.places.place("b"):
            pass
    assert busy.visit("b") == ["waiting"]


def test_a_place_is_given_back_after_an_exception():
    places = HashingPlaces(Settings(HASHING_THREADS=1, HASHING_QUEUE=0))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), places.place(HERE):
            raise ZeroDivisionError
    assert not is_refused(places, HERE)


def test_asking_for_room_reserves_none():
    places = HashingPlaces(Settings(HASHING_THREADS=1, HASHING_QUEUE=0))
    for _ in range(3):
        places.require_room(HERE)
    with places.place(HERE):
        assert is_refused(places, HERE)
    assert not is_refused(places, HERE)


# Shares


@pytest.mark.parametrize(
    ("share", "expected"),
    [
        pytest.param(1, ["hashing", "waiting", "refused", "refused", "refused"], id="one"),
        pytest.param(2, ["hashing", "hashing", "waiting", "waiting", "refused"], id="two"),
        pytest.param(3, ["hashing", "hashing", "hashing", "waiting", "waiting"], id="three"),
        pytest.param(0, ["hashing", "hashing", "hashing", "waiting", "waiting"], id="no limit"),
    ],
)
def test_an_address_has_its_share(house, share, expected):
    assert house(THREADS=3, QUEUE=3, PER_ADDRESS=share).visit(*"aaaaa") == expected


def test_an_address_that_has_its_share_leaves_the_rest_to_others(house):
    flooded = house(THREADS=2, QUEUE=2, PER_ADDRESS=1)
    assert flooded.visit("a", "a", "a") == ["hashing", "waiting", "refused"]
    assert flooded.visit("b", "c", "c") == ["hashing", "waiting", "refused"]


def test_who_has_nothing_yet_goes_before_who_would_have_a_second(house):
    flooded = house(THREADS=1, QUEUE=1, PER_ADDRESS=1)
    assert flooded.visit("a", "a") == ["hashing", "waiting"]
    _, second = flooded.visitors
    assert flooded.visit("b") == ["waiting"]
    second.join(PATIENCE)
    assert second.state == "refused"
    flooded.leave("a")
    assert [flooded.next(), flooded.next()] == ["a", "b"]
    assert flooded.visit("c", "d") == ["waiting", "refused"]


def test_who_waits_for_their_own_share_lets_others_pass(house):
    flooded = house(THREADS=2, QUEUE=2, PER_ADDRESS=1)
    flooded.visit("a", "b", "a", "c")
    assert [flooded.next(), flooded.next()] == ["a", "b"]
    flooded.leave("b")
    assert flooded.next() == "c"
    flooded.leave("c")
    assert flooded.visit("d") == ["hashing"]
    flooded.leave("a")
    assert [flooded.next(), flooded.next()] == ["d", "a"]


def test_a_free_place_is_for_who_may_hash_even_if_the_queue_is_full(house):
    flooded = house(THREADS=2, QUEUE=1, PER_ADDRESS=1)
    assert flooded.visit("a", "a", "b") == ["hashing", "waiting", "hashing"]


def test_the_share_is_free_again_when_its_place_is_left(house):
    flooded = house(THREADS=2, QUEUE=0, PER_ADDRESS=1)
    for _ in range(2):
        assert flooded.visit("a", "a") == ["hashing", "refused"]
        flooded.leave("a")


# What a client is told


@pytest.mark.parametrize(
    ("share", "reason"), [(1, "busy with this address"), (0, "busy")], ids=["share", "all"]
)
def test_a_refusal_says_when_to_come_back_and_is_told_as_an_event(caplog, share, reason):
    places = HashingPlaces(Settings(HASHING_THREADS=1, HASHING_QUEUE=0, HASHING_PER_ADDRESS=share))
    with places.place(HERE), pytest.raises(RetryLaterError) as refused:
        places.require_room(HERE)
    assert (refused.value.status, refused.value.code) == (503, "busy")
    assert refused.value.headers == (("Retry-After", "1"),)
    (record,) = caplog.records
    assert (record.event, record.reason) == ("refused", reason)


def environ_of(address):
    return {"SCRIPT_NAME": "/auth", "REMOTE_ADDR": address, "wsgiauth.root": ""}


def client_of(app, address):
    return TestApp(app, extra_environ=environ_of(address))


class Unreadable:
    """A body that nobody may read."""

    def read(self, *_):
        raise AssertionError("the body was read")

    readline = readlines = __iter__ = read


@pytest.fixture
def ada(database, settings):
    return create_user(USERNAME, EMAIL, PASSWORD, settings=settings)


@pytest.fixture
def app_with(settings, database):
    """Return a function that returns what answers below /auth, with these places."""

    def app(places):
        return AuthApp(replace(Auth.from_settings(settings, "/auth"), hashing=places))

    return app


@pytest.mark.parametrize("path", ["/login", "/register"])
@pytest.mark.parametrize("content_type", ["application/json", "application/x-www-form-urlencoded"])
def test_who_finds_no_room_is_refused_before_anything_is_read_or_asked(
    app_with, caplog, path, content_type
):
    places = HashingPlaces(Settings(HASHING_THREADS=1, HASHING_QUEUE=0))
    app = app_with(places)
    environ = {
        **environ_of(HERE),
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "CONTENT_TYPE": content_type,
        "CONTENT_LENGTH": "100",
        "wsgi.input": Unreadable(),
    }
    answers = []
    caplog.set_level(logging.DEBUG, "peewee")
    caplog.clear()
    with places.place(THERE):
        app(environ, lambda status, headers: answers.append((status, dict(headers))))
    ((status, headers),) = answers
    assert (status, headers["Retry-After"]) == ("503 Service Unavailable", "1")
    assert [record for record in caplog.records if record.name == "peewee"] == []


def test_a_program_is_told_that_the_site_is_busy(app_with):
    places = HashingPlaces(Settings(HASHING_THREADS=1, HASHING_QUEUE=0))
    client = client_of(app_with(places), HERE)
    for path in ("/login", "/register"):
        with places.place(THERE):
            refused = client.post_json(path, ACCOUNT, status=503)
        assert refused.headers["Retry-After"] == "1"
        assert refused.content_type == "application/problem+json"
        assert refused.json == {
            "type": "about:blank",
            "title": "Service Unavailable",
            "status": 503,
            "detail": "Too many people are logging in or registering. Try again in a few seconds.",
            "code": "busy",
        }
    client.post_json("/register", ACCOUNT, status=201)


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded"])
@pytest.mark.promise(13)
def test_a_client_that_claims_another_address_has_the_share_of_its_own(app_with, ada, header):
    places = HashingPlaces(Settings(HASHING_THREADS=2, HASHING_QUEUE=0))
    client = client_of(app_with(places), HERE)
    with places.place(HERE):
        client.post_json("/login", LOGIN, headers={header: THERE}, status=503)
    with places.place(THERE):
        client.post_json("/login", LOGIN, headers={header: THERE}, status=200)


# Logins at once


class Login(Person):
    """A login under way."""

    def __init__(self, app, address):
        self.client = client_of(app, address)
        super().__init__()

    def run(self):
        try:
            self.answer = self.client.post_json("/login", LOGIN, status="*")
        finally:
            storage.discard_connection(storage.current())
            self.settled.set()


@pytest.fixture
def slow_hashes(monkeypatch):
    """Return an event before which no comparison comes to its end."""
    come = threading.Event()
    compare = bcrypt.checkpw

    def slow(*arguments):
        threading.current_thread().settled.set()
        assert come.wait(PATIENCE)
        return compare(*arguments)

    monkeypatch.setattr(bcrypt, "checkpw", slow)
    yield come
    come.set()


@pytest.mark.parametrize(
    ("addresses", "share", "statuses"),
    [
        pytest.param("abcd", 1, [200] * 4, id="four from four addresses"),
        pytest.param("abcde", 1, [200] * 4 + [503], id="five from five addresses"),
        pytest.param("aa", 1, [200] * 2, id="two from one address"),
        pytest.param("aaa", 1, [200] * 2 + [503], id="three from one address"),
        pytest.param("aaaab", 1, [200] * 2 + [503] * 2 + [200], id="a flood and somebody else"),
        pytest.param("aaaa", 0, [200] * 4, id="four from one address without shares"),
    ],
)
def test_logins_at_once_find_two_places_and_two_to_wait_in(
    app_with, ada, slow_hashes, addresses, share, statuses
):
    places = House(THREADS=2, QUEUE=2, PER_ADDRESS=share).places
    app = app_with(places)
    logins = [Login(app, address) for address in addresses]
    slow_hashes.set()
    for login in logins:
        login.join(PATIENCE)
    assert [login.answer.status_int for login in logins] == statuses
    refused = [login.answer for login in logins if login.answer.status_int == 503]
    assert all(answer.json["code"] == "busy" for answer in refused)
