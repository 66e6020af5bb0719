"""Claims about users that the application and features add, for apps.

They are those of `AuthMiddleware(app, id_claims=function)` and of `Feature.id_claims`, in ID tokens
and at /auth/userinfo. What this site says itself, they never replace.
"""

import json
import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from wsgiauth.accounts.models import User
from wsgiauth.authentication.claims import (
    OUR_PREFIX,
    FeatureClaim,
    feature_claims,
    is_json,
)
from wsgiauth.events.actors import application_code

MAX_ID_CLAIMS = 8192  # characters of JSON, as a token has it

# Of ID tokens (OpenID Connect Core 1.0, sections 2, 3.3.2.11 and 5.1), of access tokens and of
# logout tokens, and the claims of this site's scopes, also if the app has not the scope.
OF_THIS_SITE = frozenset(
    [
        *("iss", "sub", "aud", "exp", "nbf", "iat", "jti", "auth_time", "nonce", "acr", "amr"),
        *("azp", "at_hash", "c_hash", "s_hash", "sid", "events", "client_id", "scope"),
        *("email", "email_verified", "preferred_username", "groups", "locale"),
    ]
)
logger = logging.getLogger("wsgiauth")


class OAuthClient(NamedTuple):
    """An app with which users log in by their account here.

    Attributes:
        id: Its `client_id`.
        name: For people; one that registered itself has chosen it.
    """

    id: str
    name: str


IdClaimsFunction = Callable[[User, OAuthClient, frozenset[str]], Mapping[str, object] | None]


class IdClaims(NamedTuple):
    """The claims that the application and features add."""

    function: IdClaimsFunction | None = None
    of_features: Mapping[str, FeatureClaim] = MappingProxyType({})

    def of(self, user: User, client: OAuthClient, scopes: frozenset[str]) -> dict[str, object]:
        """Return copies of what the functions return.

        What the application's function returns under the name of a claim of this site, or of a
        feature, is left out. The caller has no transaction.

        Args:
            scopes: What the app gets.

        Raises:
            ApplicationError: A function failed, or returned something else than it must, or more
                than `MAX_ID_CLAIMS`. The error is logged.
        """
        if self.function is None and not self.of_features:
            return {}
        found = feature_claims(self.of_features, user, client, scopes)
        with application_code("id_claims"):
            own = _checked(self.function and self.function(user, client, scopes))
            theirs = {
                each
                for each in own
                if each in OF_THIS_SITE or each in self.of_features or each.startswith(OUR_PREFIX)
            }
            claims = _copied({name: own[name] for name in own if name not in theirs} | found)
        if theirs:
            logger.warning("id_claims: only this site sets %s", ", ".join(sorted(theirs)))
        return claims


def _checked(returned: object) -> dict[str, object]:
    if returned is None:
        return {}
    if not isinstance(returned, Mapping):
        raise TypeError(f"it returned {type(returned).__name__}, not a mapping")
    claims = dict(returned)
    if not is_json(claims):
        raise TypeError("it returned values that are not JSON, or are nested too deep")
    return claims


def _copied(claims: dict[str, object]) -> dict[str, object]:
    written = json.dumps(claims, separators=(",", ":"))
    if len(written) > MAX_ID_CLAIMS:
        raise ValueError(f"there are {len(written)} characters of JSON, not {MAX_ID_CLAIMS}")
    json.dumps(claims, ensure_ascii=False).encode()  # which refuses unpaired surrogates
    copy: dict[str, object] = json.loads(written)
    return copy
