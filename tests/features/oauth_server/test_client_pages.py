"""Pages of clients and of their users, for the staff."""

import pytest

from tests.conftest import insert_users
from tests.support.oauth_apps import store_registration
from wsgiauth.accounts.models import User
from wsgiauth.features.oauth_server import client_pages, clients
from wsgiauth.features.oauth_server.client_pages import (
    COUNTED,
    PAGE,
    find_clients,
    user_counts,
    users_of,
)
from wsgiauth.features.oauth_server.tables import Client, Consent

CALLBACK = "https://wiki.example.org/callback"
NOW = 1_800_000_000


def make(name, **options):
    uris = [] if options.get("is_service") else [CALLBACK]
    return clients.create(name, uris, now=NOW, **options).row


def allow(client, users):
    rows = [
        {"user": each, "client": client.id, "scopes": "openid", "created_at": NOW} for each in users
    ]
    Consent.insert_many(rows).execute()


def names(found):
    return [each.name for each in found]


@pytest.mark.every_database
def test_clients_are_found_by_name_on_pages_without_regard_to_letter_case(database):
    for number in range(PAGE + 2):
        make(f"{'App' if number % 2 else 'app'} {number:02}")
    make("A 100%_Wiki!")
    first, after = find_clients()
    assert names(first)[:3] == ["A 100%_Wiki!", "app 00", "App 01"]
    rest, end = find_clients(after=after)
    assert (len(first), names(rest), end) == (PAGE, ["App 49", "app 50", "App 51"], "")
    for search in ("wiki", "%_w", "I!"):
        assert names(find_clients(search)[0]) == ["A 100%_Wiki!"], search
    assert len(find_clients("APP", after)[0]) == len(rest)
    for search in ("_%", "\0", "nothing"):
        assert find_clients(search) == ([], ""), search


@pytest.mark.every_database
def test_the_apps_that_registered_themselves_are_found_alone(database):
    make("Wiki")
    store_registration({"redirect_uris": ["com.example.tv:/x"], "client_name": "TV"}, NOW)
    url = "https://editor.example/app.json"
    editor = make("Editor")
    Client.update(document_url=url, last_used_at=NOW).where(Client.id == editor.id).execute()
    found, _end = find_clients(is_self_registered=True)
    assert [(each.name, each.registered_by) for each in found] == [
        *(("Editor", "document"), ("TV", "request"))
    ]
    assert (found[0].id, found[0].key) == (url, editor.id)
    assert [each.document()["last_used_at"] for each in found] == ["2027-01-15T08:00:00Z", None]
    assert names(find_clients("t", is_self_registered=True)[0]) == ["Editor", "TV"]


@pytest.mark.every_database
def test_clients_with_one_name_are_each_on_one_page(database, monkeypatch):
    monkeypatch.setattr(client_pages, "PAGE", 2)
    ids = sorted(make("Wiki").id for _ in range(5))
    found, after = find_clients("wiki")
    while after:
        page, after = find_clients("wiki", after)
        found += page
    assert [each.id for each in found] == ids


@pytest.mark.parametrize("after", ["x", ".", "1.\0", f"1.{'a' * 101}", "-.a"])
def test_another_position_is_the_beginning(database, after):
    make("Wiki")
    assert names(find_clients(after=after)[0]) == ["Wiki"]


def test_a_client_is_listed_with_what_it_is(database):
    store_registration({"redirect_uris": ["com.example.tv:/x"], "client_name": "TV"}, NOW)
    make("Nightly", is_service=True, scopes=["reports.read"])
    make("Wiki", is_trusted=True)
    service, tv, wiki = find_clients()[0]
    assert (service.kind, service.host, tv.kind, wiki.kind) == (
        *("service", "", "public", "confidential"),
    )
    assert (tv.host, tv.registered_itself, tv.is_trusted) == ("com.example.tv:", True, False)
    assert (wiki.host, wiki.registered_itself, wiki.is_trusted) == ("wiki.example.org", False, True)
    assert wiki.document()["created_at"] == "2027-01-15T08:00:00Z"


def test_a_changed_name_is_found(database):
    row = make("Wiki")
    fields = clients.ClientFields.of(row)
    clients.change(row, fields._replace(name="Käse"))
    assert names(find_clients("KÄSE")[0]) == ["Käse"]


@pytest.mark.every_database
def test_the_users_of_a_client_are_listed_in_pages(database, monkeypatch):
    monkeypatch.setattr(client_pages, "PAGE", 2)
    wiki, other = make("Wiki"), make("Other")
    insert_users(3)
    ids = [each.id for each in User.select().order_by(User.id)]
    allow(wiki, ids)
    allow(other, ids[:1])
    first, after = users_of(wiki)
    assert ([each.id for each in first], after) == (ids[:2], ids[1])
    [last], end = users_of(wiki, after)
    assert (last.id, last.scopes, end) == (ids[2], ("openid",), 0)
    assert last.document()["allowed_at"] == "2027-01-15T08:00:00Z"
    assert user_counts([wiki.id, other.id, "none"]) == [3, 1, 0]
    assert user_counts([]) == []


def test_not_all_users_of_a_client_are_counted(database):
    wiki = make("Wiki")
    insert_users(COUNTED + 2)
    allow(wiki, [each.id for each in User.select(User.id)])
    assert user_counts([wiki.id]) == [COUNTED + 1]
