"""The refresh tokens of grants: each is used once, for new tokens and the next refresh token.

A token is the id of its grant and a number, with a signature; the row has the number of the current
token. A token that is used twice was copied (RFC 9700 section 4.14.2).
"""

import hmac
import re
from base64 import urlsafe_b64encode

from wsgiauth.settings import Settings

PREFIX = "wsgiauth-app_"
MAX_LENGTH = 200  # characters

# No dot, so it is never taken for a JWT, nor a JWT for it.
_TOKEN = re.compile(rf"{PREFIX}([A-Za-z0-9_-]{{22}})_([1-9][0-9]{{0,8}})_([A-Za-z0-9_-]{{43}})")


class GrantTokens:
    """Issues refresh tokens under SECRET_KEY; SECRET_KEY_FALLBACKS verify, too."""

    def __init__(self, settings: Settings) -> None:
        self._keys = settings.keys_for("refresh tokens of other apps")

    def issue(self, grant_id: str, generation: int) -> str:
        """Return the refresh token of a grant with this number."""
        signature = _signature(self._keys[0], grant_id, generation)
        return f"{PREFIX}{grant_id}_{generation}_{signature}"

    def verify(self, token: str) -> tuple[str, int] | None:
        """Return the id of the grant and the number in a signed token, or None."""
        match = _TOKEN.fullmatch(token[: MAX_LENGTH + 1])
        if match is None:
            return None
        grant_id, generation = match[1], int(match[2])
        for key in self._keys:
            if hmac.compare_digest(_signature(key, grant_id, generation), match[3]):
                return grant_id, generation
        return None


def _signature(key: bytes, grant_id: str, generation: int) -> str:
    digest = hmac.digest(key, f"{grant_id} {generation}".encode(), "sha256")
    return urlsafe_b64encode(digest).decode().rstrip("=")
