"""Documents that are kept: fetched by one thread at a time, and no more often than needed."""

import threading

import pytest

from wsgiauth.authentication.lifetimes import HOUR, MINUTE
from wsgiauth.features.providers.oidc.failures import Failures, ProviderError
from wsgiauth.features.providers.oidc.kept import Kept
from wsgiauth.features.providers.oidc.transport import REST

FAILURES = Failures("Google")


class Source:
    """A document whose versions are numbered, and the clock."""

    def __init__(self):
        self.now, self.version, self.error = 2_000_000_000, 0, None
        self.kept = Kept("keys", self.fetch, FAILURES, lambda: self.now)
        self.goes_on = threading.Event()
        self.goes_on.set()

    def fetch(self):
        self.version += 1
        self.goes_on.wait(5)
        if self.error is not None:
            raise self.error
        return f"version {self.version}"


@pytest.fixture
def source():
    return Source()


def test_a_document_is_kept_for_an_hour(source):
    assert source.kept.get() == source.kept.get() == "version 1"
    source.now += HOUR - 1
    assert source.kept.get() == "version 1"
    source.now += 1
    assert source.kept.get() == "version 2"
    source.now -= 2 * HOUR
    assert source.kept.get() == "version 3"


@pytest.mark.promise(71)
def test_a_newer_one_is_fetched_at_most_once_a_minute(source):
    assert source.kept.get_newer() == "version 1"
    source.now += MINUTE - 1
    assert source.kept.get_newer() == source.kept.get() == "version 1"
    source.now += 1
    assert source.kept.get_newer() == source.kept.get_newer() == source.kept.get() == "version 2"


@pytest.mark.promise(71)
def test_a_newer_one_that_cannot_be_fetched_is_tried_for_at_most_once_a_minute(source):
    assert source.kept.get() == "version 1"
    source.now += MINUTE
    source.error = FAILURES.wrong("keys")
    with pytest.raises(ProviderError):
        source.kept.get_newer()
    source.now += MINUTE - 1
    assert source.kept.get_newer() == source.kept.get() == "version 1"
    assert source.version == 2


def test_a_failure_is_kept_for_a_while(source):
    source.error = FAILURES.unavailable("keys: timeout", REST)
    for _ in range(3):
        with pytest.raises(ProviderError) as caught:
            source.kept.get()
        assert caught.value is not source.error
        assert vars(caught.value) == vars(source.error)
    assert source.version == 1
    source.now += REST
    source.error = None
    assert source.kept.get() == "version 2"


@pytest.mark.promise(71)
def test_one_thread_fetches_one_waits_and_others_are_refused_at_once(source):
    source.goes_on.clear()
    found, refused, is_refused = [], [], threading.Event()

    def get():
        try:
            found.append(source.kept.get())
        except ProviderError as error:
            refused.append((error.status, error.reason, error.seconds))
            is_refused.set()

    threads = [threading.Thread(target=get) for _ in range(3)]
    for each in threads:
        each.start()
    assert is_refused.wait(5)
    assert found == []
    source.goes_on.set()
    for each in threads:
        each.join()
    assert refused == [(503, "keys: busy", 1)]
    assert found == ["version 1"] * 2
    assert source.kept.get() == "version 1"
