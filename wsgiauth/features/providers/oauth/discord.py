"""Discord: see "OAuth2" and "User Resource" in its documentation for developers."""

import re

from wsgiauth.features.providers.oauth.api import Api, ApiError, Ask
from wsgiauth.features.providers.oidc.documents import Document

_SNOWFLAKE = re.compile("[1-9][0-9]{0,19}")  # a number of 64 bits, as a string


class Discord(Api):
    """An account is its snowflake. A username can be changed, and then belong to someone else."""

    def __init__(self, origin: str) -> None:
        self.issuer = origin
        self.authorization_endpoint = f"{origin}/oauth2/authorize"
        self.token_endpoint = f"{origin}/api/oauth2/token"
        self._user = f"{origin}/api/v10/users/@me"

    def profile(self, ask: Ask) -> Document:
        """Return the claims of the user; `verified` is about their only address."""
        found = ask("user", self._user)
        user = found if isinstance(found, dict) else {}
        number = user.get("id")
        if not isinstance(number, str) or not _SNOWFLAKE.fullmatch(number):
            raise ApiError("user: id")
        return {
            "sub": number,
            "preferred_username": user.get("username"),
            "name": user.get("global_name"),
            "email": user.get("email"),
            "email_verified": user.get("verified"),
        }
