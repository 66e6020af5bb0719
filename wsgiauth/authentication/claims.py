"""Claims that the application and features add to tokens, and their checks.

Those in access tokens are of `AuthMiddleware(app, claims=function)` and of `Feature.claims`.
wsgiauth carries and returns them, and decides nothing by them.
"""

import json
import logging
import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

from wsgiauth.accounts.models import User
from wsgiauth.events import actors
from wsgiauth.exceptions import ApplicationError, ClaimsError

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
OUR_PREFIX = "wsgiauth"  # for claims of later versions

MAX_DEPTH = 16  # objects and arrays inside each other; Python's JSON parser cannot read any depth
_MAX_BITS = 4096  # of an integer; Python refuses to write much longer ones


class FeatureClaim(NamedTuple):
    """What returns the value of a claim: JSON, or None to leave it out."""

    feature: str  # its name
    function: Callable[..., object]


def feature_claims(claims: Mapping[str, FeatureClaim], *arguments: object) -> dict[str, object]:
    """Return copies of the values of claims of features, by name.

    The actor of the changes of a function is the application's code, not the user.

    Args:
        claims: By name.
        arguments: Those of the functions.

    Raises:
        ApplicationError: A function failed, or returned something else. The error is logged.
    """
    found: dict[str, object] = {}
    for name, (feature, function) in claims.items():
        with actors.application_code(f"the claim {name} of {feature}"):
            value = function(*arguments)
            if not is_json(value, MAX_DEPTH - 1):
                raise TypeError(f"it is not JSON, or is nested more than {MAX_DEPTH} deep")
            if value is not None:  # a copy, because others can change the original
                found[name] = json.loads(json.dumps(value))
    return found


class AddedClaims(NamedTuple):
    """The claims that the application and features add to access tokens."""

    function: ClaimsFunction | None
    of_features: Mapping[str, FeatureClaim]

    def of(self, user: User) -> dict[str, object]:
        """Return the claims for `user`.

        Raises:
            ClaimsError: A function failed, or a token cannot have its claims. The error is logged.
        """
        try:
            claims = feature_claims(self.of_features, user)
        except ApplicationError as error:
            raise ClaimsError(f"no token for user {user.id}: {error}") from error
        if self.function is None:
            return claims
        return claims | application_claims(self.function, user, self.of_features)


def application_claims(
    function: ClaimsFunction, user: User, of_features: Mapping[str, FeatureClaim]
) -> dict[str, object]:
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
                problem = _problem(claims, of_features)
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


def _problem(claims: dict[str, object], of_features: Mapping[str, FeatureClaim]) -> str | None:
    """Return why a token cannot have these claims, or None."""
    for name, value in claims.items():
        if not isinstance(name, str):
            return f"the name {name!r} is not a string"
        if name in RESERVED or name.startswith(OUR_PREFIX):
            return f"the name {name!r} is reserved"
        if name in of_features:
            return f"the name {name!r} is of the feature {of_features[name].feature}"
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
