"""Logout tokens (OpenID Connect Back-Channel Logout 1.0, sections 2.4 and 2.6)."""

from typing import NamedTuple

from wsgiauth.authentication.oidc.documents import optional
from wsgiauth.authentication.oidc.signed_tokens import (
    Expected,
    TokenError,
    is_subject,
    verify,
)

EVENT = "http://schemas.openid.net/event/backchannel-logout"


class LogoutToken(NamedTuple):
    """Which sessions end: those of the subject, or of the session at the provider, or of both."""

    jti: str  # counts once
    subject: str  # or empty
    sid: str  # or empty
    issuer: str


def verify_logout_token(token: str, expected: Expected, now: float) -> LogoutToken:
    """Return what a logout token says; whether it was used before is for the caller to record.

    Raises:
        TokenError: It is refused.
        ProviderError: The provider's keys cannot be fetched.
    """
    # Ory Hydra and LemonLDAP::NG leave out `exp`, though section 2.4 demands it.
    _, claims = verify(token, expected, {"jwt", "logout+jwt"}, now, needs_expiry=False)
    events = claims.get("events")
    if not isinstance(events, dict) or not isinstance(events.get(EVENT), dict):
        raise TokenError("events")
    if optional(claims, "nonce") is not None:  # section 2.4: so that no ID token is a logout token
        raise TokenError("nonce")
    if not is_subject(claims.get("jti")):
        raise TokenError("jti")
    subject, sid = optional(claims, "sub"), optional(claims, "sid")
    named = [each for each in (subject, sid) if each is not None]
    if not named or not all(map(is_subject, named)):
        raise TokenError("sub")
    return LogoutToken(str(claims["jti"]), str(subject or ""), str(sid or ""), expected.issuer)
