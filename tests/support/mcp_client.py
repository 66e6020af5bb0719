"""A program with the SDK `mcp`, of any version, that uses an MCP server in the name of a person.

    python mcp_client.py ADDRESS PORT [SCOPE]

It gets the answers of the provider on PORT, and asks the tool `who` twice: the second time after
its access token seems to have expired. It prints what it got as JSON. It registers itself, unless
DOCUMENT is the URL of its client ID metadata document.
"""

import asyncio
import json
import os
import sys
import webbrowser
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qsl, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata

address, port, *scope = sys.argv[1:]


class Storage:
    """What the program stores."""

    client = tokens = None

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens


class Callback(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.answer = dict(parse_qsl(urlsplit(self.path).query))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_):
        pass


server = HTTPServer(("127.0.0.1", int(port)), Callback)


async def open_browser(url):
    webbrowser.open(url)


async def answer():
    await asyncio.to_thread(server.handle_request)
    try:
        from mcp.shared.auth import AuthorizationCodeResult
    except ImportError:  # before 2
        return server.answer["code"], server.answer["state"]
    return AuthorizationCodeResult(**server.answer)


async def ask(auth):
    try:
        from mcp import Client
    except ImportError:
        return await ask_by_session(auth)
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    async with (
        httpx2.AsyncClient(auth=auth, timeout=60) as http,
        Client(streamable_http_client(address, http_client=http)) as client,
    ):
        return await client.call_tool("who")


async def ask_by_session(auth):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamablehttp_client

    async with (
        streamablehttp_client(address, auth=auth) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        return await session.call_tool("who")


storage = Storage()
metadata = OAuthClientMetadata(
    client_name="Editor",
    redirect_uris=[f"http://127.0.0.1:{port}/callback"],
    scope=scope[0] if scope else None,
)
known_by = {"client_metadata_url": os.environ["DOCUMENT"]} if "DOCUMENT" in os.environ else {}
auth = OAuthClientProvider(address, metadata, storage, open_browser, answer, **known_by)
got = {"users": [], "refresh_tokens": []}
for _ in range(2):
    got["users"].append(asyncio.run(ask(auth)).content[0].text)
    got["refresh_tokens"].append(storage.tokens.refresh_token)
    auth.context.token_expiry_time = 1
print(json.dumps({**got, "client": storage.client.client_id, "scope": storage.tokens.scope}))
