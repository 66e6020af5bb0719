"""Introspection (RFC 7662): whether a token of a user is active now, and what it permits.

On the way of a request, `features.services.introspect` calls this module with what another service
was sent. Each answer follows from the database of that moment, as for a request with the token
itself.

The service's question is not a use of the token: a service that polls neither keeps an idle session
alive nor makes an unused API key look used. Only that the access token of a refresh has been
presented is written, once, because the service has it from the client: see `refresh`.

A service token is as active as the session or the key that it was made with, and its scope shrinks
with the permissions of the user.

What is not active costs one SELECT, also if its form or signature already rules it out, and gets
the same answer. Microseconds still differ, for example those of a signature that is verified first.
"""

import hmac
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import peewee

from wsgiauth.accounts.callers import CALLER, from_row
from wsgiauth.accounts.groups import limit
from wsgiauth.accounts.models import IS_VALID_SESSION, User
from wsgiauth.accounts.tables import Key, Session
from wsgiauth.authentication import sessions
from wsgiauth.authentication.one_time import digest
from wsgiauth.authentication.second_factors import meets_demand
from wsgiauth.authentication.session_list import handle_of
from wsgiauth.authentication.tokens import MAX_LENGTH, Claims, Tokens
from wsgiauth.features.keys.api_keys import PREFIX, id_of
from wsgiauth.features.services.service_tokens import ServiceTokens
from wsgiauth.settings import Settings
from wsgiauth.storage import Statement

INTROSPECT = "wsgiauth.introspect"

_CACHE_SIZE = 1024  # tokens of at most MAX_LENGTH

_FROM_TOKEN = ("iss", "aud", "client_id", "iat", "exp")

_NO_SESSION = Claims(0, "", 0)  # of which there is no row

# As those of `sessions.find` and `keys.find`, without what says whether use is to be written.
_SESSION = Statement(
    lambda: (
        User.select(
            *CALLER,
            Session.methods,
            peewee.Case(None, sessions.uses(0)),
        )
        .join(Session, on=(Session.user == User.id))
        .where(Session.id == "", Session.user == 0, Session.expires_at > 0, IS_VALID_SESSION)
    )
)
# The sessions of a user whose last proof was at one moment, which is one in practice. A new proof
# also changes the id, and so the handle.
_SESSIONS_PROVEN_AT = Statement(
    lambda: (
        User.select(*CALLER, Session.methods, Session.id)
        .join(Session, on=(Session.user == User.id))
        .where(
            Session.user == 0,
            Session.authenticated_at == 0,
            Session.expires_at > 0,
            IS_VALID_SESSION,
        )
    )
)
_KEY = Statement(
    lambda: (
        User.select(*CALLER, User.id, Key.permissions, Key.digest, Key.created_at, Key.expires_at)
        .join(Key, on=(Key.user == User.id))
        .where(Key.id == "", Key.expires_at > 0, User.is_active)
    )
)
_METHODS, _ID = len(CALLER), len(CALLER) + 1
_USE = len(CALLER) + 1
_OF_KEY = slice(len(CALLER), None)


class Introspector:
    """Describes the tokens of a site with tokens for other services."""

    def __init__(self, settings: Settings, tokens: Tokens, services: ServiceTokens) -> None:
        self._settings = settings
        self._tokens = tokens
        self._services = services
        # Also of tokens that are not: asked again, all that is not active takes the same time.
        self._is_signed = lru_cache(maxsize=_CACHE_SIZE)(self._check_signature)

    def describe(self, token: str) -> dict[str, object] | None:
        """Return what RFC 7662 section 2.2 says about an active token, or None.

        Access tokens, service tokens and API keys can be active. Where the site demands a second
        factor, a session without one is not active, nor is what was made with it.

        `scope` has the permissions that the token gives now: those of the user, of the key, or of
        the service token. Of a superuser's access token, it has those that are granted.
        """
        now = int(self._tokens.now())
        if token.startswith(PREFIX):
            return self._describe_key(token, now)
        if len(token) > MAX_LENGTH or not self._is_signed(token):
            token = ""
        claims = self._services.verify(token, now)
        if claims is not None:
            return self._describe_service_token(claims, now)
        return self._describe_access_token(token, now)

    def _check_signature(self, token: str) -> bool:
        """Return whether a key of the site has signed a token, which can have expired."""
        return bool(self._services.verify(token, 0) or self._tokens.all_claims(token))

    def _describe_key(self, text: str, now: int) -> dict[str, object] | None:
        row = _KEY.fetchone(id_of(text) or "", now)
        if row is None:
            return None
        user, stored, created_at, expires_at = _key_of(row)
        if not hmac.compare_digest(stored, digest(text)):
            return None
        return _document(user, user.permissions, {"iat": created_at, "exp": expires_at})

    def _describe_access_token(self, token: str, now: int) -> dict[str, object] | None:
        claims = self._tokens.verify(token, now) or _NO_SESSION
        named = claims.session_id, claims.user_id
        row = _SESSION.fetchone(*[claims.generation] * sessions.USES, *named, now)
        if row is None or not sessions.accept(row[_USE], claims, now):
            return None
        user = self._admitted(claims.user_id, row)
        if user is None:
            return None
        times = {"iat": claims.issued_at, "exp": claims.expires_at}
        return _document(user, user.permissions, {**self._tokens.registered, **times})

    def _describe_service_token(
        self, claims: Mapping[str, Any], now: int
    ) -> dict[str, object] | None:
        find = self._user_of_session if "auth_time" in claims else _user_of_key
        user = find(claims, now)
        if user is None:
            return None
        asked = frozenset(claims["scope"].split())
        return _document(user, asked if user.is_superuser else asked & user.permissions, claims)

    def _user_of_session(self, claims: Mapping[str, Any], now: int) -> User | None:
        """Return the user of the session with which a service token was made, if it is valid."""
        user_id = int(claims["sub"])
        for row in _SESSIONS_PROVEN_AT.fetchall(user_id, claims["auth_time"], now):
            if handle_of(row[_ID]) == claims["sid"]:
                return self._admitted(user_id, row)
        return None

    def _admitted(self, user_id: int, row: tuple[Any, ...]) -> User | None:
        user = from_row(user_id, row)
        return user if meets_demand(user, row[_METHODS], self._settings) else None


def _user_of_key(claims: Mapping[str, Any], now: int) -> User | None:
    """Return the owner, limited to it, of the key with which a service token was made."""
    row = _KEY.fetchone(claims["sid"], now)
    return None if row is None else _key_of(row)[0]


def _key_of(row: tuple[Any, ...]) -> tuple[User, str, int, int]:
    """Return the owner of a key, limited to its permissions, its digest and its two times."""
    user_id, permissions, stored, created_at, expires_at = row[_OF_KEY]
    user = from_row(user_id, row)
    limit(user, frozenset(permissions.split()))
    return user, stored, created_at, expires_at


def _document(user: User, scope: Iterable[str], claims: Mapping[str, object]) -> dict[str, object]:
    return {
        "active": True,
        "sub": str(user.id),
        "username": user.username,
        "scope": " ".join(sorted(scope)),
        "token_type": "bearer",
        **{name: claims[name] for name in _FROM_TOKEN if name in claims},
    }
