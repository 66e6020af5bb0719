"""ID tokens (OpenID Connect Core 1.0, section 3.1.3.7), and logout tokens.

Logout tokens are those of OpenID Connect Back-Channel Logout 1.0, sections 2.4 and 2.6. Both have a
signature, an issuer, an audience and times.
"""

import hashlib
import hmac
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Collection
from typing import NamedTuple

from wsgiauth.authentication.lifetimes import CLOCK_SKEW, MINUTE
from wsgiauth.features.providers.oidc.discovery import Metadata
from wsgiauth.features.providers.oidc.documents import Document, optional, parse_document, strings
from wsgiauth.features.providers.oidc.errands import CONFIRM, BegunErrand
from wsgiauth.features.providers.oidc.kept import Kept
from wsgiauth.features.providers.oidc.key_sets import KeySet, is_signed

MAX_AGE = 10 * MINUTE  # seconds since a token was issued
CLOCK = "clock"  # the reason of a token of another time
AUTH_TIME = "auth_time"  # the reason of a token that confirms nothing
EVENT = "http://schemas.openid.net/event/backchannel-logout"

_TOKEN = re.compile(r"(([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+))\.([A-Za-z0-9_-]+)")
_SUBJECT = re.compile(r"[!-~]([ -~]{0,253}[!-~])?")
_LATEST = 2.0**53  # what every program can represent


class TokenError(Exception):
    """A token is refused; the message is the reason, in fixed words."""


class SignedToken(NamedTuple):
    """What a provider signed; its `repr` has nothing of it."""

    algorithm: str
    claims: Document

    def __repr__(self) -> str:
        return "<SignedToken>"


class Expected(NamedTuple):
    """The keys, the issuer and the audience that a token must have."""

    metadata: Kept[Metadata]
    keys: Kept[KeySet]
    issuer: str
    client_id: str


class LogoutToken(NamedTuple):
    """Which sessions end: those of the subject, or of the session at the provider, or of both."""

    jti: str  # counts once
    subject: str  # or empty
    sid: str  # or empty
    issuer: str


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


def verify(
    token: str,
    expected: Expected,
    types: Collection[str],
    now: float,
    *,
    needs_expiry: bool = True,
) -> SignedToken:
    """Return what a token says, if the provider has signed it, for us, and lately.

    Args:
        types: The values of `typ` that are accepted, in lower case.
        needs_expiry: Whether it must say when it expires; `iat` limits each token, too.

    Raises:
        TokenError: It is refused.
        ProviderError: The provider's keys cannot be fetched.
    """
    signed = verify_signature(token, expected, types, lambda metadata: metadata.algorithms)
    _check_audience(signed.claims, expected)
    _check_times(signed.claims, now, needs_expiry=needs_expiry)
    return signed


def verify_signature(
    token: str,
    expected: Expected,
    types: Collection[str],
    algorithms: Callable[[Metadata], Collection[str]],
) -> SignedToken:
    """Return what a token says, if the provider has signed it by one of these algorithms.

    The caller checks the audience and the times; else see `verify`.
    """
    match = require_form(token)
    header, claims = parse_document(_decoded(match[2])), parse_document(_decoded(match[3]))
    if header is None or claims is None:
        raise TokenError("form")
    _check_header(header, types)
    metadata, keys = expected.metadata, expected.keys
    try:
        algorithm = _signed_with(match, header, algorithms(metadata.get()), keys.get())
    except TokenError:  # the provider may have changed its keys, at most once a minute
        newer = algorithms(metadata.get_newer())
        algorithm = _signed_with(match, header, newer, keys.get_newer())
    return SignedToken(algorithm, claims)


def is_token(token: str) -> bool:
    """Return whether a string has the form of a signed token."""
    return _TOKEN.fullmatch(token) is not None


def require_form(token: str) -> re.Match[str]:
    """Return the parts of what can be a signed token, or raise TokenError."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        raise TokenError("form")
    return match


def is_subject(value: object) -> bool:
    """Return whether a value can be the `sub` of a user, as every database can compare it."""
    return isinstance(value, str) and _SUBJECT.fullmatch(value) is not None


def number(claims: Document, name: str) -> float | None:
    """Return a time in a token (RFC 7519 section 2, NumericDate), or None if it is none."""
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < _LATEST else None


def audiences_of(claims: Document) -> list[str]:
    """Return the audiences of a token (RFC 7519 section 4.1.3)."""
    audience = claims.get("aud")
    return [audience] if isinstance(audience, str) else strings(audience)


def _check_header(header: Document, types: Collection[str]) -> None:
    token_type = optional(header, "typ")
    is_right = isinstance(token_type, str) and token_type.lower() in types
    if token_type is not None and not is_right:
        raise TokenError("typ")
    if "crit" in header:  # no extension is understood (RFC 7515 section 4.1.11)
        raise TokenError("crit")


def _signed_with(
    match: re.Match[str], header: Document, algorithms: Collection[str], keys: KeySet
) -> str:
    """Return the algorithm by which the one key that fits has signed a token."""
    algorithm, key_id = header.get("alg"), optional(header, "kid")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        raise TokenError("alg")
    if key_id is not None and not isinstance(key_id, str):
        raise TokenError("kid")
    fitting = keys.find(algorithm, key_id)
    if len(fitting) != 1:
        raise TokenError("several keys" if fitting else "unknown key")
    if not is_signed(algorithm, fitting[0], match[1].encode(), _decoded(match[4])):
        raise TokenError("signature")
    return algorithm


def _check_audience(claims: Document, expected: Expected) -> None:
    if claims.get("iss") != expected.issuer:
        raise TokenError("iss")
    audience = claims.get("aud")
    if expected.client_id not in audiences_of(claims):
        raise TokenError("aud")
    is_shared = isinstance(audience, list) and len(audience) > 1
    authorized = optional(claims, "azp")
    if (is_shared or authorized is not None) and authorized != expected.client_id:
        raise TokenError("azp")


def _check_times(claims: Document, now: float, *, needs_expiry: bool) -> None:
    issued_at, has_expiry = number(claims, "iat"), optional(claims, "exp") is not None
    if issued_at is None or (needs_expiry and not has_expiry):
        raise TokenError("times")
    if has_expiry and (number(claims, "exp") or 0) <= issued_at:
        raise TokenError("times")
    if not now - MAX_AGE <= issued_at <= now + CLOCK_SKEW:
        raise TokenError(CLOCK)
    check_validity(claims, now)


def check_validity(claims: Document, now: float) -> None:
    """Raise TokenError for claims that are not valid yet, or no longer, where they say it."""
    expires_at, not_before = (
        now if optional(claims, name) is None else number(claims, name) for name in ("exp", "nbf")
    )
    if expires_at is None or not_before is None:
        raise TokenError("times")
    if not not_before - CLOCK_SKEW <= now < expires_at + CLOCK_SKEW:
        raise TokenError(CLOCK)


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


def _decoded(segment: str) -> bytes:
    """Return what base64 stands for; what it cannot stand for is nothing."""
    padding = -len(segment) % 4
    return b"" if padding == 3 else urlsafe_b64decode(segment + "=" * padding)
