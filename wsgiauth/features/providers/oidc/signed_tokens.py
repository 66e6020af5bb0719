"""Verifies the tokens that a provider signs: ID tokens, answers about a user, and logout tokens.

See OpenID Connect Core 1.0, sections 3.1.3.7 and 5.3.2, and OpenID Connect Back-Channel Logout 1.0,
sections 2.4 and 2.6. Each function raises TokenError for a token that it refuses, and ProviderError
if the provider's keys cannot be fetched.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Collection
from typing import NamedTuple

from wsgiauth.authentication.lifetimes import CLOCK_SKEW, MINUTE
from wsgiauth.features.providers.oidc.discovery import Metadata
from wsgiauth.features.providers.oidc.documents import (
    Document,
    decoded,
    encoded,
    optional,
    parse_document,
    strings,
)
from wsgiauth.features.providers.oidc.errands import CONFIRM, BegunErrand
from wsgiauth.features.providers.oidc.kept import Kept
from wsgiauth.features.providers.oidc.key_sets import KeySet, is_signed

MAX_AGE = 10 * MINUTE  # seconds since a token was issued
CLOCK = "clock"  # the reason: it is not the time of the token
AUTH_TIME = "auth_time"  # the reason: the token confirms nothing
EVENT = "http://schemas.openid.net/event/backchannel-logout"

_TOKEN = re.compile(r"(([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+))\.([A-Za-z0-9_-]+)")
_SUBJECT = re.compile(r"[!-~]([ -~]{0,253}[!-~])?")
_LATEST = 2.0**53  # every program can represent it


class TokenError(Exception):
    """A token is refused; the message is the reason, in fixed words."""


class SignedToken(NamedTuple):
    """A verified token; its `repr` hides the content."""

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
    """The sessions that end: of the subject, of the session at the provider, or of both."""

    jti: str  # counts once
    subject: str  # or empty
    sid: str  # or empty
    issuer: str


def verify_id_token(
    token: str, access_token: str, begun: BegunErrand, expected: Expected, now: float
) -> Document:
    """Return the claims of an ID token that answers this errand of this browser."""
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
    """Return the content of a logout token; the caller checks whether it was used before."""
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


def read_userinfo(body: bytes, expected: Expected, now: float) -> Document | None:
    """Return the claims of an answer of the userinfo endpoint, or None if it cannot be read.

    It is JSON or a signed token. The caller compares the `sub`.
    """
    document = parse_document(body)
    if document is not None:
        return document
    token = body.decode("ascii", errors="replace").strip()
    if _TOKEN.fullmatch(token) is None:
        return None
    claims = _verify_signature(
        token, expected, {"jwt"}, lambda metadata: metadata.userinfo_algorithms
    ).claims
    # It answers a request of this site, so both can be absent.
    if optional(claims, "iss") not in (None, expected.issuer):
        raise TokenError("iss")
    if optional(claims, "aud") is not None and expected.client_id not in _audiences_of(claims):
        raise TokenError("aud")
    _check_validity(claims, now)
    return claims


def verify(
    token: str, expected: Expected, types: Collection[str], now: float, *, needs_expiry: bool = True
) -> SignedToken:
    """Return a token that the provider has signed lately, for this site.

    Args:
        types: The values of `typ` that are accepted, in lower case.
        needs_expiry: Whether it must have `exp`; `iat` limits each token, too.
    """
    signed = _verify_signature(token, expected, types, lambda metadata: metadata.algorithms)
    _check_audience(signed.claims, expected)
    _check_times(signed.claims, now, needs_expiry=needs_expiry)
    return signed


def _verify_signature(
    token: str,
    expected: Expected,
    types: Collection[str],
    algorithms: Callable[[Metadata], Collection[str]],
) -> SignedToken:
    match = require_form(token)
    header, claims = parse_document(decoded(match[2])), parse_document(decoded(match[3]))
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


def require_form(token: str) -> re.Match[str]:
    """Return the parts of a token, if it has the form of one."""
    match = _TOKEN.fullmatch(token)
    if match is None:
        raise TokenError("form")
    return match


def is_subject(value: object) -> bool:
    """Return whether a value can be the `sub` of a user; every database can compare it."""
    return isinstance(value, str) and _SUBJECT.fullmatch(value) is not None


def number(claims: Document, name: str) -> float | None:
    """Return a time in a token (RFC 7519 section 2, NumericDate), or None for another value."""
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if abs(value) < _LATEST else None


def _audiences_of(claims: Document) -> list[str]:
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
    """Return the algorithm by which exactly one fitting key has signed a token."""
    algorithm, key_id = header.get("alg"), optional(header, "kid")
    if not isinstance(algorithm, str) or algorithm not in algorithms:
        raise TokenError("alg")
    if key_id is not None and not isinstance(key_id, str):
        raise TokenError("kid")
    fitting = keys.find(algorithm, key_id)
    if len(fitting) != 1:
        raise TokenError("several keys" if fitting else "unknown key")
    if not is_signed(algorithm, fitting[0], match[1].encode(), decoded(match[4])):
        raise TokenError("signature")
    return algorithm


def _check_audience(claims: Document, expected: Expected) -> None:
    if claims.get("iss") != expected.issuer:
        raise TokenError("iss")
    audience = claims.get("aud")
    if expected.client_id not in _audiences_of(claims):
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
    _check_validity(claims, now)


def _check_validity(claims: Document, now: float) -> None:
    """Check `exp` and `nbf`, if the claims have them."""
    expires_at, not_before = (
        now if optional(claims, name) is None else number(claims, name) for name in ("exp", "nbf")
    )
    if expires_at is None or not_before is None:
        raise TokenError("times")
    if not not_before - CLOCK_SKEW <= now < expires_at + CLOCK_SKEW:
        raise TokenError(CLOCK)


def _check_login(claims: Document, begun: BegunErrand, now: float) -> None:
    """Check when the user logged in; `iat` can be minutes later than the login."""
    authenticated_at = number(claims, "auth_time")
    if optional(claims, "auth_time") is not None and authenticated_at is None:
        raise TokenError("times")
    if authenticated_at is not None and authenticated_at > now + CLOCK_SKEW:
        raise TokenError(CLOCK)  # or the login would count as recent until then
    is_new = authenticated_at is not None and authenticated_at >= begun.begun_at - CLOCK_SKEW
    if begun.errand.purpose == CONFIRM and not is_new:
        raise TokenError(AUTH_TIME)


def _half(access_token: str, algorithm: str) -> str:
    """Return the `at_hash` of an access token (section 3.1.3.6); Ed25519 uses SHA-512."""
    bits = "512" if algorithm.startswith("Ed") else algorithm[2:]
    digest = hashlib.new(f"sha{bits}", access_token.encode()).digest()
    return encoded(digest[: len(digest) // 2])


def _is_same(sent: str, ours: str) -> bool:
    return secrets.compare_digest(sent.encode(errors="replace"), ours.encode())
