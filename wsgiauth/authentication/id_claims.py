"""The application's own claims about users, for apps: `AuthMiddleware(app, id_claims=function)`.

They are in ID tokens and at /auth/userinfo. What this site says itself, they never replace.
"""

import json
import logging
from collections.abc import Callable, Mapping
from typing import NamedTuple

from wsgiauth.accounts.models import User
from wsgiauth.authentication.claims import is_json
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
_OUR_PREFIX = "wsgiauth"  # for claims of later versions

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
    """The claims that the application adds."""

    function: IdClaimsFunction | None = None

    def of(self, user: User, client: OAuthClient, scopes: frozenset[str]) -> dict[str, object]:
        """Return a copy of what the application's function returns, without claims of this site.

        The caller has no transaction.

        Args:
            scopes: What the app gets.

        Raises:
            ApplicationError: The function failed, or returned something else than None or a mapping
                of JSON, or more than `MAX_ID_CLAIMS`. The error is logged.
        """
        if self.function is None:
            return {}
        with application_code("id_claims"):
            returned = self.function(user, client, scopes)
            claims = _copied({} if returned is None else returned)
        ours = {each for each in claims if each in OF_THIS_SITE or each.startswith(_OUR_PREFIX)}
        if ours:
            logger.warning("id_claims: only this site sets %s", ", ".join(sorted(ours)))
        return {name: each for name, each in claims.items() if name not in ours}


def _copied(returned: object) -> dict[str, object]:
    if not isinstance(returned, Mapping):
        raise TypeError(f"it returned {type(returned).__name__}, not a mapping")
    claims = dict(returned)
    if not is_json(claims):
        raise TypeError("it returned values that are not JSON, or are nested too deep")
    written = json.dumps(claims, separators=(",", ":"))
    if len(written) > MAX_ID_CLAIMS:
        raise ValueError(f"it returned {len(written)} characters of JSON, not {MAX_ID_CLAIMS}")
    json.dumps(claims, ensure_ascii=False).encode()  # which refuses unpaired surrogates
    copy: dict[str, object] = json.loads(written)
    return copy
