"""The origins of public clients: which rows there are, and how often they are looked up."""

from importlib import import_module

import peewee
import pytest

from tests.support.oauth_apps import store_registration
from wsgiauth import storage
from wsgiauth.authentication.lifetimes import DAY, MINUTE
from wsgiauth.features.oauth_server import clients, origins
from wsgiauth.features.oauth_server.client_files import exported_clients, import_clients
from wsgiauth.features.oauth_server.clients import ClientFields
from wsgiauth.features.oauth_server.origins import Origins
from wsgiauth.features.oauth_server.tables import Client, Origin

NOW = 2_000_000_000
WEB, EDITOR = "https://app.example", "http://localhost:8080"
URIS = (f"{WEB}/callback", f"{WEB}:443/silent", "com.example.app:/callback", f"{EDITOR}/callback")


def recorded(client):
    return {each.origin for each in Origin.select().where(Origin.client == client.id)}


@pytest.fixture
def client(database):
    """Return a public client."""
    return clients.create("App", URIS, is_public=True, now=NOW).row


@pytest.mark.every_database
def test_a_new_public_client_has_the_origins_of_its_redirect_uris(client):
    assert recorded(client) == {WEB, EDITOR}


@pytest.mark.usefixtures("database")
def test_a_confidential_client_has_none():
    assert recorded(clients.create("App", URIS[:1], now=NOW).row) == set()


@pytest.mark.usefixtures("database")
def test_an_app_that_registers_itself_has_them():
    assert recorded(store_registration({"redirect_uris": [f"{EDITOR}/callback"]}, NOW)) == {EDITOR}


def test_an_origin_that_is_too_long_is_left_out(client):
    host = ".".join(["a" * 63] * 4)
    uris = (URIS[0], f"https://{host}/callback")
    clients.change(client, ClientFields.of(client)._replace(redirect_uris=uris))
    assert recorded(client) == {WEB}


@pytest.mark.every_database
def test_a_change_of_the_redirect_uris_changes_the_origins(client):
    uris = ("https://new.example/", URIS[0])
    clients.change(client, ClientFields.of(client)._replace(redirect_uris=uris))
    assert recorded(client) == {WEB, "https://new.example"}


@pytest.mark.every_database
def test_the_origins_end_with_the_client(client):
    clients.remove(client)
    assert recorded(client) == set()


@pytest.mark.usefixtures("database")
def test_an_import_creates_and_changes_origins():
    clients.create("App", URIS[:1], is_public=True, now=NOW)
    (document,) = exported_clients()
    copy = {**document, "id": "copy"}
    import_clients([copy])
    row = Client.get_by_id("copy")
    assert recorded(row) == {WEB}
    import_clients([{**copy, "kind": "confidential", "digests": ["0" * 64]}])
    assert recorded(row) == set()
    import_clients([{**copy, "redirect_uris": [f"{EDITOR}/"]}])
    assert recorded(row) == {EDITOR}


@pytest.mark.every_database
def test_an_upgrade_records_the_origins_of_clients_that_are_there(client):
    """Also a second time, as after a kill."""
    odd = "https://[/callback\nhttps://[2001:DB8::1]:443/\nhttps://a.example:8443/"
    Client.update(redirect_uris=f"{client.redirect_uris}\n{odd}").execute()
    clients.create("Program", URIS[:1], now=NOW)
    Origin.delete().execute()
    migration = import_module("wsgiauth.storage.migrations.0005_apps_as_they_come")
    for _ in range(2):
        migration.up(None, storage.current())
        assert recorded(client) == {
            *(WEB, EDITOR, "https://[2001:db8::1]", "https://a.example:8443")
        }
        assert Origin.select().count() == 4


@pytest.mark.every_database
def test_the_origin_of_a_public_client_is_found(client):
    assert Origins().has(WEB, NOW)
    assert not Origins().has("https://other.example", NOW)
    assert not Origins().has("http://app.example", NOW)
    Client.update(is_public=False).execute()
    assert not Origins().has(WEB, NOW)


@pytest.mark.usefixtures("database")
def test_the_origin_of_an_app_that_has_expired_is_not_found():
    store_registration({"redirect_uris": [f"{EDITOR}/callback"]}, NOW)
    assert Origins().has(EDITOR, NOW + DAY - 1)
    assert not Origins().has(EDITOR, NOW + DAY)


@pytest.mark.parametrize("origin", [WEB, "https://other.example"], ids=["known", "unknown"])
def test_one_select_a_minute_finds_an_origin(client, queries, origin):
    found = Origins()

    def ask(now):
        return lambda: found.has(origin, now)

    assert len(queries(ask(NOW))) == 1
    assert queries(ask(NOW + MINUTE - 1)) == []
    assert len(queries(ask(NOW + MINUTE))) == 1


def test_a_process_remembers_a_bounded_number_of_origins(client, queries, monkeypatch):
    monkeypatch.setattr(origins, "MOST_KNOWN", 2)
    found = Origins()
    for number in range(10):
        found.has(f"https://{number}.example", NOW)
    assert queries(lambda: found.has("https://9.example", NOW)) == []
    assert len(queries(lambda: found.has("https://0.example", NOW))) == 1


def test_without_a_database_the_last_finding_counts(client, monkeypatch, caplog):
    found = Origins()
    assert found.has(WEB, NOW)

    def fail(**_):
        raise peewee.OperationalError("away")

    monkeypatch.setattr(origins._FIND, "fetchone", fail)
    assert found.has(WEB, NOW + MINUTE)
    assert not found.has("https://other.example", NOW)
    assert caplog.text.count("the account database failed") == 2
