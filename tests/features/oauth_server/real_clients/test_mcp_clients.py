"""Clients of MCP servers, which find the provider, register themselves, and open a browser."""

import asyncio
import json
import os
import subprocess

import pytest

from tests.conftest import require, require_program, skip_or_fail
from tests.support.mcp_servers import NEWEST, PERMISSION, mcp_server
from tests.support.opened_browser import opened_browser
from tests.support.provider_site import PROGRAMS
from tests.support.sites import free_port
from tests.support.versions import python_with
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.storage import context
from wsgiauth.testing import client_documents

PATIENCE = 120  # seconds, for a program
URL = "https://editor.example.com/client.json"
DOCUMENT = {
    "client_id": URL,
    "client_name": "Editor",
    "redirect_uris": [
        "http://127.0.0.1/callback",
        "http://localhost/callback",
        "http://localhost/oauth/callback",
    ],
    "token_endpoint_auth_method": "none",
}


@pytest.fixture(scope="module")
def port():
    return free_port()


@pytest.fixture(scope="module")
def address(port):
    """Return the URL of the MCP server."""
    return f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(scope="module")
def changes(address):
    return {"SERVICES": (address,), "OAUTH_REGISTRATION": True}


@pytest.fixture(scope="module", autouse=True)
def server(site, port, tmp_path_factory):
    with mcp_server(site, "notes_fastmcp", port, tmp_path_factory.mktemp("server")):
        yield


@pytest.fixture
def browser(person, tmp_path):
    """Return the environment of programs that the person starts."""
    with opened_browser(person, tmp_path) as environ:
        yield environ


def of_python(*requirements, script="mcp_client.py", arguments=()):
    return lambda: [python_with(*requirements), PROGRAMS / script, "{address}", *arguments]


def of_node(package):
    return lambda: ["node", PROGRAMS / "mcp_client.mjs", modules(), package, "{address}", "{port}"]


def modules():
    """Return the folder of the packages of npm."""
    require_program("node")
    return os.environ.get("MCP_CLIENTS") or skip_or_fail(
        "MCP_CLIENTS does not name a folder: see .ci/run"
    )


def of_old_sdk(version, *scope):
    # Each uses a name of pydantic 2.12 that is not public.
    requirements = (f"mcp=={version}", "pydantic<2.13")
    return of_python(*requirements, arguments=("{port}", *scope))


CLIENTS = {
    # It does not read the scopes of the server. In its examples, clients ask for `user`.
    "mcp-1.12.4": of_old_sdk("1.12.4", f"user {PERMISSION}"),
    "mcp-1.20.0": of_old_sdk("1.20.0"),
    "mcp-newest": of_python(*NEWEST, arguments=("{port}",)),
    "fastmcp": of_python(*NEWEST, script="mcp_fastmcp_client.py"),
    "@modelcontextprotocol/sdk": of_node("@modelcontextprotocol/sdk"),
    "@modelcontextprotocol/client": of_node("@modelcontextprotocol/client"),
}


DOCUMENTED = [name for name in CLIENTS if name not in ("mcp-1.12.4", "mcp-1.20.0")]


def run(name, address, **environ):
    """Run a program, and return the JSON that it prints."""
    values = {"address": address, "port": free_port()}
    command = [str(each).format(**values) for each in CLIENTS[name]()]
    done = subprocess.run(command, capture_output=True, env=environ, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_registers_itself_and_refreshes_its_token(site, person, address, browser, name):
    got = run(name, address, **browser)
    assert_used(site, person, got)
    assert_registered(site, got["client"])


@pytest.mark.parametrize("name", DOCUMENTED)
def test_a_client_is_known_by_its_document(site, person, address, browser, name):
    with client_documents(site.app, {URL: DOCUMENT}):
        got = run(name, address, **browser, DOCUMENT=URL)
    assert_used(site, person, got)
    assert got["client"] == URL


def assert_used(site, person, got):
    """Assert that a program has used the server twice, with another token each time."""
    assert got["users"] == [str(site.ada.id)] * 2
    assert PERMISSION in got["scope"].split()
    first, second = got["refresh_tokens"]
    assert first != second
    assert_asked_once(person)


def assert_registered(site, client_id):
    with context.using(site.app.database):
        client = Client.get_by_id(client_id)
    assert client.is_public
    assert client.expires_at is not None  # it has registered itself


def assert_asked_once(person):
    login, consent = person.pages
    assert login == "Log in"
    assert consent.startswith("Log in to ")


# mcp-remote, which gives programs that know only servers of stdio access to others


@pytest.fixture
def remote(address, browser, tmp_path):
    """Return the command of the proxy, and its environment."""
    proxy = f"{modules()}/mcp-remote/dist/proxy.js"
    return ["node", proxy, address, str(free_port())], browser


def ask(command, environ):
    """Ask the tool of the server by a proxy, as the SDK does."""
    require("mcp")
    from mcp import Client, StdioServerParameters, stdio_client

    program, *arguments = command
    parameters = StdioServerParameters(command=program, args=arguments, env=environ)

    async def call():
        async with Client(stdio_client(parameters)) as client:
            return await client.call_tool("who")

    return asyncio.run(asyncio.wait_for(call(), PATIENCE)).content[0].text


def test_mcp_remote_registers_itself_and_refreshes_its_token(site, person, remote, tmp_path):
    command, environ = remote
    assert ask(command, environ) == str(site.ada.id)
    (stored,) = tmp_path.glob(".mcp-auth/**/*_tokens.json")
    tokens = json.loads(stored.read_text())
    stored.write_text(json.dumps({**tokens, "access_token": "expired"}))
    assert ask(command, environ) == str(site.ada.id)
    assert json.loads(stored.read_text())["refresh_token"] != tokens["refresh_token"]
    (client,) = tmp_path.glob(".mcp-auth/**/*_client_info.json")
    assert_registered(site, json.loads(client.read_text())["client_id"])
    assert_asked_once(person)


def test_mcp_remote_is_known_by_its_document(site, person, remote, tmp_path):
    command, environ = remote
    with client_documents(site.app, {URL: DOCUMENT}):
        assert ask([*command, "--client-metadata-url", URL], environ) == str(site.ada.id)
    assert list(tmp_path.glob(".mcp-auth/**/*_client_info.json")) == []  # it did not register
    assert_asked_once(person)
