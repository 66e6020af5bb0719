"""The application's own claims in access tokens: `AuthMiddleware(app, claims=function)`.

wsgiauth carries and returns them, and decides nothing by them.
"""

import json
import logging
import math
from collections.abc import Callable, Mapping

from wsgiauth.accounts.models import User
from wsgiauth.events import actors
from wsgiauth.exceptions import ClaimsError

ClaimsFunction = Callable[[User], Mapping[str, object]]

logger = logging.getLogger("wsgiauth")

# RFC 7519 section 4.1; RFC 9068 sections 2.2 and 7.2; and `sid`, which names a session.
RESERVED = frozenset(
    [
        *("iss", "sub", "aud", "exp", "nbf", "iat", "jti"),
        *("client_id", "auth_time", "acr", "amr", "scope", "roles", "groups", "entitlements"),
        "sid",
    ]
)
_OUR_PREFIX = "wsgiauth"  # for claims of later versions

MAX_DEPTH = 16  # objects and arrays inside each other; Python's JSON parser cannot read any depth
_MAX_BITS = 4096  # of an integer; Python refuses to write much longer ones


def application_claims(function: ClaimsFunction, user: User) -> dict[str, object]:
    """Return the claims that the application's function returns for `user`.

    The actor of the function's changes is the application's code, not the user.

    Raises:
        ClaimsError: The function failed, or a token cannot have its claims. The error is logged.
    """
    try:
        with actors.acting(actors.CODE):
            returned = function(user)
            if isinstance(returned, Mapping):
                claims = dict(returned)
                problem = _problem(claims)
                if problem is None:  # a copy, because others can change the original
                    claims = json.loads(json.dumps(claims))
            else:
                problem = f"it returned {type(returned).__name__}, not a mapping"
    except Exception as error:
        raise refused(user, f"it raised {type(error).__name__}", error) from error
    if problem is not None:
        raise refused(user, problem)
    return claims


def refused(user: User, problem: str, cause: Exception | None = None) -> ClaimsError:
    """Log why a user gets no token, and return the exception."""
    error = ClaimsError(f"no token for user {user.id}: the function of `claims`: {problem}")
    logger.error("%s", error, exc_info=cause)
    return error


def _problem(claims: dict[str, object]) -> str | None:
    """Return why a token cannot have these claims, or None."""
    for name, value in claims.items():
        if not isinstance(name, str):
            return f"the name {name!r} is not a string"
        if name in RESERVED or name.startswith(_OUR_PREFIX):
            return f"the name {name!r} is reserved"
        if not is_json(value, MAX_DEPTH - 1):
            return f"{name!r} is not JSON, or is nested more than {MAX_DEPTH} deep"
    return None


def is_json(value: object, depth: int = MAX_DEPTH) -> bool:
    """Return whether a value is JSON (RFC 8259) of at most `depth` levels, and has no cycle."""
    if isinstance(value, dict):
        return depth > 0 and all(
            isinstance(key, str) and is_json(each, depth - 1) for key, each in value.items()
        )
    if isinstance(value, list | tuple):
        return depth > 0 and all(is_json(each, depth - 1) for each in value)
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):  # also a bool
        return value.bit_length() <= _MAX_BITS
    return value is None or isinstance(value, str)
