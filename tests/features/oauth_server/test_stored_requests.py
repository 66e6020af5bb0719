"""How many authorization requests are stored, and which give way."""

import pytest

from wsgiauth.features.oauth_server import stored_requests
from wsgiauth.features.oauth_server.stored_requests import PREFIX, keep, keep_pushed, new_uri
from wsgiauth.features.oauth_server.tables import StoredRequest


@pytest.fixture
def few(monkeypatch):
    """Let few rows be stored."""
    for name, most in (("MOST", 6), ("MOST_OF_NETWORK", 3), ("MOST_OF_CLIENT", 4)):
        monkeypatch.setattr(stored_requests, name, most)


def kept(*networks, begin=0):
    """Store a row for each network in turn, a second apart; return their names."""
    names = [new_uri() for _ in networks]
    for second, (name, network) in enumerate(zip(names, networks, strict=True), begin):
        keep(name, "client_id=x", "x", network, second)
    return names


def rows():
    """Return the names of all rows."""
    return {f"{PREFIX}{each.id}" for each in StoredRequest.select()}


@pytest.mark.every_database
def test_a_network_has_few_rows_of_which_the_newest_stay(database, few):
    names = kept(*["192.0.2.1"] * 5, "192.0.2.2")
    assert rows() == {*names[2:]}


@pytest.mark.promise(89)
@pytest.mark.every_database
def test_the_network_with_the_most_rows_gives_way(database, few):
    names = kept("a", "b", "b", "c", "c", "c")
    assert rows() == {*names}
    new = kept("d", begin=10)
    assert rows() == {*names, *new} - {names[3]}


def test_of_networks_with_as_many_rows_the_oldest_row_gives_way(database, few):
    names = kept(*"abcdefgh")
    assert rows() == {*names[2:]}


def test_a_new_row_never_gives_way_to_older_ones(database, few):
    kept(*"abcdef", begin=5)
    (new,) = kept("a", begin=0)  # by a clock that is behind
    assert new in rows()


def test_rows_beyond_the_number_are_deleted_later(database, few, monkeypatch):
    """Two processes can count at the same time."""
    monkeypatch.setattr(stored_requests, "MOST", 8)
    kept(*"abbbccc")
    monkeypatch.setattr(stored_requests, "MOST", 6)
    kept("d", begin=10)
    assert StoredRequest.select().count() == 6


@pytest.mark.every_database
def test_no_flood_of_browsers_removes_what_clients_have_pushed(database, few):
    pushed = [new_uri() for _ in range(6)]
    for second, name in enumerate(pushed):
        keep_pushed(name, "client_id=wiki", "wiki", second)
    kept(*"abcdefghijk")
    assert rows() >= {*pushed[2:]}  # the newest of the client
    assert StoredRequest.select().count() == 6 + 4
    other = new_uri()
    keep_pushed(other, "client_id=blog", "blog", 10)
    assert rows() >= {other, *pushed[2:]}
