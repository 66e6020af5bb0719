"""A program with the client of FastMCP, as `mcp_client.py` is one with the SDK.

python mcp_fastmcp_client.py ADDRESS
"""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.auth import OAuth


async def ask():
    document = os.environ.get("DOCUMENT")
    client = Client(sys.argv[1], auth=OAuth(client_metadata_url=document) if document else "oauth")
    context = client.transport.auth.context
    got = {"users": [], "refresh_tokens": []}
    for _ in range(2):
        async with client:
            got["users"].append((await client.call_tool("who")).data)
        got["refresh_tokens"].append(context.current_tokens.refresh_token)
        context.token_expiry_time = 1
    scope = context.current_tokens.scope
    return {**got, "client": context.client_info.client_id, "scope": scope}


print(json.dumps(asyncio.run(ask())))
