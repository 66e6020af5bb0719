"""ID tokens (OpenID Connect Core 1.0, section 3.1.3.7)."""

import hashlib
import hmac
from base64 import urlsafe_b64encode

from wsgiauth.authentication.lifetimes import CLOCK_SKEW
from wsgiauth.authentication.oidc.documents import Document, optional
from wsgiauth.authentication.oidc.errands import CONFIRM, BegunErrand
from wsgiauth.authentication.oidc.signed_tokens import (
    CLOCK,
    Expected,
    TokenError,
    is_subject,
    number,
    verify,
)

AUTH_TIME = "auth_time"  # the reason of a token that confirms nothing


def verify_id_token(
    token: str, access_token: str, begun: BegunErrand, expected: Expected, now: float
) -> Document:
    """Return the claims of an ID token that answers this errand of this browser.

    Raises:
        TokenError: It is refused.
        ProviderError: The provider's keys cannot be fetched.
    """
    algorithm, claims = verify(token, expected, {"jwt"}, now)
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not _is_same(nonce, begun.nonce):
        raise TokenError("nonce")
    at_hash = optional(claims, "at_hash")
    is_half = isinstance(at_hash, str) and _is_same(at_hash, _half(access_token, algorithm))
    if at_hash is not None and not is_half:
        raise TokenError("at_hash")
    if not is_subject(claims.get("sub")):
        raise TokenError("sub")
    _check_login(claims, begun, now)
    return claims


def _check_login(claims: Document, begun: BegunErrand, now: float) -> None:
    """Check when the user logged in; `iat` does not say it, and can lie minutes before."""
    authenticated_at = number(claims, "auth_time")
    if optional(claims, "auth_time") is not None and authenticated_at is None:
        raise TokenError("times")
    if authenticated_at is not None and authenticated_at > now + CLOCK_SKEW:
        raise TokenError(CLOCK)  # or the login would count as recent in that future, too
    is_new = authenticated_at is not None and authenticated_at >= begun.begun_at - CLOCK_SKEW
    if begun.errand.purpose == CONFIRM and not is_new:
        raise TokenError(AUTH_TIME)


def _half(access_token: str, algorithm: str) -> str:
    """Return the `at_hash` of an access token (section 3.1.3.6); Ed25519 uses SHA-512."""
    bits = "512" if algorithm.startswith("Ed") else algorithm[2:]
    digest = hashlib.new(f"sha{bits}", access_token.encode()).digest()
    return urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode()


def _is_same(sent: str, ours: str) -> bool:
    return hmac.compare_digest(sent.encode(errors="replace"), ours.encode())
