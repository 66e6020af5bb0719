"""MariaDB Galera with writes at all three nodes: what races there, and a node that is behind."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from itertools import chain

import peewee
import pytest
from webtest import TestApp

from tests.support.sites import PASSWORD, SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings, events, storage
from wsgiauth.accounts.models import User
from wsgiauth.authentication import one_time
from wsgiauth.authentication.password import make_reset_link
from wsgiauth.features.factors import factors, recovery_codes
from wsgiauth.features.factors.totp import Totp
from wsgiauth.features.keys import api_keys
from wsgiauth.storage import context
from wsgiauth.storage.conflicts import is_conflict
from wsgiauth.testing import add_authenticator, bearer, make_user
from wsgiauth.throttling.counts import AttemptCount

PATIENCE = 60  # seconds
ROUNDS = 8
FREE = 100  # failed logins without a wait
GUESSERS = 4  # at each node
FACTOR_KEY = "gT5vR2xKq8Wn3ZbY7cLm4PdJ9sHf6AeU1oViQtXyNwMrBjCkElGuSDhFaOzIp0"


@pytest.fixture
def make_sites(urls, unsent):
    """Return a function that makes a site for each node."""
    made = []
    unlimited = ("REGISTRATIONS_PER_ADDRESS", "LOGIN_FAILURES_PER_ADDRESS", "HASHING_PER_ADDRESS")

    def make(**changes):
        values = {
            "SECRET_KEY": SECRET_KEY,
            "FACTOR_KEY": FACTOR_KEY,
            "BCRYPT_ROUNDS": 4,
            "PUBLIC_URL": "http://localhost",
            "MAIL_URL": "smtp://localhost",
            "MAIL_FROM": "site@example.org",
            **dict.fromkeys(unlimited, 0),
            **changes,
        }
        made.extend(AuthMiddleware(echo, Settings(DATABASE_URL=url, **values)) for url in urls)
        return made

    yield make
    for each in made:
        storage.discard_connection(each.database)


@pytest.fixture
def sites(make_sites):
    """Return a site for each node."""
    return make_sites()


def at_once(actions):
    """Return what each action returns, or raises, in a thread of its own, at the same moment."""
    barrier = threading.Barrier(len(actions))

    def act(action):
        barrier.wait(PATIENCE)
        return action()

    with ThreadPoolExecutor(len(actions)) as threads:
        return [*threads.map(act, actions)]


def post(site, path, fields):
    """Return the status of one request in a thread of its own."""
    status = TestApp(site).post_json(f"/auth/{path}", fields, status="*").status_int
    storage.discard_connection(site.database)
    return status


@pytest.mark.promise(25)
def test_of_three_nodes_that_register_one_name_one_does(sites):
    for number in range(ROUNDS):
        account = {"username": f"ada{number}", "email": f"{number}@example.org"}
        account["password"] = PASSWORD
        statuses = at_once([partial(post, each, "register", account) for each in sites])
        assert sorted(statuses) == [201, 409, 409]


@pytest.mark.promise(77)
def test_a_link_works_at_one_of_three_nodes(sites):
    site = sites[0].site
    for number in range(ROUNDS):
        user = make_user(sites[0], f"ada{number}")
        link = make_reset_link(user, site.settings, mount="/auth", now=site.tokens.now())
        fields = {"token": link.partition("token=")[2], "password": f"{PASSWORD} {number}"}
        statuses = at_once([partial(post, each, "reset", fields) for each in sites])
        assert sorted(statuses) == [200, 410, 410]


@pytest.mark.promise(77)
def test_each_email_is_sent_by_one_of_three_nodes(sites):
    outboxes = [each.site.outbox for each in sites]
    sent = [each.keep_messages() for each in outboxes]
    for number in range(ROUNDS):
        make_user(sites[0], f"ada{number}")
        assert post(sites[0], "forgot", {"username": f"ada{number}"}) == 202

    def deliver(number):
        with context.using(sites[number].database):
            outboxes[number].deliver()
            storage.discard_connection(sites[number].database)

    at_once([partial(deliver, number) for number in range(3)])
    receivers = [each["To"] for each in chain.from_iterable(sent)]
    assert sorted(receivers) == [f"ada{number}@example.org" for number in range(ROUNDS)]


class Meeting:
    """A recorder of events, in which two transactions wait for each other before they commit."""

    def __init__(self):
        self._barrier = threading.Barrier(2)
        self._thread = threading.local()

    def __call__(self, *_):
        if not hasattr(self._thread, "has_met"):  # otherwise the loser has begun again
            self._thread.has_met = True
            self._barrier.wait(PATIENCE)


def demote(number, users):
    superuser = User.get_by_id(users[number].id)
    superuser.is_superuser = False
    superuser.save()


def make_last_key(number, users):
    api_keys.create(User.get_by_id(users[0].id), f"key {number}", [], now=0)


def make_codes(number, users):
    recovery_codes.replace(User.get_by_id(users[0].id), rounds=4)


def remove_factor(number, users):
    user = User.get_by_id(users[0].id)
    factors.remove(user, factors.list_factors(user)[number].handle)


def two_superusers(site):
    return [make_user(site, name, is_superuser=True) for name in ("ada", "grace")]


def a_user_with_nineteen_keys(site):
    user = make_user(site)
    for number in range(api_keys.MAX_KEYS - 1):
        api_keys.create(user, f"first {number}", [], now=0)
    return [user]


def a_user(site):
    return [make_user(site)]


def a_user_with_two_factors(site):
    user = make_user(site)
    for name in ("Phone", "Tablet"):
        add_authenticator(site, user, name)
    recovery_codes.replace(user, rounds=4)
    return [user]


RACES = {
    "of two superusers, one remains": (
        two_superusers,
        demote,
        lambda: User.objects.filter(is_superuser=True).count() == 1,
    ),
    "nobody has more than twenty keys": (
        a_user_with_nineteen_keys,
        make_last_key,
        lambda: api_keys.Key.select().count() == api_keys.MAX_KEYS,
    ),
    "nobody has two sets of recovery codes": (
        a_user,
        make_codes,
        lambda: one_time.OneTimeSecret.select().count() == recovery_codes.NUMBER,
    ),
    "recovery codes end with the last factor": (
        a_user_with_two_factors,
        remove_factor,
        lambda: Totp.select().count() == 1,
    ),
}


@pytest.mark.promise(77)
@pytest.mark.parametrize(("make", "change", "is_kept"), RACES.values(), ids=RACES)
def test_of_two_changes_at_two_nodes_that_break_a_rule_together_one_is_made(
    make, change, is_kept, sites
):
    users = make(sites[0])
    heard, meeting = [], Meeting()
    nodes = [each.database for each in sites[:2]]
    for node in nodes:
        events.record(node, [meeting])
        events.subscribe(node, [heard.append])

    def act(number):
        with context.using(nodes[number]):
            try:
                change(number, users)
            except peewee.OperationalError as error:
                return is_conflict(error)
            finally:
                assert User.select().count()  # the connection works
                storage.discard_connection(nodes[number])

    outcomes = at_once([partial(act, number) for number in range(2)])
    assert set(outcomes) == {None, True}  # one is made, and one lost the conflict
    assert len(heard) == 1  # of the change that was made
    with context.using(nodes[0]):
        assert is_kept()


@pytest.mark.promise(77)
def test_guesses_at_three_nodes_are_counted_together(stopped_throttle, make_sites):
    sites = make_sites(LOGIN_FAILURES_PER_ACCOUNT=FREE, HASHING_THREADS=GUESSERS)
    make_user(sites[0])

    def guess(site):
        client, guessed, statuses = TestApp(site, lint=False), {"username": "ada"}, []
        guessed["password"] = PASSWORD
        while 429 not in statuses:
            answer = client.post_json("/auth/login", guessed, status="*")
            statuses.append(answer.status_int)
        storage.discard_connection(site.database)
        return statuses

    guessers = [partial(guess, site) for site in sites for _ in range(GUESSERS)]
    statuses = Counter(chain.from_iterable(at_once(guessers)))
    assert statuses == {401: FREE, 429: len(guessers)}
    assert [row.count for row in AttemptCount.select()] == [FREE]


@pytest.mark.promise(77)
def test_a_request_waits_for_a_node_that_is_behind(cluster, sites):
    first, second, _ = (TestApp(each) for each in sites)
    headers = bearer(sites[0], make_user(sites[0]))
    assert second.get("/", headers=headers).json["user"] == "ada"
    with ThreadPoolExecutor(1) as thread:
        with cluster.nodes[1].paused():
            first.post("/auth/logout", headers=headers, status=200)
            answer = thread.submit(second.get, "/", headers=headers)
            wait([answer], timeout=0.5)  # as long as a wrong answer would take
        assert answer.result().json["user"] is None
