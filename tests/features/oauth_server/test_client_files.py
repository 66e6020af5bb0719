"""Files of clients: another installation continues with the same ids and secrets."""

import json

import pytest

from tests.support.oauth_apps import store_registration
from tests.support.tables import row_by_row
from wsgiauth import Group
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.client_files import (
    Imported,
    exported_clients,
    import_clients,
    read_clients,
)
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.features.services.service_tokens import CLIENT_ID

NOW = 2_000_000_000  # seconds since the epoch, when these tests happen
DIGEST = "0" * 64
WIKI = {
    "id": "wiki",
    "name": "Wiki",
    "kind": "confidential",
    "is_trusted": False,
    "redirect_uris": ["https://wiki.example.org/callback"],
    "scopes": ["openid"],
    "group": None,
    "algorithm": None,
    "logout_uri": None,
    "logout_redirects": [],
    "launch_url": None,
    "is_without_pkce": False,
    "audiences": [],
    "created_at": "2026-11-02T09:05:00Z",
    "digests": [DIGEST],
}
ADDED = ("launch_url", "is_without_pkce", "audiences")  # keys that former files do not have


def load(*documents):
    """Import clients as a file has them."""
    return import_clients(read_clients(json.dumps(documents)))


def rows():
    return [*Client.select().order_by(Client.id).dicts()]


def events():
    return [(each.name, each.reason) for each in RecordedEvent.select().order_by(RecordedEvent.id)]


@pytest.fixture
def several(database):
    """Create clients of each kind, and return the secrets of one of them."""
    editors = Group.objects.create(name="Editors")
    uris = ["https://wiki.example.org/callback"]
    made = clients.create("Wiki", uris, group=editors, algorithm="RS256", now=NOW)
    further = {"launch_url": uris[0], "is_without_pkce": True}
    ways_out = {**further, "logout_uri": uris[0], "logout_redirects": uris}
    clients.create("Blog", uris, scopes=["openid", "a.b"], is_trusted=True, now=NOW, **ways_out)
    clients.create("Nightly", scopes=["a.b"], is_service=True, audiences=("maps",), now=NOW)
    clients.create("Desktop", ["com.example.app:/cb"], is_public=True, now=NOW)
    return made.row.id, (made.secret, clients.renew_secret(made.row))


@pytest.mark.every_database
def test_what_was_exported_is_imported_as_it_was(several):
    before, exported = rows(), exported_clients()
    Client.delete().execute()
    assert load(*exported) == Imported(created=4, changed=0, same=0)
    assert rows() == before
    found, (former, newest) = clients.find(several[0], NOW), several[1]
    assert [clients.has_secret(found, each) for each in (former, newest)] == [True, True]


@pytest.mark.every_database
def test_a_repeated_import_changes_nothing(several):
    before = events()
    assert load(*exported_clients()) == Imported(created=0, changed=0, same=4)
    assert events() == before


@pytest.mark.promise(93)
def test_an_export_has_no_client_that_registered_itself(database):
    load(WIKI)
    store_registration({"redirect_uris": ["http://localhost/cb"]}, NOW)
    assert [each["id"] for each in exported_clients()] == ["wiki"]


@pytest.mark.promise(93)
def test_an_import_does_not_change_a_client_that_registered_itself(database):
    row = store_registration({"redirect_uris": ["http://localhost/cb"]}, NOW)
    before = rows()
    with pytest.raises(ValidationError, match=f"Client {row.id} has registered itself here"):
        load({**WIKI, "id": row.id})
    assert rows() == before


@pytest.mark.promise(93)
@pytest.mark.parametrize("is_service", [True, False], ids=["an app", "a program"])
def test_an_import_does_not_make_an_app_of_a_program_or_the_reverse(several, is_service):
    """Users may have allowed the app."""
    (before,) = [each for each in rows() if each["name"] == ("Wiki", "Nightly")[not is_service]]
    service = {"kind": "service", "redirect_uris": [], "scopes": ["a.b"]}
    document = {**WIKI, "id": before["id"], **(service if is_service else {})}
    with pytest.raises(ValidationError, match=f"Client {before['id']} is of another kind here"):
        load(document)
    assert before in rows()


def test_an_export_has_no_secret(several):
    text = json.dumps(exported_clients())
    assert not [each for each in several[1] if each in text]


@pytest.mark.every_database
def test_an_import_creates_and_changes_by_id(database):
    other = {**WIKI, "id": "blog", "name": "Blog"}
    load(WIKI, other)
    done = load({**WIKI, "name": "Notes"}, other, {**WIKI, "id": "chat"})
    assert done == Imported(created=1, changed=1, same=1)
    assert [each["name"] for each in rows()] == ["Blog", "Wiki", "Notes"]
    assert events() == [
        ("client_created", "wiki"),
        ("client_created", "blog"),
        ("client_changed", "wiki"),
        ("client_created", "chat"),
    ]


CHANGES = {
    "a new secret": {"digests": ["1" * 64, DIGEST]},
    "other redirect URIs": {"redirect_uris": ["https://wiki.example.org/other"]},
    "another kind": {"kind": "public", "digests": []},
    "another time": {"created_at": "2026-11-02T09:05:01+00:00"},
    "a group": {"group": "editors"},
    "a URL": {"launch_url": "https://wiki.example.org/"},
    "no PKCE": {"is_without_pkce": True},
}


@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_each_field_of_a_client_can_be_changed(database, changes):
    Group.objects.create(name="Editors")
    load(WIKI)
    assert load({**WIKI, **changes}) == Imported(created=0, changed=1, same=0)
    assert load({**WIKI, **changes}) == Imported(created=0, changed=0, same=1)


def test_a_client_that_is_in_no_file_stays(database):
    load(WIKI)
    load()
    assert len(rows()) == 1


def test_a_file_of_an_earlier_version_is_imported(database):
    load(WIKI, {**WIKI, "id": "blog", "is_without_pkce": True})
    former = {name: value for name, value in WIKI.items() if name not in ADDED}
    done = load(former, {**former, "id": "blog"}, {**former, "id": "chat"})
    assert done == Imported(created=1, changed=1, same=1)
    assert [each["is_without_pkce"] for each in rows()] == [None] * 3


def without(name):
    return {key: value for key, value in WIKI.items() if key != name}


WRONG = {
    "no JSON": "client",
    "half of it": json.dumps([WIKI])[:-1],
    "deep JSON": "[" * 100_000,
    "one client without a list": json.dumps(WIKI),
    "a number": "7",
    "a list of strings": '["wiki"]',
    "the same id twice": json.dumps([WIKI, {**WIKI, "name": "Other"}]),
    "a wrong one after a right one": json.dumps([WIKI, without("name")]),
    **{f"no {name}": json.dumps([without(name)]) for name in WIKI if name not in ADDED},
    **{f"a number as {name}": json.dumps([{**WIKI, name: 7}]) for name in WIKI},
    **{
        name: json.dumps([{**WIKI, **changes}])
        for name, changes in {
            "an unknown key": {"secret": "x"},
            "a number among the URIs": {"redirect_uris": [7]},
            "an empty id": {"id": ""},
            "a long id": {"id": "a" * 33},
            "an id with a space": {"id": "wi ki"},
            "an id of other letters": {"id": "größe"},
            "the id in tokens for services": {"id": CLIENT_ID},
            "no name": {"name": ""},
            "an unknown kind": {"kind": "secret"},
            "a secret of a public client": {"kind": "public"},
            "no secret of a confidential client": {"digests": []},
            "three secrets": {"digests": [DIGEST] * 3},
            "an empty digest": {"digests": [""]},
            "a secret instead of its digest": {"digests": ["wsgiauth-client_x"]},
            "an upper-case digest": {"digests": ["A" * 64]},
            "a wrong URI": {"redirect_uris": ["http://wiki.example.org/"]},
            "no URI": {"redirect_uris": []},
            "an unknown scope": {"scopes": ["admin"]},
            "no scope": {"scopes": []},
            "an unknown algorithm": {"algorithm": "none"},
            "a wrong URL": {"launch_url": "javascript:alert(1)"},
            "no PKCE of a public client": {
                "kind": "public",
                "digests": [],
                "is_without_pkce": True,
            },
            "the tokens of a service for an app": {"audiences": ["maps"]},
            "a wrong logout URI": {"logout_uri": "http://wiki.example.org/"},
            "an unknown group": {"group": "Editors"},
            "a deleted group": {"group": ""},
            "a date": {"created_at": "2026-11-02"},
            "a time without an offset": {"created_at": "2026-11-02T09:05:00"},
            "a time before all of them": {"created_at": "1969-12-31T23:59:59Z"},
            "a time that no calendar has": {"created_at": "0001-01-01T00:00:00+10:00"},
            "trust in an app of a computer": {
                "kind": "public",
                "digests": [],
                "is_trusted": True,
                "redirect_uris": ["http://localhost/cb"],
            },
        }.items()
    },
}


@row_by_row("text", WRONG.values(), ids=WRONG)
def test_a_wrong_file_changes_nothing(database, text):
    with pytest.raises(ValidationError):
        import_clients(read_clients(text))
    assert (rows(), events()) == ([], [])


def test_a_wrong_client_takes_back_those_before_it(database):
    with pytest.raises(ValidationError, match="Client blog: there is no group 'Editors'"):
        load(WIKI, {**WIKI, "id": "blog", "group": "Editors"})
    assert (rows(), events()) == ([], [])


@pytest.mark.promise(90)
def test_a_client_whose_group_was_deleted_is_not_imported_for_everyone(database):
    group = Group.objects.create(name="Editors")
    load({**WIKI, "group": "Editors"})
    group.delete_instance()
    (exported,) = exported_clients()
    assert exported["group"] == ""
    with pytest.raises(ValidationError):
        load(exported)
