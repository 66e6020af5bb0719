"""An MCP server, made with the SDK, that accepts access tokens of an OpenID provider, for tests.

python mcp_server.py PORT ISSUER
"""

import asyncio
import sys

import jwt
import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer

PORT, ISSUER = int(sys.argv[1]), sys.argv[2]
RESOURCE = f"http://127.0.0.1:{PORT}/mcp"

keys = jwt.PyJWKClient(f"{ISSUER}/auth/jwks.json")


class Verifier:
    """Verifies a token by the keys that the provider publishes."""

    async def verify_token(self, token):
        """Return what the token says, or None."""
        try:
            key = await asyncio.to_thread(keys.get_signing_key_from_jwt, token)
            claims = jwt.decode(token, key, ["RS256"], audience=RESOURCE, issuer=ISSUER)
        except jwt.PyJWTError:
            return None
        return AccessToken(
            token=token,
            client_id=claims["client_id"],
            scopes=claims["scope"].split(),
            expires_at=claims["exp"],
            resource=claims["aud"],
            subject=claims["sub"],
        )


server = MCPServer(
    "Notes",
    token_verifier=Verifier(),
    auth=AuthSettings(
        issuer_url=ISSUER,
        resource_server_url=RESOURCE,
        required_scopes=["notes.read"],
        validate_token_resource=True,
    ),
)


@server.tool()
def who() -> str:
    """Return the subject of the token."""
    return get_access_token().subject


uvicorn.run(server.streamable_http_app(), port=PORT, log_level="error")
