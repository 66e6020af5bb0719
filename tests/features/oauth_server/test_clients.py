"""Clients: what can be registered, their secrets, and what ends with them."""

import re
import secrets
import socket
from urllib.request import urlopen

import peewee
import pytest

from tests.support.oauth_apps import App, store_document_client
from tests.support.sites import BROWSER
from tests.support.tables import row_by_row
from wsgiauth import Group
from wsgiauth.accounts import delete_user
from wsgiauth.authentication.one_time import digest
from wsgiauth.events.models import RecordedEvent
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.clients import MOST_URIS, ClientFields
from wsgiauth.features.oauth_server.document_urls import id_of
from wsgiauth.features.oauth_server.scopes import MAX_SCOPE
from wsgiauth.features.oauth_server.tables import Client, Consent, Grant

NOW = 2_000_000_000  # seconds since the epoch, when these tests happen
CALLBACK = "https://wiki.example.org/callback"
LOOPBACK = "http://127.0.0.1/callback"


def make(name="Wiki", uris=(CALLBACK,), **options):
    """Create a client."""
    return clients.create(name, uris, now=NOW, **options)


def stored(made):
    """Return the row of a client as it is now."""
    return clients.find(made.row.id, NOW)


def events():
    """Return the name and the reason of each event, the oldest first."""
    return [(each.name, each.reason) for each in RecordedEvent.select().order_by(RecordedEvent.id)]


@pytest.mark.every_database
def test_a_client_is_stored_as_it_was_described(database):
    group = Group.objects.create(name="Editors")
    made = make(
        "Größe & <Wiki>",
        [CALLBACK, LOOPBACK, CALLBACK],
        scopes=["openid", "reports.read", "openid"],
        group=group,
        is_trusted=True,
        algorithm="EdDSA",
        logout_uri=LOOPBACK,
        logout_redirects=[CALLBACK, LOOPBACK, CALLBACK],
        launch_url="http://wiki.intranet/",
        is_without_pkce=True,
    )
    (listed,) = clients.list_clients()
    assert listed.document() == {
        "id": made.row.id,
        "name": "Größe & <Wiki>",
        "kind": "confidential",
        "is_trusted": True,
        "redirect_uris": (CALLBACK, LOOPBACK),
        "scopes": ("openid", "reports.read"),
        "group": "Editors",
        "secrets": 1,
        "algorithm": "EdDSA",
        "logout_uri": LOOPBACK,
        "logout_redirects": (CALLBACK, LOOPBACK),
        "launch_url": "http://wiki.intranet/",
        "is_without_pkce": True,
        "audiences": (),
        "created_at": "2033-05-18T03:33:20Z",
        "registered_itself": False,
        "registered_by": None,
        "expires_at": None,
        "last_used_at": None,
    }


def test_a_client_can_ask_for_what_a_login_needs_unless_more_is_said(database):
    assert stored(make()).scopes == "openid profile email"


def test_every_client_has_an_id_and_a_secret_of_its_own(database):
    made = [make() for _ in range(3)]
    assert len({each.row.id for each in made}) == len({each.secret for each in made}) == 3


@pytest.mark.promise(93)
def test_a_secret_has_256_random_bits_and_a_known_beginning(database):
    secret = make().secret
    assert secret.startswith("wsgiauth-client_")
    assert len(secret.removeprefix("wsgiauth-client_")) == 43


@pytest.mark.promise(93)
@pytest.mark.every_database
def test_only_the_digest_of_a_secret_is_stored(database):
    made = make()
    second = clients.renew_secret(stored(made))
    (row,) = Client.select().dicts()
    assert (row["digest"], row["former_digest"]) == (digest(second), digest(made.secret))
    written = repr(row) + repr([*RecordedEvent.select().dicts()])
    assert made.secret not in written
    assert second not in written


def test_a_secret_is_in_no_traceback(database):
    made = make()
    assert made.secret not in repr(made)


def test_a_public_client_has_no_secret(database):
    made = make(is_public=True)
    assert made.secret == ""
    assert clients.list_clients()[0].secrets == 0
    for presented in ("", "x"):
        assert not clients.has_secret(stored(made), presented)


SERVICE = {"uris": (), "is_service": True, "scopes": ["a.b"]}
REFUSED = {
    "no name": ("name", {"name": ""}),
    "a long name": ("name", {"name": "a" * 101}),
    "a name with a line feed": ("name", {"name": "Wi\nki"}),
    "a name that is turned around": ("name", {"name": "Wi\u202eki"}),
    "no URI": ("redirect_uris", {"uris": []}),
    "too many URIs": (
        "redirect_uris",
        {"uris": [f"{CALLBACK}/{number}" for number in range(MOST_URIS + 1)]},
    ),
    "a wrong URI": ("redirect_uris", {"uris": [CALLBACK, "http://wiki.example.org/"]}),
    "a scheme of an app": ("redirect_uris", {"uris": ["com.example.app:/cb"]}),
    "an unknown scope": ("scopes", {"scopes": ["openid", "admin"]}),
    "a scope with a space": ("scopes", {"scopes": ["openid profile"]}),
    "too many scopes": (
        "scopes",
        {"scopes": [f"reports.a{number}" for number in range(MAX_SCOPE // 8)]},
    ),
    "an unknown algorithm": ("algorithm", {"algorithm": "HS256"}),
    "no signature": ("algorithm", {"algorithm": "none"}),
    "a wrong way out": (
        "logout_redirects",
        {"logout_redirects": [CALLBACK, "http://wiki.example"]},
    ),
    "too many ways out": (
        "logout_redirects",
        {"logout_redirects": [f"{CALLBACK}/{number}" for number in range(MOST_URIS + 1)]},
    ),
    "a logout URI without TLS": ("logout_uri", {"logout_uri": "http://wiki.example.org/"}),
    "a logout URI of a phone": (
        "logout_uri",
        {"logout_uri": "com.example.app:/cb", "is_public": True},
    ),
    "a logout URI with a fragment": ("logout_uri", {"logout_uri": f"{CALLBACK}#x"}),
    "a service with a redirect URI": ("redirect_uris", {"is_service": True, "scopes": ["a.b"]}),
    **{
        f"a service with {name}": (name, {**SERVICE, name: value})
        for name, value in {
            "is_public": True,
            "algorithm": "ES256",
            "is_trusted": True,
            "logout_uri": CALLBACK,
            "logout_redirects": [CALLBACK],
            "launch_url": CALLBACK,
            "is_without_pkce": True,
        }.items()
    },
    "a service of a login": ("scopes", {**SERVICE, "scopes": ["a.b", "openid"]}),
    "a service that can do nothing": ("scopes", {**SERVICE, "scopes": []}),
    "a URL of a phone": ("launch_url", {"launch_url": "com.example.app:/"}),
    "a script as URL": ("launch_url", {"launch_url": "javascript:alert(1)"}),
    "a public client without PKCE": (
        "is_without_pkce",
        {"is_public": True, "is_without_pkce": True},
    ),
    "neither PKCE nor an ID token": (
        "is_without_pkce",
        {"scopes": ["profile"], "is_without_pkce": True},
    ),
    "an app with the tokens of a service": ("audiences", {"audiences": ("reports",)}),
    "a service with a space": ("audiences", {**SERVICE, "audiences": ("reports maps",)}),
    "too many services": (
        "audiences",
        {**SERVICE, "audiences": tuple(f"s{each}" for each in range(MOST_URIS + 1))},
    ),
    "trust in an app of the computer": (
        "is_trusted",
        {"uris": [CALLBACK, LOOPBACK], "is_public": True, "is_trusted": True},
    ),
    "trust in an app of the phone": (
        "is_trusted",
        {"uris": ["com.example.app:/cb"], "is_public": True, "is_trusted": True},
    ),
}


@row_by_row(("field", "options"), REFUSED.values(), ids=REFUSED)
def test_an_invalid_client_is_refused(database, field, options):
    with pytest.raises(ValidationError) as refused:
        make(**options)
    assert refused.value.errors.keys() == {field}
    assert not Client.select().exists()
    assert events() == []


ACCEPTED = {
    "as many URIs as possible": {"uris": [f"{CALLBACK}/{number}" for number in range(MOST_URIS)]},
    "trust in a page": {"is_public": True, "is_trusted": True},
    "trust in a program with a secret": {"uris": [LOOPBACK], "is_trusted": True},
    "every kind of scope": {
        "scopes": ["openid", "profile", "email", "groups", "offline_access", "a.b"]
    },
    "a service": SERVICE,
    "a service with the tokens of services": {**SERVICE, "audiences": ("reports", "https://a.b/c")},
    "logout URIs": {"logout_uri": f"{LOOPBACK}?x=1", "logout_redirects": [CALLBACK, LOOPBACK]},
}


@pytest.mark.parametrize("options", ACCEPTED.values(), ids=ACCEPTED)
def test_a_valid_client_is_created(database, options):
    assert stored(make(**options)) is not None


def test_a_refused_uri_is_named(database):
    with pytest.raises(ValidationError, match=r"^redirect URI 'http://wiki\.example\.org/': "):
        make(uris=[CALLBACK, "http://wiki.example.org/"])
    with pytest.raises(ValidationError, match=r"^logout redirect URI '': "):
        make(logout_redirects=[""])


def test_a_refused_service_is_explained(database):
    with pytest.raises(ValidationError) as refused:
        make(**{**SERVICE, "uris": [CALLBACK], "is_trusted": True, "scopes": ["openid", "a.b"]})
    assert str(refused.value) == (
        "A service cannot have redirect URIs: no user logs in to it. openid: A service needs"
        " permissions as scopes, such as reports.read, and no others. A service cannot be trusted:"
        " no user logs in to it."
    )


NO_ID = {
    "nothing": "",
    "a longer one": "0" * 64,
    "a pattern": "%",
    "a quote": "'",
    "a null": "a\0b",
    "a number": 7,
    "half of a character": "\ud800",
}


@pytest.mark.every_database
@row_by_row("client_id", NO_ID.values(), ids=NO_ID)
def test_a_string_that_is_no_id_finds_no_client(database, client_id):
    make()
    assert clients.find(client_id, NOW) is None
    assert clients.find_listed(client_id) is None


@pytest.mark.every_database
def test_a_client_with_a_document_is_found_by_its_url(database):
    url = "https://wiki.example.org/app.json"
    store_document_client(url, {"redirect_uris": ["http://localhost/"]}, NOW)
    assert [clients.find_listed(each)[1].id for each in (url, id_of(url))] == [url, url]
    assert clients.find(url, NOW).client_id == url
    assert clients.find(id_of(url), NOW) is None  # the key of a row is no `client_id`
    assert clients.find_listed(url)[1].registered_by == "document"
    assert clients.find_listed(f"{url}x") is None


@pytest.mark.every_database
def test_an_id_is_compared_exactly(database):
    row = {"id": "abc", "name": "Wiki", "name_key": "wiki", "redirect_uris": "", "scopes": ""}
    Client.insert(row, created_at=0).execute()
    assert clients.find("abc", NOW).name == "Wiki"
    assert [clients.find(each, NOW) for each in ("ABC", "Abc", "ab", "abcd")] == [None] * 4


@pytest.mark.every_database
def test_a_command_finds_one_of_many_clients_by_the_index(database, monkeypatch):
    row = {"name": "Wiki", "name_key": "wiki", "redirect_uris": CALLBACK, "scopes": ""}
    row["created_at"] = NOW
    Client.insert_many([{"id": f"c{number}", **row} for number in range(2000)]).execute()
    is_sqlite = isinstance(database, peewee.SqliteDatabase)
    database.execute_sql(
        "ANALYZE TABLE wsgiauth_oauth_client" if is_mariadb(database) else "ANALYZE"
    )
    plans, read = [], type(database).fetchall

    def explained(database, sql, params):
        explain = "EXPLAIN QUERY PLAN" if is_sqlite else "EXPLAIN"
        plans.append(str(database.execute_sql(f"{explain} {sql}", params).fetchall()))
        return read(database, sql, params)

    with monkeypatch.context() as patch:
        patch.setattr(type(database), "fetchall", explained)
        assert clients.find_listed("c7") is not None
    assert len(plans) == 1
    assert re.search(
        r"wsgiauth_oauth_client_pkey|autoindex_wsgiauth_oauth_client|PRIMARY", plans[0]
    )


def is_mariadb(database):
    return isinstance(database, peewee.MySQLDatabase)


def test_clients_are_listed_by_name(database):
    for name in ("Wiki", "Blog", "Chat"):
        make(name)
    assert [each.name for each in clients.list_clients()] == ["Blog", "Chat", "Wiki"]


@pytest.mark.every_database
def test_a_client_whose_group_was_deleted_is_not_for_everyone(database):
    group = Group.objects.create(name="Editors")
    made = make(group=group)
    group.delete_instance()
    assert stored(made).group_id == group.id
    assert clients.list_clients()[0].group == ""


def presented(made, secret):
    return clients.has_secret(stored(made), secret)


@pytest.mark.promise(93)
def test_only_the_secret_of_the_client_is_accepted(database):
    made, other = make(), make()
    assert presented(made, made.secret)
    for wrong in ("", other.secret, made.secret[:-1], f"{made.secret}x", made.secret.upper()):
        assert not presented(made, wrong)


@pytest.mark.promise(93)
def test_a_digest_is_not_accepted_as_a_secret(database):
    made = make()
    assert not presented(made, stored(made).digest)


def test_any_string_can_be_presented(database):
    made = make()
    assert not presented(made, made.secret + "x" * 200_000)
    assert not presented(made, "\ud800")


@pytest.mark.every_database
def test_both_secrets_are_valid_until_the_former_one_ends(database):
    made = make()
    second = clients.renew_secret(stored(made))
    assert [presented(made, each) for each in (made.secret, second)] == [True, True]
    assert clients.end_former(stored(made))
    assert [presented(made, each) for each in (made.secret, second)] == [False, True]
    assert not clients.end_former(stored(made))
    assert events() == [
        ("client_created", made.row.id),
        ("client_changed", made.row.id),
        ("client_changed", made.row.id),
    ]


@pytest.mark.every_database
def test_a_third_secret_is_refused_because_it_would_end_the_first(database):
    made = make()
    second = clients.renew_secret(stored(made))
    with pytest.raises(ValidationError):
        clients.renew_secret(stored(made))
    assert [presented(made, each) for each in (made.secret, second)] == [True, True]


def test_of_two_new_secrets_at_once_one_is_refused(database):
    made = make()
    read_by_one, read_by_other = stored(made), stored(made)
    second = clients.renew_secret(read_by_one)
    clients.end_former(stored(made))
    with pytest.raises(ValidationError):
        clients.renew_secret(read_by_other)
    assert presented(made, second)


def test_a_public_or_removed_client_gets_no_secret(database):
    public, removed = make(is_public=True), make()
    clients.remove(removed.row)
    for each in (public, removed):
        with pytest.raises(ValidationError):
            clients.renew_secret(each.row)
    assert not clients.end_former(removed.row)
    assert stored(public).digest == ""


CHANGES = {
    "the name": {"name": "Notes"},
    "the redirect URIs": {"redirect_uris": ("https://notes.example.org/cb", LOOPBACK)},
    "the scopes": {"scopes": ("openid",)},
    "the group": {"group_id": None},
    "trust": {"is_trusted": True},
    "the algorithm": {"algorithm": "RS256"},
    "the URL": {"launch_url": "https://wiki.example.org/start"},
    "PKCE": {"is_without_pkce": True},
}


@pytest.mark.every_database
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_one_field_can_be_changed_alone(database, changes):
    made = make(group=Group.objects.create(name="Editors"))
    before = ClientFields.of(stored(made))
    wanted = before._replace(**changes)
    assert clients.change(stored(made), wanted)
    assert ClientFields.of(stored(made)) == wanted != before
    assert events()[-1] == ("client_changed", made.row.id)
    assert presented(made, made.secret)


@pytest.mark.every_database
def test_what_was_added_can_be_taken_back(database):
    made = make(launch_url=CALLBACK, is_without_pkce=True)
    before = ClientFields.of(stored(made))
    clients.change(stored(made), before._replace(launch_url="", is_without_pkce=False))
    assert (stored(made).launch_url, stored(made).is_without_pkce) == (None, None)


def test_no_change_writes_no_event(database):
    made = make()
    assert not clients.change(stored(made), ClientFields.of(stored(made)))
    assert events() == [("client_created", made.row.id)]


def test_a_change_leaves_what_another_one_has_changed_meanwhile(database):
    made = make()
    read_before = stored(made)
    clients.change(stored(made), ClientFields.of(made.row)._replace(name="Notes"))
    clients.change(read_before, ClientFields.of(read_before)._replace(scopes=("openid",)))
    assert (stored(made).name, stored(made).scopes) == ("Notes", "openid")


def test_an_invalid_change_is_refused(database):
    made = make(is_public=True, uris=[LOOPBACK])
    with pytest.raises(ValidationError) as refused:
        clients.change(made.row, ClientFields.of(made.row)._replace(is_trusted=True))
    assert refused.value.errors.keys() == {"is_trusted"}
    assert not stored(made).is_trusted


def test_a_client_that_was_removed_meanwhile_is_not_changed(database):
    made = make()
    clients.remove(made.row)
    with pytest.raises(ValidationError):
        clients.change(made.row, ClientFields.of(made.row)._replace(name="Notes"))
    assert events()[-1] == ("client_removed", made.row.id)


ACTIONS = {
    "created": lambda row: make(),
    "changed": lambda row: clients.change(row, ClientFields.of(row)._replace(name="Notes")),
    "given a secret": clients.renew_secret,
    "removed": clients.remove,
}


@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
def test_without_its_event_no_client_is(database, monkeypatch, action):
    """The change and the row of the audit trail are one transaction."""
    made = make()
    before = [*Client.select().dicts()]

    def fail(*_, **__):
        raise RuntimeError

    monkeypatch.setattr("wsgiauth.features.oauth_server.clients.events.emit", fail)
    with pytest.raises(RuntimeError):
        action(stored(made))
    assert [*Client.select().dicts()] == before


def insert_uses(made, user):
    """Insert a consent and a grant of a user."""
    own = {"client": made.row.id, "user": user.id, "scopes": "openid", "created_at": NOW}
    Consent.insert(own).execute()
    Grant.insert(
        own,
        id=secrets.token_urlsafe(16),
        sid="s",
        stamp=user.security_stamp,
        resource="",
        is_offline=True,
        refreshed_at=NOW,
        authenticated_at=NOW,
        methods="pwd",
        expires_at=NOW + 60,
    ).execute()


def rows():
    """Return how many consents and grants there are."""
    return Consent.select().count(), Grant.select().count()


@pytest.mark.promise(92)
@pytest.mark.every_database
def test_a_removed_client_leaves_no_rows(database, ada, grace):
    made, other = make(), make()
    for each, user in ((made, ada), (made, grace), (other, ada)):
        insert_uses(each, user)
    assert clients.count_users(made.row) == 2
    assert clients.remove(made.row)
    assert stored(made) is None
    assert rows() == (1, 1)
    assert events()[-1] == ("client_removed", made.row.id)
    assert not clients.remove(made.row)


@pytest.mark.every_database
def test_a_deleted_user_leaves_no_rows(database, ada, grace):
    made = make()
    for user in (ada, grace):
        insert_uses(made, user)
    delete_user(ada)
    assert rows() == (1, 1)
    assert Grant.get().user_id == grace.id


@pytest.mark.promise(93)
def test_nothing_that_a_client_names_is_fetched(site, browser, monkeypatch):
    fetched = []
    monkeypatch.setattr(socket.socket, "connect", lambda *arguments: fetched.append(arguments))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **_: fetched.append(arguments))
    with pytest.raises(TypeError):  # the lookup has no result here
        urlopen(CALLBACK)
    assert fetched
    fetched.clear()
    app = App(site, uri="https://wiki.example.org/other")
    tokens = app.log_in(browser)
    app.refresh(tokens["refresh_token"])
    assert fetched == []


@pytest.mark.promise(92)
def test_the_tokens_of_a_removed_client_end_at_once(site, wiki, browser):
    tokens = wiki.log_in(browser)
    clients.remove(Client.get_by_id(wiki.id))
    assert wiki.refresh(tokens["refresh_token"], status=401)["error"] == "invalid_client"


@pytest.mark.promise(89)
def test_a_uri_that_was_removed_gets_no_more_answers(site, wiki, browser):
    row = Client.get_by_id(wiki.id)
    wanted = ClientFields.of(row)._replace(redirect_uris=("https://wiki.example.org/other",))
    clients.change(row, wanted)
    answer = browser.get(wiki.url(), headers=BROWSER, status=400)
    assert "Location" not in answer.headers
