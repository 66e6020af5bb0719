"""What commands print: nothing that a terminal would obey, whatever the database contains."""

import json
import sys
import time
from pathlib import Path

import pytest

from tests.cli.conftest import Terminal
from tests.support.identities import ISSUER, account
from tests.support.settings import LONG_KEY
from tests.support.sites import EMAIL, PASSWORD
from wsgiauth import Group, User, storage
from wsgiauth.accounts.tables import GroupPermission, Key, Permission, Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.session_list import handle_of
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.cli import main
from wsgiauth.events.models import RecordedEvent
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.tables import Client as App
from wsgiauth.features.providers import identities
from wsgiauth.features.providers.identities import Identity
from wsgiauth.web.clients import Client

# A colour by ESC and a scroll by C1, deletion, further lines, bidirectional controls, a tag.
OBEYED = "\x1b[31m\x9b2T\x7f\r\nforged\x85\u2028\u202e\u2067\u061c\U000e0041"
NAME = f"Ada{OBEYED}"
ADDRESS = f"{EMAIL}{OBEYED}"


@pytest.fixture
def hostile(person, settings, monkeypatch):
    """Put what a terminal would obey into every row, as another writer of the tables could."""
    for name, value in {
        "SECRET_KEY": LONG_KEY,
        "PUBLIC_URL": "https://example.org",
        "SITE_NAME": "Site",
    }.items():
        monkeypatch.setenv(name, value)
    editors = Group.objects.create(name="editors")
    person.join(editors)
    person.grant("a.b")
    editors.grant("a.b")
    now = int(time.time())
    started = sessions.start(person, Tokens(settings), client=Client("192.0.2.1", "curl/8.14"))
    times = {"created_at": now, "expires_at": now + 3600}
    Key.create(id="k", user=person, name="n", digest="", permissions="a.b", **times)
    identities.connect(person, account(), now)
    app = clients.create("n", ["https://wiki.example.org/"], group=editors, now=now)
    App.update(id="app").where(App.id == app.row.id).execute()
    texts_of_app = {"redirect_uris": OBEYED, "scopes": OBEYED, "algorithm": "\x9bx"}
    hostile_text = dict.fromkeys(("provider", "issuer", "subject", "name"), OBEYED)
    for model, values in (
        (Identity, hostile_text),
        (User, {"username": NAME, "email": ADDRESS}),
        (Group, {"name": f"editors{OBEYED}"}),
        (Permission, {"name": f"x.y{OBEYED}"}),
        (GroupPermission, {"name": f"x.y{OBEYED}"}),
        (Session, {"address": f"192.0.2.1{OBEYED}"}),
        (Key, {"name": f"key{OBEYED}", "permissions": f"x.y{OBEYED}"}),
        (App, {"name": f"app{OBEYED}", **texts_of_app}),
        (RecordedEvent, {"actor": f"code{OBEYED}", "address": OBEYED, "reason": OBEYED}),
    ):
        model.update(values).execute()
    return handle_of(started.session_id)


COMMANDS = {
    "createuser": ["createuser", "--username", "ada", "--email", EMAIL, "--password-stdin"],
    "changepassword": ["changepassword", "ada", "--password-stdin"],
    "set": ["set", "ada", "--staff"],
    "last superuser": ["set", "ada", "--superuser"],
    "activate": ["activate", "ada"],
    "deactivate": ["deactivate", "ada"],
    "deleteuser": ["deleteuser", "ada", "--yes"],
    "deleteuser of no one": ["deleteuser", NAME, "--yes"],
    "invite": ["invite", EMAIL],
    "grant": ["grant", "ada", "a.c"],
    "grant to a group": ["grant", "--group", "editors", "a.c"],
    "grant to no group": ["grant", "--group", NAME, "a.c"],
    "revoke": ["revoke", "ada", "a.b"],
    "permissions": ["permissions"],
    "permissions --json": ["permissions", "--json"],
    "permissions --app": ["permissions", "--app", f"x{OBEYED}"],
    "join": ["join", "ada", "editors"],
    "leave": ["leave", "ada", "editors"],
    "creategroup": ["creategroup", "editors"],
    "deletegroup": ["deletegroup", "editors", "--yes"],
    "groups": ["groups"],
    "groups --json": ["groups", "--json"],
    "users": ["users"],
    "users --json": ["users", "--json"],
    "import": ["import", "-"],
    "export": ["export"],
    "import of no file": ["import", NAME],
    "sessions": ["sessions", "ada"],
    "sessions --json": ["sessions", "ada", "--json"],
    "removefactor": ["removefactor", "ada"],
    "identities": ["identities", "ada"],
    "identities --json": ["identities", "ada", "--json"],
    "unlink": ["unlink", "ada", identities.identity_id(ISSUER, "s-1")[:12]],
    "unlink of no account": ["unlink", "ada", NAME],
    "logout": ["logout", "ada"],
    "logout of no session": ["logout", "ada", "--session", NAME],
    "keys": ["keys", "ada"],
    "keys --json": ["keys", "ada", "--json"],
    "makekey": ["makekey", "ada", "--name", NAME, "--permission", "a.b"],
    "endkey": ["endkey", "ada", "k"],
    "endkey of no key": ["endkey", "ada", NAME],
    "endkey --all": ["endkey", "ada", "--all"],
    "client list": ["client", "list"],
    "client list --json": ["client", "list", "--json"],
    "client show": ["client", "show", "app"],
    "client show --json": ["client", "show", "app", "--json"],
    "client show of no client": ["client", "show", NAME],
    "client add": ["client", "add", NAME, "--redirect", f"https://{OBEYED}/"],
    "client change": ["client", "change", "app", "--name", "x", "--redirect", "https://a.example"],
    "client change of nothing": ["client", "change", "app", "--no-trusted"],
    "client secret": ["client", "secret", "app"],
    "client remove": ["client", "remove", "app", "--yes"],
    "client export": ["client", "export"],
    "client import of no file": ["client", "import", NAME],
    "events": ["events"],
    "events --json": ["events", "--json"],
    "invitations": ["invitations"],
    "endinvitation": ["endinvitation", NAME],
    "resetlink": ["resetlink", "ada"],
    "preview": ["preview"],
    "settings": ["settings"],
    "purge": ["purge"],
    "check": ["check"],
    "no database": ["users", "--database", f"sqlite:////{NAME}"],
}


def obeyed_in(printed):
    """Return what a terminal would obey, and lines that a name has begun."""
    characters = {each for each in printed if not each.isprintable() and each != "\n"}
    return characters, [line for line in printed.split("\n") if line.startswith("forged")]


@pytest.mark.slow
def test_no_command_prints_what_a_terminal_would_obey(wsgiauth, hostile, settings):
    file = Path(settings.DATABASE_URL.removeprefix("sqlite:///"))
    storage.discard_connection(storage.current())
    content = file.read_bytes()
    for name, argv in COMMANDS.items():
        stdin = f'username,email\n"{NAME}",{ADDRESS}\n' if name == "import" else f"{PASSWORD}\n"
        status, output, errors = wsgiauth(*argv, stdin=stdin)
        assert status in (0, 1), name
        assert obeyed_in(output + errors) == (set(), []), name
        storage.discard_connection(storage.current())
        file.write_bytes(content)  # each command finds the same rows


def test_wrong_usage_is_reported_without_it(capsys):
    for argv in (["users", "--limit", NAME], ["dance" + OBEYED], ["grant", "ada", f"a.b{OBEYED}"]):
        with pytest.raises(SystemExit):
            main(argv)
        assert obeyed_in(capsys.readouterr().err) == (set(), [])


def test_a_question_is_asked_without_it(hostile, monkeypatch, capsys, settings):
    monkeypatch.setenv("DATABASE_URL", settings.DATABASE_URL)
    for argv in (["deleteuser", "ada"], ["deletegroup", "editors"], ["client", "remove", "app"]):
        monkeypatch.setattr(sys, "stdin", Terminal("no\n"))
        assert main(argv) == 1
        assert obeyed_in(capsys.readouterr().out) == (set(), [])


def test_the_session_of_a_user_is_ended_without_it(wsgiauth, hostile):
    _, output, _ = wsgiauth("logout", "ada", "--session", hostile)
    assert obeyed_in(output) == (set(), [])


def test_json_has_the_same_names(wsgiauth, hostile):
    (user,) = json.loads(wsgiauth("users", "--json")[1])
    assert (user["username"], user["email"]) == (NAME, ADDRESS)
    lines = wsgiauth("events", "--json")[1].splitlines()
    assert {json.loads(line)["reason"] for line in lines} == {OBEYED}
