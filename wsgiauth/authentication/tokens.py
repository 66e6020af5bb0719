"""Access tokens: JWTs that name a session, which `sessions` then looks up in the database."""

import json
import re
import string
import time
from binascii import a2b_base64
from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session
from wsgiauth.authentication.claims import AddedClaims, ClaimsFunction, FeatureClaim, refused
from wsgiauth.settings import Settings
from wsgiauth.web.cookies import shared_prefix

TYPE = "at+jwt"  # RFC 9068 section 2.1
MAX_LENGTH = 4096  # characters
CACHE_SIZE = 16_384  # tokens; each takes about 600 bytes with its claims

# Checked before decoding, which ignores other characters, and padding, which RFC 7515 section 2
# forbids.
_ALPHABET = f"{string.ascii_letters}{string.digits}-_".encode()
SESSION_ID_LENGTH = 22  # characters
_MAX_USER_ID = 2**63 - 1  # the largest that a database can have
_SESSION_ID = re.compile(r"[A-Za-z0-9_-]{1,43}")  # no other value reaches a query
_GENERATION = "wsgiauth_generation"  # the claim with the number of a pair of tokens
_MAX_GENERATION = 10**9 - 1  # see `refresh`
# Characters of that claim in a token. Base64 makes four characters of three bytes.
_GENERATION_LENGTH = -(-len(f',"{_GENERATION}":{_MAX_GENERATION}') // 3) * 4

_TO_BASE64 = bytes.maketrans(b"-_", b"+/")
_JSON = json.JSONDecoder()


class Claims(NamedTuple):
    """The claims of a verified token; times are in seconds since the epoch."""

    user_id: int  # `sub`
    session_id: str  # `jti`
    expires_at: int  # `exp`
    not_before: int = 0  # `nbf`
    issued_at: int = 0  # `iat`
    generation: int = 0  # of the refresh token issued with it; 0: none, or an earlier version


class IssuedTokens(NamedTuple):
    """The tokens of a session, as its client gets them."""

    session_id: str
    token: str  # the access token
    expires_in: int  # the seconds until it expires
    generation: int  # of the refresh token; 0: there is none
    ends_at: int  # when the session ends, also if it is used; in seconds since the epoch

    def __repr__(self) -> str:
        return f"<Tokens of a session until {self.ends_at}>"  # the token and the id are secret


class _InvalidTokenError(Exception):
    """Raised rather than returned, because the cache stores returned values."""


class Tokens:
    """Issues and verifies access tokens (RFC 7519, RFC 9068) under one algorithm.

    SECRET_KEY signs; it and SECRET_KEY_FALLBACKS verify. The header's `kid` names the key for
    other services. It is ignored here, because a header must not choose the key (RFC 8725
    section 3.1). `registered` has the claims `iss` and `aud`, if the site has them.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        claims: ClaimsFunction | None = None,
        of_features: Mapping[str, FeatureClaim] = MappingProxyType({}),
        clock: Callable[[], float] = time.time,
    ) -> None:
        # Commands that issue no token start in less time.
        from wsgiauth.authentication.signatures import Signatures

        self.lifetime: int = settings.JWT_EXPIRY_MINUTES * 60  # seconds
        self.now = clock
        self._algorithm = settings.JWT_ALGORITHM
        self._signatures = Signatures(settings, TYPE)
        self.registered: dict[str, str] = {
            name: value
            for name, value in (("iss", settings.JWT_ISSUER), ("aud", settings.JWT_AUDIENCE))
            if value is not None
        }
        self._issuer, self._audience = settings.JWT_ISSUER, settings.JWT_AUDIENCE
        is_adding = claims is not None or of_features
        self._added = AddedClaims(claims, of_features) if is_adding else None
        # Chromium silently drops a cookie whose name and value have more than 4,096 bytes. Only a
        # token without a cookie can have a number.
        cookie_length = len(f"{shared_prefix(settings.COOKIE_DOMAIN)}{settings.COOKIE_NAME}=")
        self._max_issued = MAX_LENGTH - max(cookie_length, _GENERATION_LENGTH)
        # The signature and the claims of a token never change. The time and the session's row do,
        # so they are checked on every request.
        self._claims_of = lru_cache(maxsize=CACHE_SIZE)(self._decode)
        # Called for signed tokens only, so there are no more headers than keys.
        self._is_ours = lru_cache(maxsize=16)(self._check_header)

    def claims_for(self, user: User) -> Mapping[str, object]:
        """Return the claims of the application and of features for the next token of `user`.

        Call this outside transactions, because their functions can be slow, and before a change
        that depends on the token.

        Raises:
            ClaimsError: A function failed, or the token would be too long.
        """
        if self._added is None:
            return {}
        claims = self._added.of(user)
        # All ids of sessions have the same length, as have all times until the year 2286.
        length = len(self.issue(user.id, "0" * SESSION_ID_LENGTH, int(self.now()), claims))
        if length > self._max_issued:
            limit = f"at most {self._max_issued} can be stored"
            raise refused(user, f"the token has {length} characters; {limit}")
        return claims

    def issue_for(self, session: Session, claims: Mapping[str, object]) -> IssuedTokens:
        """Issue the access token of a session, with `claims` from `claims_for`."""
        now, generation = int(self.now()), session.generation
        expires_at: int = session.ends_at
        if generation:  # only a refresh moves the end of the session, so its tokens expire before
            expires_at = min(now + self.lifetime, session.expires_at)
        token = self.issue(session.user_id, session.id, expires_at, claims, generation)
        return IssuedTokens(session.id, token, expires_at - now, generation, session.ends_at)

    def issue(
        self,
        user_id: int,
        session_id: str,
        expires_at: int,
        claims: Mapping[str, object] = MappingProxyType({}),
        generation: int = 0,
    ) -> str:
        """Return a signed token; the id of the session is random and was never used before."""
        payload = {
            **claims,
            "sub": str(user_id),
            "jti": session_id,
            "iat": int(self.now()),
            "exp": expires_at,
            **({_GENERATION: generation} if generation else {}),
            **self.registered,
        }
        return self._signatures.sign(json.dumps(payload, separators=(",", ":")).encode())

    def verify(self, token: str, now: float) -> Claims | None:
        """Return the claims of a token, or None if none of our keys signed it or it is not valid.

        A token is valid from its `nbf`, if it has one, until its `exp` (RFC 7519 section 4.1).
        Not checked here: whether its session has been revoked.
        """
        try:
            claims = self._claims_of(token)
        except _InvalidTokenError:
            return None
        return claims if claims.not_before <= now < claims.expires_at else None

    def all_claims(self, token: str) -> dict[str, Any]:
        """Return all claims of a token, decoded anew; an empty dictionary if it is not ours."""
        try:
            self._claims_of(token)
        except _InvalidTokenError:
            return {}
        claims: dict[str, Any] = _parsed(token.split(".")[1].encode())
        return claims

    def _decode(self, token: str) -> Claims:
        """Return the claims of a signed token.

        PyJWT would decode the token before it verifies the signature.
        """
        if len(token) > MAX_LENGTH:
            raise _InvalidTokenError
        try:
            written = token.encode()
            signed, _, signature = written.rpartition(b".")
            header, _, payload = signed.partition(b".")
            if (
                written.translate(None, _ALPHABET) == b".."
                and self._signatures.is_valid(signed, _decoded(signature))
                and self._is_ours(header)
            ):
                return self._checked(_parsed(payload))
        except (ValueError, RecursionError):  # not UTF-8, base64 or JSON
            raise _InvalidTokenError from None
        raise _InvalidTokenError

    def _check_header(self, segment: bytes) -> bool:
        header = _parsed(segment)
        return (
            isinstance(header, dict)
            and header.get("alg") == self._algorithm
            and header.get("typ") == TYPE
            and "crit" not in header
        )

    def _checked(self, payload: Any) -> Claims:
        if not isinstance(payload, dict):
            raise _InvalidTokenError
        get = payload.get
        subject, session_id, issued_at, expires_at = get("sub"), get("jti"), get("iat"), get("exp")
        not_before, generation = get("nbf", 0), get(_GENERATION, 0)
        if (
            type(issued_at) is int  # neither a bool nor a float
            and type(expires_at) is int
            and type(not_before) is int
            and type(generation) is int
            and 0 <= generation <= _MAX_GENERATION
            and type(subject) is str
            and 0 < (user_id := int(subject)) <= _MAX_USER_ID
            and str(user_id) == subject
            and type(session_id) is str
            and _SESSION_ID.fullmatch(session_id)
            and get("iss") == self._issuer
            and get("aud") == self._audience
        ):
            return Claims(user_id, session_id, expires_at, not_before, issued_at, generation)
        raise _InvalidTokenError


def _parsed(segment: bytes) -> Any:
    # `json.loads` would take longer, because it matches this whitespace by regular expressions.
    text = _decoded(segment).decode().strip(" \t\n\r")
    parsed, end = _JSON.raw_decode(text)
    if end != len(text):
        raise _InvalidTokenError
    return parsed


def _decoded(segment: bytes) -> bytes:
    # Padding that is not needed is ignored.
    return a2b_base64(segment.translate(_TO_BASE64) + b"==")
