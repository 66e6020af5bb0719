"""docs/log-in-with-this-site.md, write-an-app.md and mcp.md: their commands, and their facts."""

import json
import re
import runpy
import shlex
from itertools import pairwise

import pytest
from webtest import TestApp

from tests.conftest import require, require_program
from tests.docs.accounts import settings_of
from tests.docs.pages import PAGES, code, section, shown
from tests.support.service_keys import new_key, pem_of, with_services, write_key
from tests.support.sites import BROWSER, Stage, serving
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.authentication.scopes import STANDARD, in_words
from wsgiauth.features.oauth_server import clients, codes, grants, logouts, redirect_uris
from wsgiauth.features.oauth_server.issuing import claims_of
from wsgiauth.features.oauth_server.server import ACCESS_MINUTES
from wsgiauth.testing import make_user

PAGE = PAGES["docs/log-in-with-this-site.md"]
APP_PAGE = PAGES["docs/write-an-app.md"]
MCP_PAGE = PAGES["docs/mcp.md"]
MAX_WORDS, MAX_WORDS_OF_ALL = 2200, 4450
APPS = section(PAGE, "Connect an app")
ISSUER = "https://example.org"
ADDED = [
    shlex.split(line)
    for block in code(APPS + MCP_PAGE, "sh")
    for line in block.splitlines()
    if line.startswith("python -m wsgiauth client add")
]


def table(text):
    """Return the rows of the first table, without its heading."""
    (rows,) = re.findall(r"^\|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)[:1]
    return [row.strip("| ").split(" | ") for row in rows.splitlines()]


@pytest.fixture
def site(settings, tmp_path):
    """Return a provider at the issuer of the page."""
    keys = write_key(tmp_path / "key", pem_of(new_key("RS256")))
    changes = {"OAUTH_SERVER": True, "OAUTH_REGISTRATION": True}
    made = AuthMiddleware(lambda *_: [], with_services(settings, keys, **changes))
    yield made
    storage.discard_connection(made.database)


# A program that logs in as itself


@pytest.fixture
def provider(folder):
    """Serve a provider on the accounts of the reader, with two services; return its address."""
    stage, keys = Stage(), write_key(folder / "key", pem_of(new_key("RS256")))
    with serving(stage) as address:
        options = {"OAUTH_SERVER": True, "PUBLIC_URL": address, "SERVICES": ("reports", "notes")}
        settings = with_services(settings_of(folder), keys, **options)
        stage.app = AuthMiddleware(lambda *_: [], settings)
        yield address
    storage.discard_connection(stage.app.database)


@pytest.fixture
def reports(folder, provider):
    """Serve the service in Python of the page about programs; return its address."""
    require("falcon")
    program = folder / "reports_service.py"
    program.write_text(program.read_text().replace(ISSUER, provider))
    with serving(runpy.run_path(str(program))["application"]) as address:
        yield address


def test_a_program_logs_in_as_itself_and_uses_a_service(provider, reports, folder, run):
    require_program("curl")
    (add, added), (curl, answered), (start, _) = shown(APP_PAGE, "A program that logs in as itself")
    printed = run(add)
    client_id, secret = re.findall("^client_.*: (.+)$", printed, re.MULTILINE)
    assert re.sub("(?m)(?<=^client_id: ).+|(?<=^client_secret: ).+", "…", printed) == added
    answer = run(curl.replace("ID:SECRET", f"{client_id}:{secret}").replace(ISSUER, provider))
    assert re.sub('(?<="access_token":)"[^"]+"', '"…"', answer) == answered.strip()
    program = folder / "nightly_export.py"
    text = program.read_text().replace(ISSUER, provider)
    program.write_text(text.replace("http://127.0.0.1:8082", reports))
    named = start.replace("CLIENT_ID=…", f"CLIENT_ID={client_id}")
    command = named.replace("CLIENT_SECRET=…", f"CLIENT_SECRET={secret}")
    assert run(command) == f"{{'reports_of': 'client:{client_id}'}}\n"
    reason = run(f"{command.replace(secret, 'x')} 2>&1 || true")
    assert reason.startswith('no token: {"error":"invalid_client",')


# Devices


def test_a_device_gets_codes_and_waits(provider, folder, run):
    require_program("curl")
    (add, _), (codes_of, codes_shown), (poll, answer) = shown(
        APP_PAGE, "Devices without a keyboard"
    )
    (client_id,) = re.findall("^client_id: (.+)$", run(add), re.MULTILINE)
    named = {"=ID": f"={client_id}", ISSUER: provider}
    got = json.loads(run(replaced(codes_of, named)))
    expected = json.loads(replaced(codes_shown, {ISSUER: provider}))
    secrets = {"device_code", "user_code", "verification_uri_complete"}
    assert got.keys() == expected.keys()
    assert {each: got[each] for each in got.keys() - secrets} == {
        each: expected[each] for each in expected.keys() - secrets
    }
    assert got["verification_uri_complete"] == expected["verification_uri_complete"].replace(
        expected["user_code"], got["user_code"]
    )
    asked = replaced(poll, {**named, "=CODE": f"={got['device_code']}"})
    assert run(asked) == answer.strip()


def replaced(text, changes):
    for old, new in changes.items():
        text = text.replace(old, new)
    return text


# Logout tokens


def test_the_page_has_the_claims_and_the_type_of_a_logout_token():
    text = section(APP_PAGE, "Verify logout tokens")
    assert f"`typ` is `{logouts.LOGOUT_TOKEN}`" in text
    assert f"`{logouts.LOGOUT_EVENT}`" in text


# Registering apps


def test_the_commands_of_the_pages_register_apps(run, folder, environ, administrator):
    printed = [run(shlex.join(command)) for command in ADDED]
    assert len(printed) >= 4
    for command, each in zip(ADDED, printed, strict=True):
        assert ("client_secret" in each) is ("--public" not in command)


def test_a_user_gets_the_permission_of_the_mcp_server(run, administrator):
    _export, (grant, granted) = shown(MCP_PAGE, "Set up the site")
    assert run(grant) == granted


def test_the_redirect_uris_of_the_pages_are_accepted():
    uris = [
        (uri, "--public" in command)
        for command in ADDED
        for option, uri in pairwise(command)
        if option == "--redirect"
    ]
    assert len(uris) >= 6
    for uri, is_public in uris:
        assert redirect_uris.problem_of(uri, is_public=is_public) is None, uri


def test_the_urls_of_grafana_are_those_of_the_document(site):
    document = TestApp(site).get("/.well-known/openid-configuration").json
    settings = dict(re.findall(r"^(\w+) = (.*)$", section(APPS, "Grafana"), re.MULTILINE))
    named = {
        "auth_url": "authorization_endpoint",
        "token_url": "token_endpoint",
        "api_url": "userinfo_endpoint",
    }
    assert {name: settings[name] for name in named} == {
        name: document[member] for name, member in named.items()
    }
    assert set(settings["scopes"].split()) <= set(document["scopes_supported"])


def test_every_issuer_and_discovery_url_of_the_page_is_that_of_the_site(site):
    path = "/.well-known/openid-configuration"
    assert TestApp(site).get(path).json["issuer"] == ISSUER
    assert set(re.findall(r"issuer-url=(\S+)", APPS)) == {ISSUER}
    assert set(re.findall(r"discover\S*[= ](https\S+)", APPS)) == {f"{ISSUER}{path}"}


def test_another_site_with_wsgiauth_accepts_the_entry():
    (block,) = code(section(APPS, "Another site with wsgiauth"), "sh")
    entry = re.search("'(.*)'", block)[1]
    assert Settings(OIDC_PROVIDERS=(entry,), PUBLIC_URL="https://shop.example.org")


# Facts


SCOPES = table(section(APP_PAGE, "What an app gets"))


def test_the_scopes_have_the_words_that_users_read():
    listed = {scope.strip("`"): words for scope, words, *_ in SCOPES[:-1]}
    assert listed == {each.name: each.text for each in in_words(STANDARD)}
    permission, words, _ = SCOPES[-1]
    name = re.search("`(.*)`", permission)[1]
    assert words == in_words([name])[0].text


def test_the_claims_of_each_scope_are_those_of_the_code(site, settings):
    user = make_user(site, "ada", groups=["editors"])
    user.language = "de"
    for scope, _words, claims in SCOPES[:-1]:
        named = {"sub", *re.findall("`([a-z_]+)`", claims)}
        assert named == claims_of(user, [scope.strip("`")], settings).keys()


# When an app cannot log in


def test_the_page_has_the_messages_about_wrong_requests(site):
    made = clients.create("…", ["https://wiki.example.org/"], now=0)
    messages = [message for message, _cause in table(section(PAGE, "When an app cannot log in"))]
    for row, client_id in enumerate(("x", made.row.id, "https://localhost/app")):
        asked = {"client_id": client_id, "redirect_uri": "https://wiki.example/"}
        page = TestApp(site).get("/auth/authorize", asked, headers=BROWSER, status=400)
        text = page.html.get_text()
        assert [each in text for each in messages] == [row == number for number in range(4)]


def test_the_lifetimes_are_those_of_the_code():
    text = section(PAGE, "What ends what")
    assert "| a code | one minute, and one use |" in text
    assert codes.LIFETIME == 60
    assert "| an access token, an ID token | five minutes, or" in text
    assert "at most five minutes more" in text
    assert ACCESS_MINUTES == 5
    assert f"For {grants.GRACE} seconds, a refresh token" in text


# Length


def test_the_pages_are_short():
    counts = [len(each.split()) for each in (PAGE, APP_PAGE, MCP_PAGE)]
    assert max(counts) <= MAX_WORDS
    assert sum(counts) < MAX_WORDS_OF_ALL
