"""The command `client`."""

import json
import re
import sys
import time

import pytest

from tests.cli.conftest import Terminal
from tests.support.oauth_apps import store_document_client, store_registration
from tests.support.service_keys import new_key, pem_of, write_key
from tests.support.tables import row_by_row
from wsgiauth import Group
from wsgiauth.authentication.lifetimes import DAY
from wsgiauth.cli import main
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.tables import Client, Consent
from wsgiauth.storage.models import from_timestamp, utc_text

CALLBACK = "https://wiki.example.org/callback"
OFF = "note: OAUTH_SERVER is off here, so no app can use its client\n"
ONCE = "note: store the secret now; it is not shown again\n"


@pytest.fixture
def provider(monkeypatch, settings):
    """Let the environment of the commands be that of a provider."""
    monkeypatch.setenv("OAUTH_SERVER", "on")
    monkeypatch.setenv("SERVICE_KEYS", settings.SERVICE_KEYS)
    monkeypatch.setenv("PUBLIC_URL", settings.PUBLIC_URL)


@pytest.fixture
def made(wsgiauth, provider):
    """Return the row of a client that a command has created."""
    wsgiauth("client", "add", "Wiki", "--redirect", CALLBACK)
    return Client.get()


def test_add_prints_the_id_and_the_secret(wsgiauth, provider):
    status, printed, errors = wsgiauth("client", "add", "Wiki", "--redirect", CALLBACK)
    assert (status, errors) == (0, ONCE)
    row = Client.get()
    lines = re.fullmatch(
        "Created the client Wiki.\nclient_id: (.*)\nclient_secret: (wsgiauth-client_.*)\n", printed
    )
    assert lines[1] == row.id
    assert clients.has_secret(row, lines[2])


@pytest.mark.promise(93)
def test_no_other_command_prints_a_secret_or_its_digest(wsgiauth, made):
    for argv in (["list"], ["list", "--json"], ["show", made.id], ["show", made.id, "--json"]):
        printed = "".join(map(str, wsgiauth("client", *argv)))
        assert "wsgiauth-client_" not in printed
        assert made.digest not in printed
    events = wsgiauth("events", "--json")[1]
    assert "wsgiauth-client_" not in events
    assert made.digest not in events


def test_add_prints_json_for_scripts(wsgiauth, provider):
    printed = wsgiauth("client", "add", "Wiki", "--redirect", CALLBACK, "--json")
    assert printed[2] == ""
    document = json.loads(printed[1])
    row = Client.get()
    assert document["id"] == row.id
    assert clients.has_secret(row, document["secret"])
    argv = ("client", "add", "Desktop", "--redirect", "com.example.app:/cb", "--public", "--json")
    assert json.loads(wsgiauth(*argv)[1])["secret"] is None


def test_add_takes_every_option(wsgiauth, provider):
    Group.objects.create(name="Editors")
    argv = ["--redirect", CALLBACK, "--redirect", "https://b.example/", "--trusted", "--public"]
    argv += ["--scope", "openid", "email", "--scope", "a.b", "--group", "editors"]
    argv += ["--logout-uri", "https://b.example/out", "--logout-redirect", "https://b.example/"]
    argv += ["--url", "https://b.example/start"]
    status, printed, errors = wsgiauth("client", "add", *argv, "--alg", "ES256", " Wiki\u200b")
    assert (status, errors) == (0, "")
    assert "client_secret" not in printed
    (listed,) = clients.list_clients()
    document = listed.document()
    del document["id"], document["created_at"]
    assert document == {
        "name": "Wiki",
        "kind": "public",
        "is_trusted": True,
        "redirect_uris": (CALLBACK, "https://b.example/"),
        "scopes": ("openid", "email", "a.b"),
        "group": "Editors",
        "secrets": 0,
        "algorithm": "ES256",
        "logout_uri": "https://b.example/out",
        "logout_redirects": ("https://b.example/",),
        "launch_url": "https://b.example/start",
        "is_without_pkce": False,
        "audiences": (),
        "registered_itself": False,
        "registered_by": None,
        "expires_at": None,
        "last_used_at": None,
    }


def test_add_creates_a_service(wsgiauth, provider):
    wsgiauth("client", "add", "Nightly", "--service", "--scope", "reports.read")
    row = Client.get()
    assert (row.is_service, row.redirect_uris, row.scopes) == (True, "", "reports.read")
    Client.update(created_at=0).execute()
    assert wsgiauth("client", "show", row.id)[1] == (
        f"client_id     {row.id}\n"
        "name          Nightly\n"
        "kind          service\n"
        "secrets       1\n"
        "scopes        reports.read\n"
        "created       1970-01-01T00:00:00Z\n"
    )


@pytest.mark.promise(99)
def test_an_app_without_pkce_is_shown_and_can_be_changed(wsgiauth, provider):
    wsgiauth("client", "add", "Gitea", "--redirect", CALLBACK, "--without-pkce")
    row = Client.get()
    assert "\nwithout PKCE  yes\n" in wsgiauth("client", "show", row.id)[1]
    for option, is_without in (("--with-pkce", False), ("--without-pkce", True)):
        printed = wsgiauth("client", "change", row.id, option)[1]
        assert ("without PKCE" in printed) is is_without
        assert (
            json.loads(wsgiauth("client", "list", "--json")[1])[0]["is_without_pkce"] is is_without
        )
    wsgiauth("client", "change", row.id, "--name", "Forge")
    assert Client.get().is_without_pkce
    with pytest.raises(SystemExit, match="2"):
        wsgiauth("client", "change", row.id, "--with-pkce", "--without-pkce")


@pytest.mark.promise(99)
@row_by_row(
    ("kind", "reason"),
    [
        (["--public", "--redirect", CALLBACK], "A public client needs PKCE."),
        (
            ["--service", "--scope", "a.b"],
            "A service cannot send requests without PKCE: no user logs in to it.",
        ),
        (
            ["--redirect", CALLBACK, "--scope", "profile"],
            "A client without PKCE needs the scope openid.",
        ),
    ],
)
def test_only_an_app_with_a_secret_and_an_id_token_can_do_without_pkce(
    wsgiauth, provider, monkeypatch, kind, reason
):
    monkeypatch.setenv("SERVICES", "reports")
    refused = wsgiauth("client", "add", "Gitea", *kind, "--without-pkce")
    assert refused == (1, "", f"wsgiauth: {reason}\n")


def test_the_url_of_an_app_can_be_changed_and_removed(wsgiauth, made):
    url = "https://wiki.example.org/start"
    status, printed, errors = wsgiauth("client", "change", made.id, "--url", url)
    assert (status, errors) == (0, "")
    assert f"\nopened at     {url}\n" in printed
    assert "opened at" not in wsgiauth("client", "change", made.id, "--url", "")[1]
    assert Client.get().launch_url is None


def test_a_url_without_tls_gets_a_note(wsgiauth, made):
    note = "note: the URL begins with http://, so the network can read and change the app\n"
    url = ("--url", "http://wiki.intranet/")
    assert wsgiauth("client", "change", made.id, *url)[::2] == (0, note)
    assert wsgiauth("client", "add", "Wiki", "--redirect", CALLBACK, *url)[::2] == (0, note + ONCE)


def test_a_service_has_no_url(wsgiauth, provider):
    argv = ("client", "add", "Nightly", "--service", "--scope", "a.b", "--url", CALLBACK)
    reason = "A service cannot have a URL where users open it: no user logs in to it."
    status, printed, error = wsgiauth(*argv)
    assert (status, printed, error.splitlines()[-1]) == (1, "", f"wsgiauth: {reason}")


def test_a_service_can_ask_about_the_tokens_of_services(wsgiauth, provider, monkeypatch):
    monkeypatch.setenv("SERVICES", "reports maps")
    argv = ("client", "add", "Nightly", "--service", "--scope", "a.b")
    assert wsgiauth(*argv, "--audience", "reports", "--audience", "maps")[::2] == (0, ONCE)
    row = Client.get()
    printed = wsgiauth("client", "show", row.id)[1]
    assert "\nasks about    reports\nasks about    maps\n" in printed
    note = "note: mpas is not in SERVICES here, so it has no tokens to ask about\n"
    assert wsgiauth("client", "change", row.id, "--audience", "mpas")[::2] == (0, note)
    assert Client.get().audiences == "mpas"
    assert wsgiauth("client", "change", row.id, "--audience", "")[::2] == (0, "")
    assert Client.get().audiences is None
    wsgiauth("client", "remove", row.id, "--yes")
    assert wsgiauth(*argv, "--audience", "mpas")[2] == note + ONCE


def test_add_says_if_a_service_gets_no_token_because_the_site_has_no_services(
    wsgiauth, provider, monkeypatch
):
    argv = ("client", "add", "Nightly", "--service", "--scope", "reports.read")
    note = "note: SERVICES is empty here, so the program gets no token: see `check`\n"
    assert wsgiauth(*argv)[::2] == (0, note + ONCE)
    monkeypatch.setenv("SERVICES", "reports")
    assert wsgiauth(*argv)[::2] == (0, ONCE)


def test_scopes_without_openid_get_a_note(wsgiauth, made):
    note = "note: without the scope openid, the app gets no ID token"
    argv = ("client", "add", "Wiki", "--redirect", CALLBACK, "--scope", "groups", "reports.read")
    assert wsgiauth(*argv)[2].startswith(note)
    status, _, errors = wsgiauth("client", "change", made.id, "--scope", "groups")
    assert (status, errors.startswith(note)) == (0, True)
    assert wsgiauth("client", "change", made.id, "--name", "Notes")[2] == ""


def test_add_needs_a_redirect_uri_or_a_service(wsgiauth, provider):
    with pytest.raises(SystemExit, match="2"):
        wsgiauth("client", "add", "Wiki")


def test_add_refuses_an_invalid_client(wsgiauth, provider):
    status, printed, error = wsgiauth("client", "add", "Wiki", "--redirect", "http://wiki.example")
    assert (status, printed) == (1, "")
    reason = "wsgiauth: redirect URI 'http://wiki.example': A redirect URI must begin with https"
    assert error.startswith(reason)
    unknown = wsgiauth("client", "add", "Wiki", "--redirect", CALLBACK, "--scope", "openid", "mail")
    assert unknown[2].startswith("wsgiauth: mail: The scopes must be openid, ")
    refused = wsgiauth("client", "add", "Wiki", "--redirect", CALLBACK, "--group", "Editors")
    assert refused == (1, "", "wsgiauth: there is no group 'Editors'; `groups` lists them\n")
    assert not Client.select().exists()


def test_add_says_if_the_site_is_no_provider(wsgiauth):
    assert wsgiauth("client", "add", "Wiki", "--redirect", CALLBACK)[::2] == (0, OFF + ONCE)


ALGORITHMS = {
    "a key": ("ES256", 0, ""),
    "the default": ("default", 0, ""),
    "no key": ("RS256", 1, "wsgiauth: SERVICE_KEYS has no key for RS256, only for ES256\n"),
}


@pytest.mark.parametrize(("chosen", "status", "error"), ALGORITHMS.values(), ids=ALGORITHMS)
def test_an_algorithm_needs_a_key(wsgiauth, made, chosen, status, error):
    argv = ("client", "add", "Blog", "--public", "--redirect", CALLBACK, "--alg", chosen)
    assert wsgiauth(*argv)[::2] == (status, error)
    assert wsgiauth("client", "change", made.id, "--alg", chosen)[::2] == (status, error)


def test_an_algorithm_that_cannot_be_checked_is_accepted_with_a_note(
    wsgiauth, made, monkeypatch, tmp_path
):
    monkeypatch.delenv("OAUTH_SERVER")
    monkeypatch.setenv("SERVICES", "reports")
    monkeypatch.setenv("SERVICE_KEYS", str(tmp_path / "missing"))
    note = "note: this command did not check that the site has a key for RS256"
    status, _, errors = wsgiauth("client", "change", made.id, "--alg", "RS256")
    assert (status, errors.startswith(f"{note}: SERVICE_KEYS")) == (0, True)
    monkeypatch.delenv("SERVICES")
    monkeypatch.delenv("SERVICE_KEYS")
    status, _, errors = wsgiauth("client", "change", made.id, "--alg", "RS256")
    assert (status, errors) == (0, f"{note}, because SERVICE_KEYS is not set here\n")


def test_any_of_several_keys_is_enough(wsgiauth, made, monkeypatch, tmp_path):
    folder = tmp_path / "keys"
    folder.mkdir()
    write_key(folder / "1.pem", pem_of(new_key("EdDSA")))
    write_key(folder / "2.pem")
    monkeypatch.setenv("SERVICE_KEYS", str(folder))
    for algorithm in ("EdDSA", "ES256"):
        assert wsgiauth("client", "change", made.id, "--alg", algorithm)[::2] == (0, "")


def test_list_prints_a_table(wsgiauth, made):
    heading, row = wsgiauth("client", "list")[1].splitlines()
    assert re.split("  +", heading) == [
        *("id", "name", "kind", "trusted", "registered itself", "last used", "group"),
        "redirect URIs",
    ]
    assert row.split() == [made.id, "Wiki", "confidential", "no", "no", "everyone", CALLBACK]


def test_list_and_show_print_json(wsgiauth, made):
    (listed,) = json.loads(wsgiauth("client", "list", "--json")[1])
    assert json.loads(wsgiauth("client", "show", made.id, "--json")[1]) == listed
    assert listed["group"] is None
    assert json.loads(wsgiauth("client", "list", "--json")[1])[0]["redirect_uris"] == [CALLBACK]


@pytest.fixture
def editor(made):
    """Return the row of a client that has registered itself, beside another one."""
    metadata = {"client_name": "Editor", "redirect_uris": ["http://localhost/cb"]}
    return store_registration(metadata, time.time())


def test_a_client_that_registered_itself_is_marked(wsgiauth, made, editor):
    marked = [line.split()[1:5] for line in wsgiauth("client", "list")[1].splitlines()[1:]]
    assert marked == [["Editor", "public", "no", "yes"], ["Wiki", "confidential", "no", "no"]]
    printed = wsgiauth("client", "show", editor.id)[1]
    assert "\nregistered    by request\n" in printed
    end = utc_text(from_timestamp(editor.expires_at))
    assert f"\nends unused   {end}\n" in printed
    document = json.loads(wsgiauth("client", "show", editor.id, "--json")[1])
    assert (document["registered_itself"], document["expires_at"]) == (True, end)


@pytest.mark.promise(93)
@row_by_row(
    "option",
    [
        ["--trusted"],
        ["--logout-uri", "https://editor.example/logout"],
        ["--logout-redirect", "https://editor.example/bye"],
        ["--url", "https://editor.example/"],
        ["--without-pkce"],
        ["--audience", "reports"],
    ],
)
def test_an_option_is_only_for_clients_of_an_operator(wsgiauth, editor, option):
    Client.update(redirect_uris="https://editor.example/").where(Client.id == editor.id).execute()
    reason = f"wsgiauth: Editor has registered itself; {option[0]} is for apps of `client add`\n"
    assert wsgiauth("client", "change", editor.id, *option) == (1, "", reason)
    assert wsgiauth("client", "change", editor.id, "--logout-uri", "")[0] == 0


@pytest.mark.promise(93)
def test_a_client_that_registered_itself_can_be_renamed(wsgiauth, editor):
    assert wsgiauth("client", "change", editor.id, "--name", "Writer")[0] == 0


def test_clients_that_registered_themselves_are_listed_alone(wsgiauth, made, editor, ada):
    Consent.insert(user=ada.id, client=editor.id, scopes="", created_at=0).execute()
    Client.update(last_used_at=0).where(Client.id == editor.id).execute()
    (listed,) = json.loads(wsgiauth("client", "list", "--self-registered", "--json")[1])
    assert (listed["id"], listed["user_count"]) == (editor.id, 1)
    heading, row = wsgiauth("client", "list", "--self-registered")[1].splitlines()
    assert re.split("  +", heading) == [
        *("id", "name", "registered", "last used", "allowed by", "redirect URIs")
    ]
    used = "1970-01-01T00:00:00Z"
    assert row.split() == [editor.id, "Editor", "request", used, "1", "http://localhost/cb"]


DOCUMENT = "https://code.example/app.json"


@pytest.fixture
def with_document(made):
    """Return the row of an app that has registered itself by its document."""
    metadata = {"client_name": "Code", "redirect_uris": ["https://code.example/cb"]}
    return store_document_client(DOCUMENT, metadata, time.time())


def test_a_client_with_a_document_is_shown_and_removed_by_its_url(wsgiauth, with_document):
    Client.update(last_used_at=0).execute()
    printed = wsgiauth("client", "show", DOCUMENT)[1]
    assert printed.startswith(f"client_id     {DOCUMENT}\n")
    assert "\nregistered    by document\n" in printed
    assert "\nlast used     1970-01-01T00:00:00Z\n" in printed
    assert wsgiauth("client", "remove", DOCUMENT, "--yes") == (0, "Removed the client Code.\n", "")
    assert [each.name for each in Client.select()] == ["Wiki"]


MATCHING = {
    "the name": ("eDIT*", ["Editor"]),
    "a host": ("*.EXAMPLE", ["Code"]),
    "the id": (f"{DOCUMENT[:-4]}*", ["Code"]),
    "all": ("*", ["Code", "Editor"]),
    "not a part": ("Edit", []),
    "an app of an operator": ("Wiki", []),
}


@pytest.mark.parametrize(("pattern", "names"), MATCHING.values(), ids=MATCHING)
def test_a_pattern_finds_only_apps_that_registered_themselves(
    wsgiauth, editor, with_document, pattern, names
):
    argv = ("client", "remove", "--self-registered", "--yes", "--matching", pattern)
    status, printed, errors = wsgiauth(*argv)
    done = f"Removed {len(names)} app{'s' if len(names) > 1 else ''}.\n"
    same = "Nothing changed: no app that has registered itself matches.\n"
    assert (status, printed, errors) == (0, done if names else same, "")
    left = {each.name for each in Client.select()}
    assert left == {"Wiki", "Code", "Editor"} - set(names)
    removed = RecordedEvent.select().where(RecordedEvent.name == "client_removed")
    assert removed.count() == len(names)


def test_apps_that_are_used_can_stay(wsgiauth, editor, with_document):
    argv = ("client", "remove", "--self-registered", "--yes", "--matching", "*", "--unused-since")
    for number in range(3):
        store_registration({"client_name": f"App {number}", "redirect_uris": ["a.b:/"]}, 0)
    long_ago, is_used = int(time.time()) - 90 * DAY, Client.name == "App 0"
    Client.update(created_at=long_ago).execute()
    Client.update(last_used_at=long_ago + 85 * DAY).where(is_used).execute()
    # A former version moved the end when it got tokens, and recorded no use.
    moved = long_ago + (85 + 30) * DAY
    Client.update(expires_at=moved).where(Client.name == "App 1").execute()
    assert wsgiauth(*argv, "6")[1] == "Removed 3 apps.\n"
    assert {each.name for each in Client.select()} == {"Wiki", "App 0", "App 1"}
    assert wsgiauth(*argv, "5")[1] == "Removed 2 apps.\n"


@pytest.mark.parametrize(
    ("number", "names"),
    [
        (1, "App 0 (a.b:)"),
        (6, "App 0 (a.b:), App 1 (a.b:), App 2 (a.b:), App 3 (a.b:), App 4 (a.b:), and 1 more"),
    ],
)
def test_the_removal_of_several_apps_asks_first(wsgiauth, made, monkeypatch, capsys, number, names):
    for each in range(number):
        store_registration({"client_name": f"App {each}", "redirect_uris": ["a.b:/"]}, time.time())
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    assert main(["client", "remove", "--self-registered", "--matching", "app*"]) == 1
    several = "apps" if number > 1 else "app"
    question = f"Remove {number} self-registered {several}: {names}? [y/N] "
    assert capsys.readouterr().out == question
    assert Client.select().count() == number + 1


def test_show_prints_a_client(wsgiauth, made, ada):
    Consent.insert(user=ada.id, client=made.id, scopes="", created_at=0).execute()
    uris = {"redirect_uris": f"{CALLBACK}\nhttps://b.example/", "logout_redirects": CALLBACK}
    Client.update(created_at=0, **uris).execute()
    assert wsgiauth("client", "show", made.id) == (
        0,
        f"client_id     {made.id}\n"
        "name          Wiki\n"
        "kind          confidential\n"
        "secrets       1\n"
        "trusted       no\n"
        "group         everyone\n"
        "scopes        openid profile email\n"
        f"redirect URIs {CALLBACK}\n"
        "redirect URIs https://b.example/\n"
        f"after logout  {CALLBACK}\n"
        "algorithm     default\n"
        "created       1970-01-01T00:00:00Z\n"
        "allowed by    1 user\n",
        "",
    )


def test_a_client_whose_group_was_deleted_is_shown_as_closed(wsgiauth, made):
    group = Group.objects.create(name="Editors")
    wsgiauth("client", "change", made.id, "--group", "editors")
    assert "group         Editors\n" in wsgiauth("client", "show", made.id)[1]
    group.delete_instance()
    assert "no user: the group was deleted" in wsgiauth("client", "list")[1]
    assert "no user: the group was deleted" in wsgiauth("client", "show", made.id)[1]


@row_by_row("action", ["show", "secret", "remove"])
@row_by_row("client_id", ["x", "\udcff", "'", ""], ids=ascii)
def test_an_unknown_client_is_refused(wsgiauth, made, action, client_id):
    status, printed, error = wsgiauth("client", action, client_id)
    assert (status, printed) == (1, "")
    assert "no client with the id" in error
    assert error.endswith("`client list` lists ids and names\n")


CHANGES = {
    "the name": (["--name", "Notes"], {"name": "Notes"}),
    "the URIs": (["--redirect", "https://b.example/"], {"redirect_uris": ["https://b.example/"]}),
    "the scopes": (["--scope", "openid", "a.b"], {"scopes": ["openid", "a.b"]}),
    "trust": (["--trusted"], {"is_trusted": True}),
    "no trust": (["--no-trusted"], {"is_trusted": False}),
    "the group": (["--group", "Editors"], {"group": "Editors"}),
    "no group": (["--no-group"], {"group": None}),
    "the algorithm": (["--alg", "ES256"], {"algorithm": "ES256"}),
    "the usual algorithm": (["--alg", "default"], {"algorithm": None}),
    "the logout URI": (["--logout-uri", CALLBACK], {"logout_uri": CALLBACK}),
    "no logout URI": (["--logout-uri", ""], {"logout_uri": None}),
    "the ways out": (["--logout-redirect", CALLBACK], {"logout_redirects": [CALLBACK]}),
    "no ways out": (["--logout-redirect", ""], {"logout_redirects": []}),
}


@pytest.mark.parametrize("option", ["--public", "--service"])
def test_the_kind_of_a_client_stays(wsgiauth, made, option, capsys):
    with pytest.raises(SystemExit, match="2"):
        wsgiauth("client", "change", made.id, option)
    assert "the kind of a client cannot change: create a new one" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("is_default", [True, False], ids=["from the default", "from another"])
@pytest.mark.parametrize(("argv", "changes"), CHANGES.values(), ids=CHANGES)
def test_change_changes_only_what_is_said_and_can_be_repeated(
    wsgiauth, made, argv, changes, is_default
):
    for name in ("Editors", "Readers"):
        Group.objects.create(name=name)
    if not is_default:
        other = ("--trusted", "--group", "Readers", "--alg", "ES256")
        ways_out = ("--logout-uri", "https://b.example/", "--logout-redirect", "https://b.example/")
        wsgiauth("client", "change", made.id, *other, *ways_out)
    before = json.loads(wsgiauth("client", "show", made.id, "--json")[1])
    after = {**before, **changes}
    done = f"Changed the client {after['name']}."
    same = f"Nothing changed: the client {after['name']} is so already."
    for expected in (same if after == before else done, same):
        status, printed, errors = wsgiauth("client", "change", made.id, *argv)
        assert (status, printed.splitlines()[0], errors) == (0, expected, "")
    assert json.loads(wsgiauth("client", "show", made.id, "--json")[1]) == after


def test_change_prints_the_client(wsgiauth, made):
    printed = wsgiauth("client", "change", made.id, "--name", "Notes")[1]
    assert printed == "Changed the client Notes.\n" + wsgiauth("client", "show", made.id)[1]


def test_secret_prints_a_second_secret_alone(wsgiauth, made):
    status, printed, errors = wsgiauth("client", "secret", made.id)
    end = f"`client secret {made.id} --end-former`"
    assert (status, errors) == (0, f"note: the former secret stays valid until {end}\n")
    row = Client.get()
    assert clients.has_secret(row, printed.removesuffix("\n"))
    assert row.former_digest == made.digest
    third = wsgiauth("client", "secret", made.id)
    reason = f"wsgiauth: Wiki has two secrets; end the former one first: {end}\n"
    assert third == (1, "", reason)


def test_secret_ends_the_former_one(wsgiauth, made):
    argv = ("client", "secret", made.id, "--end-former")
    same = (0, "Nothing changed: only the newest secret of Wiki is valid.\n", "")
    assert wsgiauth(*argv) == same
    wsgiauth("client", "secret", made.id)
    newest = Client.get().digest
    assert wsgiauth(*argv) == (0, "Ended the former secret of Wiki.\n", "")
    assert wsgiauth(*argv) == same
    assert (Client.get().digest, Client.get().former_digest) == (newest, "")


def test_a_public_client_gets_no_secret(wsgiauth, made):
    Client.update(is_public=True, digest="").execute()
    for option in ([], ["--end-former"]):
        status, printed, error = wsgiauth("client", "secret", made.id, *option)
        assert (status, printed) == (1, "")
        assert error == "wsgiauth: Wiki is a public client, so it has no secret\n"


def test_remove_asks_first(wsgiauth, made, monkeypatch, capsys):
    assert wsgiauth("client", "remove", made.id)[0] == 1
    monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
    assert main(["client", "remove", made.id]) == 1
    question = "Remove the client Wiki, which 0 users allowed to use their account? [y/N] "
    assert capsys.readouterr().out == question
    assert Client.get().id == made.id
    assert wsgiauth("client", "remove", made.id, "--yes") == (0, "Removed the client Wiki.\n", "")
    assert not Client.select().exists()


def test_a_client_that_is_removed_meanwhile_is_reported(wsgiauth, made, monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal("yes\n", before=Client.delete().execute))
    assert main(["client", "remove", made.id]) == 1


@pytest.mark.promise(51)
def test_the_operator_is_the_actor(wsgiauth, made):
    wsgiauth("client", "change", made.id, "--name", "Notes")
    wsgiauth("client", "secret", made.id)
    wsgiauth("client", "remove", made.id, "--yes")
    recorded = [(each.name, each.actor, each.reason) for each in RecordedEvent.select()]
    assert recorded == [
        ("client_created", "command line", made.id),
        ("client_changed", "command line", made.id),
        ("client_changed", "command line", made.id),
        ("client_removed", "command line", made.id),
    ]


def test_import_reads_what_export_prints(wsgiauth, made, tmp_path):
    file = tmp_path / "clients.json"
    file.write_text(wsgiauth("client", "export")[1], encoding="utf-8-sig")
    same = (0, "Created 0 clients, changed 0, and left 1 as before.\n", "")
    assert wsgiauth("client", "import", str(file)) == same
    wsgiauth("client", "remove", made.id, "--yes")
    assert wsgiauth("client", "import", "-", stdin=file.read_text("utf-8-sig")) == (
        0,
        "Created 1 client, changed 0, and left 0 as before.\n",
        "",
    )
    assert Client.get().digest == made.digest
    wsgiauth("client", "change", made.id, "--name", "Notes")
    changed = wsgiauth("client", "import", str(file))
    assert changed == (0, "Created 0 clients, changed 1, and left 0 as before.\n", "")


def test_import_says_if_the_site_is_no_provider(wsgiauth):
    nothing = "Created 0 clients, changed 0, and left 0 as before.\n"
    assert wsgiauth("client", "import", "-", stdin="[]") == (0, nothing, OFF)


def test_import_refuses_a_file_that_it_cannot_read(wsgiauth, provider, tmp_path):
    missing, binary = tmp_path / "missing", tmp_path / "binary"
    binary.write_bytes(b"\xff")
    for file, reason in (
        (missing, f"{missing} cannot be read: No such file or directory"),
        (binary, f"{binary} is not UTF-8"),
    ):
        assert wsgiauth("client", "import", str(file)) == (1, "", f"wsgiauth: {reason}\n")
    refused = wsgiauth("client", "import", "-", stdin="{}")
    assert refused == (1, "", "wsgiauth: The file must be a list of clients.\n")


WRONG = {
    "no action": [],
    "an unknown action": ["dance"],
    "no name": ["add", "--redirect", CALLBACK],
    "no URI": ["add", "Wiki"],
    "a service without a permission": ["add", "Job", "--service"],
    "an unknown algorithm": ["add", "Wiki", "--redirect", CALLBACK, "--alg", "HS256"],
    "no change": ["change", "ID"],
    "a group and none": ["change", "ID", "--group", "Editors", "--no-group"],
    "no id": ["show"],
    "nothing to remove": ["remove"],
    "an id and a pattern": ["remove", "ID", "--self-registered", "--matching", "*"],
    "no pattern": ["remove", "--self-registered"],
    "a pattern for all apps": ["remove", "--matching", "*"],
    "an id and a time": ["remove", "ID", "--unused-since", "9"],
    "an option of another action": ["list", "--yes"],
}


@row_by_row("argv", WRONG.values(), ids=WRONG)
def test_wrong_usage_ends_with_2(wsgiauth, made, argv, capsys):
    with pytest.raises(SystemExit) as exited:
        wsgiauth("client", *[made.id if each == "ID" else each for each in argv])
    assert exited.value.code == 2
    assert capsys.readouterr().err.startswith("usage: wsgiauth client")


def test_a_uri_without_its_option_names_the_options_of_uris(wsgiauth, capsys):
    with pytest.raises(SystemExit, match="2"):
        wsgiauth("client", "add", "Wiki", "--redirect", CALLBACK, "https://b.example/")
    names = "--redirect URI or --logout-redirect URI or --logout-uri URI"
    reason = f"error: a value needs the name of its option: {names}\n"
    assert capsys.readouterr().err.endswith(reason)


def test_each_action_has_its_help(capsys):
    for action in ("list", "show", "add", "change", "secret", "remove", "export", "import"):
        with pytest.raises(SystemExit) as exited:
            main(["client", action, "--help"])
        assert exited.value.code == 0
        assert capsys.readouterr().out.startswith(f"usage: wsgiauth client {action} ")
