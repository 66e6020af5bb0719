"""The SDK of the Model Context Protocol: its client gets a token for the servers of the page."""

import asyncio
import json

import pytest

from tests.conftest import require
from tests.docs.pages import code
from tests.support.mcp_servers import PAGE, PERMISSION, mcp_server
from tests.support.oauth_apps import answer_in
from tests.support.sites import free_port

CALLBACK = "http://127.0.0.1/callback"
PATIENCE = 60  # seconds, for an answer


@pytest.fixture(scope="module", params=["notes_mcp", "notes_fastmcp"])
def program(request):
    return request.param


@pytest.fixture(scope="module")
def port(program):
    return free_port()


@pytest.fixture(scope="module")
def address(port):
    """Return the URL of the MCP server, which is also the `resource` of its tokens."""
    return f"http://127.0.0.1:{port}/mcp"


@pytest.fixture(scope="module")
def changes(address):
    return {"SERVICES": (address,)}


@pytest.fixture(scope="module")
def server(site, port, program, tmp_path_factory):
    require("mcp")
    with mcp_server(site, program, port, tmp_path_factory.mktemp("server")):
        yield


def test_the_document_of_the_server_is_that_of_the_page(site, server, address):
    import httpx

    shown, *_ = code(PAGE, "json")
    host = address.removesuffix("/mcp")
    named = shown.replace("https://mcp.example.org", host)
    named = named.replace("https://example.org", site.address)
    found = httpx.get(f"{host}/.well-known/oauth-protected-resource/mcp").json()
    assert json.loads(named).items() <= found.items()
    assert found["scopes_supported"] == [PERMISSION]


class Storage:
    """What the client stores: the client that an operator has registered, and its tokens."""

    def __init__(self, client):
        self.client, self.tokens = client, None

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        raise AssertionError("the client has registered itself")

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens


class Agent:
    """A program that uses the MCP server in the name of the person."""

    def __init__(self, site, person, address, **options):
        from mcp.client.auth import OAuthClientProvider
        from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata

        self.app = site.register("Wiki", CALLBACK, **options)
        self.person, self.address = person, address
        self.storage = Storage(
            OAuthClientInformationFull(
                client_id=self.app.id,
                client_secret=self.app.secret or None,
                redirect_uris=[CALLBACK],
                token_endpoint_auth_method="client_secret_basic" if self.app.secret else "none",
            )
        )
        metadata = OAuthClientMetadata(redirect_uris=[CALLBACK])
        self._auth = OAuthClientProvider(
            address, metadata, self.storage, self._open_browser, self._answer
        )

    def call(self):
        """Call the tool of the server, and return its answer."""
        return asyncio.run(self._call())

    def forget_token(self):
        """Take the access token for an expired one."""
        self._auth.context.token_expiry_time = 1

    async def _call(self):
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        async with (
            httpx2.AsyncClient(auth=self._auth, timeout=PATIENCE) as http,
            Client(streamable_http_client(self.address, http_client=http)) as client,
        ):
            result = await client.call_tool("who")
        return result.content[0].text

    async def _open_browser(self, url):
        self._location = await asyncio.to_thread(self.person.visit, url, until=CALLBACK)

    async def _answer(self):
        from mcp.shared.auth import AuthorizationCodeResult

        return AuthorizationCodeResult(**answer_in(self._location))


@pytest.fixture
def agent(site, server, person, address):
    return Agent(site, person, address, scopes=[PERMISSION], is_public=True)


@pytest.mark.parametrize("is_public", [True, False], ids=["public", "confidential"])
def test_a_client_gets_a_token_for_a_server(site, server, person, address, is_public):
    agent = Agent(site, person, address, scopes=[PERMISSION], is_public=is_public)
    assert agent.call() == str(site.ada.id)
    assert agent.storage.tokens.scope == PERMISSION


def test_a_token_that_has_expired_is_refreshed_without_the_person(site, agent):
    agent.call()
    former = agent.storage.tokens.refresh_token
    agent.person.pages.clear()
    agent.forget_token()
    assert agent.call() == str(site.ada.id)
    assert agent.storage.tokens.refresh_token != former
    assert agent.person.pages == []


@pytest.mark.promise(92)
def test_a_client_that_was_revoked_asks_the_person_again(site, agent):
    agent.call()
    agent.person.revoke(agent.app.id)
    agent.person.pages.clear()
    agent.forget_token()
    assert agent.call() == str(site.ada.id)
    assert agent.person.pages == ["Log in to Wiki"]


@pytest.mark.promise(91)
def test_a_token_for_userinfo_is_refused_by_the_server(site, agent):
    assert status_with_token(site, agent, resource=None) == 401


def test_a_token_without_the_permission_is_refused_by_the_server(site, agent):
    site.ada.revoke(PERMISSION)
    try:
        assert status_with_token(site, agent, resource=agent.address) in (401, 403)
    finally:
        site.ada.grant(PERMISSION)


def status_with_token(site, agent, **parameters):
    """Return how the server answers to a token of another app."""
    import httpx

    app = site.register("Other", CALLBACK, scopes=["openid", PERMISSION])
    url = f"{site.address}{app.url(scope=f'openid {PERMISSION}', **parameters)}"
    code = answer_in(agent.person.visit(url, until=CALLBACK))["code"]
    bearer = {"Authorization": f"Bearer {app.exchange(code)['access_token']}"}
    return httpx.post(agent.address, headers=bearer).status_code
