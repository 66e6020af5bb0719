"""The slots in which a process hashes passwords."""

import logging
import threading
from dataclasses import replace
from queue import Queue

import bcrypt
import pytest
from webtest import TestApp

from tests.support.sites import EMAIL, PASSWORD, USERNAME
from wsgiauth import Settings, storage
from wsgiauth.app import AuthApp
from wsgiauth.exceptions import RetryLaterError
from wsgiauth.features.registry import FEATURES
from wsgiauth.site import Site
from wsgiauth.throttling.hash_slots import (
    FLOOD,
    HALF_LIFE,
    HEAD_START,
    LONGEST_WAIT,
    MAX_KEYS,
    RETRY_AFTER,
    STRANGERS_TURN,
    Claim,
    HashSlots,
    RecentUse,
)

pytestmark = pytest.mark.promise(14)

PATIENCE = 60  # seconds, after which a thread counts as lost
HERE, THERE = "192.0.2.1", "198.51.100.2"
LOGIN = {"username": USERNAME, "password": PASSWORD}
ACCOUNT = {**LOGIN, "email": EMAIL}


class Person(threading.Thread):
    """A client on the way to a hash, who is settled when hashing, waiting or refused."""

    def __init__(self):
        super().__init__(daemon=True)
        self.settled = threading.Event()
        self.awake = threading.Event()  # unset for one that is slow to wake up
        self.awake.set()
        self.start()
        assert self.settled.wait(PATIENCE)


class Watched(threading.Condition):
    """A condition that says when a thread waits for it, and can be hard to hear."""

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
    """A client that wants a slot, gets, awaits or is refused it, and stays until it must leave."""

    def __init__(self, slots, claim, arrivals):
        self.slots = slots
        self.claim = claim
        self.arrivals = arrivals
        self.leaving = threading.Event()
        self.state = "waiting"
        super().__init__()

    def run(self):
        try:
            with self.slots.slot(self.claim):
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
    """Slots, and the claims on them."""

    def __init__(self, *, queue=None, longest_wait=60, **settings):
        options = {"queue": queue, "longest_wait": longest_wait}
        options = {name: value for name, value in options.items() if value is not None}
        settings = {"THREADS": 1, "PER_ADDRESS": 0, **settings}
        chosen = {f"HASHING_{name}": value for name, value in settings.items()}
        made = []

        def condition():
            made.append(Watched())
            return made[0]

        self.now = 0.0  # seconds
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(threading, "Condition", condition)
            self.slots = HashSlots(Settings(**chosen), clock=lambda: self.now, **options)
        (self.condition,) = made
        self.visitors = []
        self.arrivals = Queue()

    def visit(self, *visitors):
        """Let visitors come one after another, each a claim or an address; return their states."""
        claims = [each if isinstance(each, Claim) else Claim((each,)) for each in visitors]
        come = [Visitor(self.slots, claim, self.arrivals) for claim in claims]
        self.visitors += come
        return [visitor.state for visitor in come]

    def next(self):
        """Return the address of the next who got a slot."""
        return self.arrivals.get(timeout=PATIENCE).claim.networks[0]

    def leave(self, address):
        """Let the first visitor with a slot and this address go."""
        visitor = next(
            each
            for each in self.visitors
            if (each.state, each.claim.networks[0]) == ("hashing", address)
        )
        visitor.leave()
        self.visitors.remove(visitor)

    def hash(self, claim, times=1):
        """Ask for a slot that is free, and leave it."""
        for _ in range(times):
            with self.slots.slot(replace(claim)):
                pass

    def become_of(self, position):
        """Return what became of a visitor that was displaced or let in."""
        visitor = self.visitors[position]
        visitor.join(PATIENCE)
        return visitor.state


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


def known(address, account):
    return Claim((address,), account, is_known=True)


def stranger(address, account):
    return Claim((address,), account)


# Slots and the queue


def test_so_many_hash_and_so_many_wait_and_the_others_are_refused(house):
    for length in [0, 1, 2]:
        for threads in [1, 2, 3]:
            full = house(THREADS=threads, queue=length)
            expected = ["hashing"] * threads + ["waiting"] * length + ["refused"] * 2
            assert full.visit(*"abcdefg"[: len(expected)]) == expected, (length, threads)


def test_no_more_hash_than_there_are_slots_however_many_come_and_go(house):
    busy = house(THREADS=2, queue=6)
    busy.visit(*"abcdefgh")
    hashing = {busy.next(), busy.next()}
    for _ in range(6):
        busy.leave(hashing.pop())
        hashing.add(busy.next())
        assert busy.arrivals.empty()
        assert len(hashing) == 2


def test_equal_claims_get_a_slot_in_order_of_arrival(house):
    busy = house(queue=4)
    busy.visit(*"abcde")
    order = []
    for _ in range(5):
        order.append(busy.next())
        busy.leave(order[-1])
    assert order == [*"abcde"]


def test_two_slots_that_are_left_go_to_two_even_if_the_first_is_slow(house):
    busy = house(THREADS=2)
    busy.visit(*"abcd")
    _, _, first, second = busy.visitors
    first.awake.clear()
    for address in "ab":
        second.settled.clear()
        busy.leave(address)
        assert second.settled.wait(PATIENCE)  # has looked, and it is not its turn
    first.awake.set()
    assert [busy.next() for _ in range(4)] == [*"abcd"]


def test_no_equal_overtakes_one_whose_turn_it_is_but_who_is_still_asleep(house):
    busy = house()
    busy.visit("a", "b")
    busy.condition.is_heard = False
    busy.leave("a")
    assert busy.visit("c") == ["waiting"]
    busy.condition.is_heard = True
    with busy.condition:
        busy.condition.notify_all()
    assert [busy.next(), busy.next()] == ["a", "b"]
    busy.leave("b")
    assert busy.next() == "c"


def test_as_many_wait_as_hash(house):
    for threads in [1, 2, 3]:
        full = house(THREADS=threads)
        expected = ["hashing"] * threads + ["waiting"] * threads + ["refused"]
        assert full.visit(*"abcdefg"[: len(expected)]) == expected, threads


def test_a_wait_is_limited(house):
    busy = house(longest_wait=None)
    busy.visit("a", "b")
    assert 0 < busy.condition.timeout <= LONGEST_WAIT


def test_a_claim_that_has_waited_long_enough_is_refused_and_makes_room(house):
    busy = house(longest_wait=0)
    assert busy.visit("a", "b", "c") == ["hashing", "refused", "refused"]
    busy.leave("a")
    assert busy.visit("d") == ["hashing"]


def test_a_claim_that_leaves_the_queue_by_an_exception_makes_room(house, monkeypatch):
    class TimeoutOfTheServerError(BaseException):
        pass

    busy = house()
    busy.visit("a")

    def interrupted(timeout=None):
        raise TimeoutOfTheServerError

    with monkeypatch.context() as patch:
        patch.setattr(busy.condition, "wait", interrupted)
        with pytest.raises(TimeoutOfTheServerError), busy.slots.slot(Claim(("b",))):
            pass
    assert busy.visit("b") == ["waiting"]


def test_a_slot_is_given_back_after_an_exception():
    slots = HashSlots(Settings(HASHING_THREADS=1), queue=0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), slots.slot(Claim((HERE,))):
            raise ZeroDivisionError
    with slots.slot(Claim((HERE,))):
        pass


# Shares


def test_a_client_has_its_share(house):
    for case, (share, expected) in {
        "one": (1, ["hashing", "waiting", "refused", "refused", "refused"]),
        "two": (2, ["hashing", "hashing", "waiting", "waiting", "refused"]),
        "three": (3, ["hashing", "hashing", "hashing", "waiting", "waiting"]),
        "no limit": (0, ["hashing", "hashing", "hashing", "waiting", "waiting"]),
    }.items():
        assert house(THREADS=3, PER_ADDRESS=share).visit(*"aaaaa") == expected, case


def test_the_addresses_of_one_site_have_one_share(house):
    flooded = house(THREADS=4, PER_ADDRESS=1)
    rotating = [Claim((f"2001:db8:0:{number}::/64", "2001:db8::/48")) for number in range(3)]
    assert flooded.visit(*rotating) == ["hashing", "waiting", "refused"]
    assert flooded.visit(Claim(("2001:db8:1::/64", "2001:db8:1::/48"))) == ["hashing"]


def test_a_client_that_has_its_share_leaves_the_rest_to_others(house):
    flooded = house(THREADS=2, PER_ADDRESS=1)
    assert flooded.visit("a", "a", "a") == ["hashing", "waiting", "refused"]
    assert flooded.visit("b", "c") == ["hashing", "waiting"]


def test_a_client_that_waits_for_its_own_share_lets_others_pass(house):
    flooded = house(THREADS=2, PER_ADDRESS=1)
    flooded.visit("a", "b", "a", "c")
    assert [flooded.next(), flooded.next()] == ["a", "b"]
    flooded.leave("b")
    assert flooded.next() == "c"
    flooded.leave("c")
    assert flooded.visit("d") == ["hashing"]
    flooded.leave("a")
    assert [flooded.next(), flooded.next()] == ["d", "a"]


def test_the_share_is_free_again_when_its_slot_is_left(house):
    flooded = house(queue=0, PER_ADDRESS=1)
    for _ in range(2):
        assert flooded.visit("a", "a") == ["hashing", "refused"]
        flooded.leave("a")


def test_an_account_hashes_once_at_a_time_from_wherever(house):
    flooded = house(THREADS=2, PER_ADDRESS=1)
    assert flooded.visit(known("a", "ada"), known("b", "ada")) == ["hashing", "waiting"]
    assert flooded.visit(known("c", "grace")) == ["hashing"]
    flooded.leave("c")
    flooded.leave("a")
    assert [flooded.next() for _ in range(3)] == ["a", "c", "b"]


def test_accounts_that_are_only_now_made_are_not_one_account(house):
    assert house(THREADS=2, queue=0).visit(Claim(("a",)), Claim(("b",))) == ["hashing"] * 2


# Precedence


def test_a_client_with_nothing_takes_precedence_over_the_second_of_another(house):
    flooded = house(PER_ADDRESS=1)
    assert flooded.visit("a", "a") == ["hashing", "waiting"]
    assert flooded.visit("b") == ["waiting"]
    assert flooded.become_of(1) == "refused"
    flooded.leave("a")
    assert [flooded.next(), flooded.next()] == ["a", "b"]
    assert flooded.visit("c", "d") == ["waiting", "refused"]


def test_the_client_that_asked_least_comes_first(house):
    flooded = house(queue=3)
    for address, times in (("a", 3), ("b", 2), ("c", 1)):
        flooded.hash(Claim((address,)), times)
    assert flooded.visit("x", "a", "b", "c") == ["hashing"] + ["waiting"] * 3
    order = []
    for _ in range(4):
        order.append(flooded.next())
        flooded.leave(order[-1])
    assert order == ["x", "c", "b", "a"]


def test_a_full_queue_makes_room_for_a_client_that_asked_less_and_for_no_other(house):
    flooded = house(queue=2)
    flooded.hash(Claim(("a",)))
    assert flooded.visit("x", "a", "b") == ["hashing", "waiting", "waiting"]
    assert flooded.visit("c") == ["waiting"]
    assert flooded.become_of(1) == "refused"
    assert flooded.visit("d", "a") == ["refused", "refused"]


def test_a_request_that_is_refused_counts_as_well(house):
    flooded = house()
    assert flooded.visit("x", "y", "a") == ["hashing", "waiting", "refused"]
    flooded.leave("x")
    assert [flooded.next(), flooded.next()] == ["x", "y"]
    assert flooded.visit("a") == ["waiting"]
    assert flooded.visit("b") == ["waiting"]
    assert flooded.become_of(-2) == "refused"


def test_of_equals_that_wait_the_last_to_arrive_is_displaced(house):
    flooded = house(queue=2)
    for address in "ab":
        flooded.hash(Claim((address,)))
    assert flooded.visit("x", "a", "b") == ["hashing", "waiting", "waiting"]
    assert flooded.visit("c") == ["waiting"]
    assert flooded.become_of(2) == "refused"
    flooded.leave("x")
    assert [flooded.next() for _ in range(2)] == ["x", "c"]
    flooded.leave("c")
    assert flooded.next() == "a"


def test_a_known_client_takes_precedence_over_strangers(house):
    flooded = house()
    assert flooded.visit("x", "y") == ["hashing", "waiting"]
    assert flooded.visit(known("a", "ada")) == ["waiting"]
    assert flooded.become_of(1) == "refused"
    assert flooded.visit("z") == ["refused"]
    flooded.leave("x")
    assert [flooded.next(), flooded.next()] == ["x", "a"]


def test_a_known_client_takes_precedence_over_strangers_at_its_address(house):
    flooded = house(PER_ADDRESS=1)
    assert flooded.visit("a", "a") == ["hashing", "waiting"]
    assert flooded.visit(known("a", "ada")) == ["waiting"]
    assert flooded.become_of(1) == "refused"


def test_an_account_made_for_the_flood_loses_its_head_start(house):
    flooded = house()
    flooded.hash(known("a", "mallory"), HEAD_START + 1)
    assert flooded.visit("x", known("b", "mallory")) == ["hashing", "waiting"]
    assert flooded.visit("y") == ["waiting"]
    assert flooded.become_of(1) == "refused"


def test_guesses_at_a_name_do_not_count_for_its_owner(house):
    flooded = house()
    flooded.hash(stranger("a", "ada"), 10)
    assert flooded.visit("x", "y") == ["hashing", "waiting"]
    assert flooded.visit(known("b", "ada")) == ["waiting"]


def test_the_addresses_of_one_site_count_as_one(house):
    flooded = house()
    for number in range(2):
        flooded.hash(Claim((f"2001:db8:0:{number}::/64", "2001:db8::/48")))
    assert flooded.visit("x", Claim(("2001:db8:0:9::/64", "2001:db8::/48"))) == [
        "hashing",
        "waiting",
    ]
    assert flooded.visit("y") == ["waiting"]


def test_requests_are_forgotten_in_time(house):
    flooded = house()
    flooded.hash(Claim(("a",)))
    flooded.now += 3 * HALF_LIFE
    assert flooded.visit("x", "a", "b") == ["hashing", "waiting", "refused"]


@pytest.mark.parametrize("arrives", ["before them", "after them"])
def test_every_fourth_hash_is_a_strangers_while_known_clients_fill_the_slots(house, arrives):
    flooded = house(queue=2)
    flooded.hash(known("0", "0"), STRANGERS_TURN - 1)
    assert flooded.visit(known("a", "a")) == ["hashing"]
    claims = [known("b", "b"), Claim(("stranger",))]
    for claim in claims if arrives == "after them" else reversed(claims):
        assert flooded.visit(claim) == ["waiting"]
    assert flooded.visit(known("c", "c")) == ["refused"]
    flooded.leave("a")
    assert [flooded.next(), flooded.next()] == ["a", "stranger"]
    flooded.leave("stranger")
    assert flooded.next() == "b"


def test_a_stranger_whose_turn_it_is_takes_the_place_of_a_known_client(house):
    flooded = house(queue=2)
    flooded.hash(known("0", "0"), STRANGERS_TURN - 1)
    assert flooded.visit(*(known(each, each) for each in "abc")) == ["hashing"] + ["waiting"] * 2
    assert flooded.visit(Claim(("x",))) == ["waiting"]
    assert flooded.become_of(2) == "refused"
    assert flooded.visit(Claim(("y",))) == ["refused"]  # one of them is enough


def test_a_known_client_displaces_all_strangers_but_the_one_whose_turn_it_is(house):
    flooded = house(queue=2)
    flooded.hash(known("0", "0"), STRANGERS_TURN - 1)
    assert flooded.visit(known("a", "a"), Claim(("x",)), Claim(("y",)))[0] == "hashing"
    assert flooded.visit(known("b", "b")) == ["waiting"]
    assert flooded.become_of(2) == "refused"
    assert flooded.visit(known("c", "c")) == ["refused"]


def test_with_one_place_to_wait_a_known_client_comes_first_all_the_same(house):
    flooded = house()
    flooded.hash(known("0", "0"), STRANGERS_TURN - 1)
    assert flooded.visit(known("a", "a"), Claim(("x",))) == ["hashing", "waiting"]
    assert flooded.visit(known("b", "b")) == ["waiting"]
    assert flooded.become_of(1) == "refused"


def test_a_known_client_is_not_judged_by_the_others_of_its_site(house):
    flooded = house()
    for number in range(9):
        flooded.hash(Claim((f"2001:db8:0:{number}::/64", "2001:db8::/48")))
    assert flooded.visit("x", "y") == ["hashing", "waiting"]
    owner = Claim(("2001:db8:0:ffff::/64", "2001:db8::/48"), "ada", is_known=True)
    assert flooded.visit(owner) == ["waiting"]


# Patience


def flood(slots, claim, times=FLOOD):
    """Ask for a slot again and again, and be refused; `slots` have none to give."""
    for _ in range(times):
        with pytest.raises(RetryLaterError), slots.slot(replace(claim)):
            pass


def is_read(slots, *networks):
    try:
        slots.require_patience(networks)
    except RetryLaterError:
        return False
    return True


def test_a_flood_is_read_once_in_each_retry_after(house):
    full = house(queue=0, PER_ADDRESS=9)
    full.visit("x")
    flood(full.slots, Claim(("a",)), FLOOD - 1)
    assert is_read(full.slots, "a")
    flood(full.slots, Claim(("a",)), 1)
    assert not is_read(full.slots, "a")
    full.now += RETRY_AFTER
    assert is_read(full.slots, "a")
    flood(full.slots, Claim(("a",)), 1)
    assert not is_read(full.slots, "a")


def test_a_flood_keeps_no_other_client_from_being_read(house):
    full = house(queue=0, PER_ADDRESS=9)
    full.visit("x")
    flood(full.slots, Claim(("2001:db8:0:1::/64", "2001:db8::/48")))
    assert not is_read(full.slots, "2001:db8:0:2::/64", "2001:db8::/48")
    assert is_read(full.slots, "2001:db8:1:1::/64", "2001:db8:1::/48")


def test_a_client_that_got_its_slot_is_read_however_often_it_asks(house):
    idle = house(queue=0, PER_ADDRESS=9)
    idle.hash(Claim(("a",)), FLOOD + 1)
    assert is_read(idle.slots, "a")


def test_a_client_that_stops_for_a_while_is_read_again(house):
    full = house(queue=0, PER_ADDRESS=9)
    full.visit("x")
    flood(full.slots, Claim(("a",)))
    for _ in range(FLOOD):
        assert not is_read(full.slots, "a")  # counts, too
    full.now += HALF_LIFE
    flood(full.slots, Claim(("a",)), 1)
    assert not is_read(full.slots, "a")
    full.now += HALF_LIFE
    flood(full.slots, Claim(("a",)), 1)
    assert is_read(full.slots, "a")


@pytest.mark.slow
def test_the_refusals_of_any_number_of_clients_take_so_much_memory(house):
    full = house(queue=0, PER_ADDRESS=9)
    full.visit("x")
    flood(full.slots, Claim(("a",)))
    for number in range(MAX_KEYS):
        flood(full.slots, Claim((str(number),)), 1)
    assert is_read(full.slots, "a")  # all were forgotten at once


def test_addresses_that_many_clients_share_are_read_without_a_limit_for_addresses(house):
    full = house(queue=0, PER_ADDRESS=0)
    full.visit("x")
    flood(full.slots, Claim(("proxy",)))
    assert is_read(full.slots, "proxy")


def test_what_was_counted_weighs_half_after_a_while():
    now = [0.0]
    use = RecentUse(lambda: now[0])
    use.add(["a", "b"])
    use.add(["a"])
    assert (use.of("a"), use.of("b"), use.of("c")) == (2, 1, 0)
    now[0] += HALF_LIFE
    assert (use.of("a"), use.of("b")) == (1, 0.5)
    use.add(["a"])
    assert use.of("a") == 2


def test_no_number_of_clients_takes_more_than_so_much_memory():
    now = [0.0]
    use = RecentUse(lambda: now[0])
    use.add(["flood"] * 3)
    clients = [str(number) for number in range(2 * MAX_KEYS)]
    for client in clients:
        use.add([client])
        now[0] += 0.001
    assert sum(use.of(each) > 0 for each in ["flood", *clients]) <= MAX_KEYS
    assert use.of("flood") > 2


# What a refused client gets


@pytest.mark.parametrize(
    ("share", "reason"), [(1, "busy with this address"), (0, "busy")], ids=["share", "all"]
)
def test_a_refusal_says_when_to_come_back_and_emits_an_event(house, caplog, share, reason):
    full = house(PER_ADDRESS=share)
    full.visit(HERE, HERE)
    with pytest.raises(RetryLaterError) as refused, full.slots.slot(Claim((HERE,))):
        pass
    assert (refused.value.status, refused.value.code) == (503, "busy")
    assert refused.value.headers == (("Retry-After", "1"),)
    (record,) = caplog.records
    assert (record.event, record.reason) == ("refused", reason)


def environ_of(address):
    return {"SCRIPT_NAME": "/auth", "REMOTE_ADDR": address, "wsgiauth.root": ""}


def client_of(app, address):
    return TestApp(app, extra_environ=environ_of(address))


@pytest.fixture
def app_with(settings, database):
    """Return a function that returns what answers below /auth, with these slots."""

    def app(slots):
        site = replace(Site.from_settings(settings, "/auth", FEATURES), hash_slots=slots)
        below = AuthApp(site)
        return lambda environ, start: below({**environ, "wsgiauth.site": site}, start)

    return app


class Unreadable:
    """A body that must not be read."""

    def read(self, *_):
        raise AssertionError("the body was read")

    readline = readlines = __iter__ = read


@pytest.mark.parametrize("path", ["/login", "/register"])
@pytest.mark.parametrize("content_type", ["application/json", "application/x-www-form-urlencoded"])
def test_a_flood_is_refused_before_anything_is_read_or_looked_up(
    app_with, caplog, path, content_type
):
    slots = HashSlots(Settings(HASHING_THREADS=1), queue=0, clock=lambda: 0.0)
    app = app_with(slots)
    environ = {
        **environ_of(HERE),
        "REQUEST_METHOD": "POST",
        "PATH_INFO": path,
        "CONTENT_TYPE": content_type,
        "CONTENT_LENGTH": "100",
        "wsgi.input": Unreadable(),
    }
    answers = []
    with slots.slot(Claim((THERE,))):
        flood(slots, Claim((HERE,)), FLOOD)
    caplog.set_level(logging.DEBUG)
    caplog.clear()
    app(environ, lambda status, headers: answers.append((status, dict(headers))))
    ((status, headers),) = answers
    assert (status, headers["Retry-After"]) == ("503 Service Unavailable", "1")
    assert caplog.records == []


def test_a_program_learns_that_the_site_is_busy(app_with):
    slots = HashSlots(Settings(HASHING_THREADS=1), queue=0)
    client = client_of(app_with(slots), HERE)
    for path in ("/login", "/register"):
        with slots.slot(Claim((THERE,))):
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
    slots = HashSlots(Settings(HASHING_THREADS=2), longest_wait=0)
    client = client_of(app_with(slots), HERE)
    with slots.slot(Claim((HERE,))):
        client.post_json("/login", LOGIN, headers={header: THERE}, status=503)
    with slots.slot(Claim((THERE,))):
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
        pytest.param("aaaab", 1, [200] * 2 + [503] * 2 + [200], id="a flood and another client"),
        pytest.param("aaaa", 0, [200] * 4, id="four from one address without shares"),
    ],
)
def test_of_logins_at_once_two_hash_and_two_wait(
    app_with, ada, slow_hashes, addresses, share, statuses
):
    slots = House(THREADS=2, PER_ADDRESS=share).slots
    app = app_with(slots)
    logins = [Login(app, address) for address in addresses]
    slow_hashes.set()
    for login in logins:
        login.join(PATIENCE)
    assert [login.answer.status_int for login in logins] == statuses
    refused = [login.answer for login in logins if login.answer.status_int == 503]
    assert all(answer.json["code"] == "busy" for answer in refused)
