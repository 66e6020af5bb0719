"""Introspection (RFC 7662): whether a token is active now, and what it permits.

`features.services.introspect` calls this module with a token that another service was sent.

A question does not count as use of the token: a service that polls neither keeps an idle session
alive nor makes an unused API key look used. One exception is written, once: the access token of a
refresh counts as presented, because the service has it from the client (see `refresh`).

Every token that is not active costs one SELECT, even a malformed one, so that the time of the
answer does not tell them apart. Microseconds still differ.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from wsgiauth.accounts.key_owners import owner_of_key
from wsgiauth.accounts.models import User
from wsgiauth.authentication.descriptions import (
    DescribedClaims,
    DescribedStrings,
    Description,
    Reader,
    described,
)
from wsgiauth.authentication.session_list import handle_of
from wsgiauth.authentication.sessions import Sessions
from wsgiauth.authentication.tokens import MAX_LENGTH, Claims, Tokens
from wsgiauth.features.services.service_tokens import ServiceTokens

INTROSPECT = "wsgiauth.introspect"

_CACHE_SIZE = 1024  # tokens of at most MAX_LENGTH

_SERVICE = Reader()
_NO_SESSION = Claims(0, "", 0)  # has no row


class Introspector:
    """Describes the tokens of a site that issues service tokens.

    Args:
        strings, claims: All parts of the site that describe further tokens.
    """

    def __init__(
        self,
        tokens: Tokens,
        sessions: Sessions,
        services: ServiceTokens,
        *,
        strings: Sequence[DescribedStrings],
        claims: Sequence[DescribedClaims],
    ) -> None:
        self._strings = strings
        self._claims = claims
        self._sessions = sessions
        self._tokens = tokens
        self._services = services
        # Caches False, too, so that the second answer about any inactive token takes equally long.
        self._is_signed = lru_cache(maxsize=_CACHE_SIZE)(self._check_signature)

    def describe(self, token: str, reader: Reader = _SERVICE) -> Description | None:
        """Return what the reader learns of an active token (RFC 7662 section 2.2), or None.

        Access tokens, service tokens, and the tokens that parts of the site describe can be active.
        A service token is active as long as the session or the key that it was made with. A session
        that lacks something is not active.

        `scope` lists the permissions that the token gives now. For the access token of a superuser,
        it lists the granted permissions.
        """
        found = self._describe(token, reader, int(self._tokens.now()))
        return None if found is None else reader.shown(found)

    def _describe(self, token: str, reader: Reader, now: int) -> Description | None:
        for strings in self._strings:
            if token.startswith(strings.prefix):
                return strings.describe(token, now, reader)
        if len(token) > MAX_LENGTH or not self._is_signed(token):
            token = ""
        signed = self._services.signed.verify(token, 0) or {}
        if not reader.can_ask_about(signed):
            token, signed = "", {}
        for each in self._claims:
            if each.claim in signed:
                return each.describe_claims(signed, now)
        claims = self._services.verify(token, now)
        if claims is not None:
            return self._describe_service_token(claims, now)
        return self._describe_access_token(token, now)

    def _check_signature(self, token: str) -> bool:
        """Return whether a key of the site has signed a token, which can have expired."""
        return bool(self._services.signed.verify(token, 0) or self._tokens.all_claims(token))

    def _describe_access_token(self, token: str, now: int) -> Description | None:
        claims = self._tokens.verify(token, now) or _NO_SESSION
        user = self._sessions.find_asked(claims, now)
        if user is None:
            return None
        times = {"iat": claims.issued_at, "exp": claims.expires_at}
        return described(user, user.permissions, {**self._tokens.registered, **times})

    def _describe_service_token(self, claims: Mapping[str, Any], now: int) -> Description | None:
        find = self._user_of_session if "auth_time" in claims else _user_of_key
        user = find(claims, now)
        if user is None:
            return None
        asked = frozenset(claims["scope"].split())
        return described(user, asked if user.is_superuser else asked & user.permissions, claims)

    def _user_of_session(self, claims: Mapping[str, Any], now: int) -> User | None:
        """Return the user of the session that a service token was made with, if it is valid."""
        proven = self._sessions.find_proven_at(int(claims["sub"]), claims["auth_time"], now)
        return next((user for user, each in proven if handle_of(each) == claims["sid"]), None)


def _user_of_key(claims: Mapping[str, Any], now: int) -> User | None:
    """Return the owner of the key that a service token was made with."""
    owner = owner_of_key(claims["sid"], now)
    return None if owner is None else owner.user
