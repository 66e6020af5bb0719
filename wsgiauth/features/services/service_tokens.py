"""Tokens for other services, which verify them by the public keys of this site.

A service token (RFC 9068) is for one service; wsgiauth itself does not accept it. The service does
not learn of a revocation unless it asks, so the token lives for a few minutes.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from wsgiauth.authentication.freshness import Proof
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.settings import Settings
from wsgiauth.web.uris import find_equal

CLIENT_ID = "wsgiauth"
# A token with the longest scope, and with the longest RSA signature, stays below MAX_LENGTH.
MAX_SCOPE = 1500  # characters


class ServiceTokens:
    """Issues and verifies service tokens.

    Attributes:
        lifetime: Of a token, in seconds.
        audiences: The services.
        signed: Signs the tokens, and verifies them.
    """

    def __init__(
        self, settings: Settings, signed: SignedTokens, clock: Callable[[], float]
    ) -> None:
        self.lifetime: int = settings.SERVICE_TOKEN_MINUTES * 60
        self.audiences: frozenset[str] = frozenset(settings.SERVICES)
        self.signed: SignedTokens = signed
        self._now = clock

    def issue(
        self, user_id: int, audience: str, *, scope: Sequence[str], sid: str, proof: Proof | None
    ) -> str:
        """Return a token for one service (RFC 9068 section 2.2).

        Args:
            sid: The handle of the session, or the id of the API key.
            proof: The last proof of the session; None for an API key.
        """
        now = int(self._now())
        payload: dict[str, object] = {
            "sub": str(user_id),
            "aud": audience,
            "exp": now + self.lifetime,
            "iat": now,
            "jti": secrets.token_urlsafe(16),
            "client_id": CLIENT_ID,
            "scope": " ".join(scope),
            "sid": sid,
        }
        if proof is not None:
            payload |= {"auth_time": proof.authenticated_at, "amr": proof.methods.split()}
        return self.signed.sign(payload)

    def verify(self, token: str, now: float) -> Mapping[str, Any] | None:
        """Return the claims of a token of `issue` that has not expired, or None.

        The session or the key that `sid` names may have been revoked since.
        """
        claims = self.signed.verify(token, now)
        if claims is None or claims.get("client_id") != CLIENT_ID:
            return None
        return claims if find_equal(claims["aud"], self.audiences) else None
