"""Codes that are entered by many clients at once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from webtest import TestApp

from tests.features.login_codes.conftest import WRONG
from wsgiauth import Session, storage
from wsgiauth.throttling.counts import Counter

THREADS = 10
TRIES = 20


def at_once(site, request, code):
    """Enter a code from many threads, each at an address of its own; return the statuses."""
    barrier = Barrier(THREADS)

    def enter(number):
        client = TestApp(site, extra_environ={"REMOTE_ADDR": f"192.0.2.{number}"})
        try:
            sent = {"request": request, "code": code}
            return client.post_json("/auth/code/enter", sent, status="*").status_int
        finally:
            storage.discard_connection(storage.current())

    with ThreadPoolExecutor(THREADS, initializer=barrier.wait) as executor:
        return list(executor.map(enter, range(TRIES)))


@pytest.fixture
def tries(monkeypatch):
    """Return a list, to which each try is added that could be right."""
    add, counted = Counter.add, []

    def counting(counter, now):
        is_counted = add(counter, now)
        if counter.limit.reason == "tries of an email code" and is_counted:
            counted.append(counter)
        return is_counted

    monkeypatch.setattr(Counter, "add", counting)
    return counted


@pytest.mark.every_database
@pytest.mark.promise(82)
def test_of_twenty_tries_at_once_five_count(site, program, ada, tries):
    request = program.ask()
    code = program.code()
    assert at_once(site, request, WRONG) == [401] * TRIES
    assert len(tries) == 5
    program.enter(request, code, 401)


@pytest.mark.every_database
@pytest.mark.promise(82)
@pytest.mark.parametrize("options", [{"LOGINS_PER_ACCOUNT": 0}], ids=["no limit"])
def test_a_code_that_is_entered_at_once_starts_one_session(site, program, ada, options):
    request = program.ask()
    statuses = at_once(site, request, program.code())
    assert sorted(statuses) == [200] + [401] * (TRIES - 1)
    assert Session.select().count() == 1
