"""Makes a provider account of claims: bounded, printable values."""

import re
from collections.abc import Iterator

from wsgiauth.accounts import names
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.oidc.documents import Document, optional, strings
from wsgiauth.features.providers.oidc.signed_tokens import is_subject, number
from wsgiauth.settings.oidc import ProviderEntry

MAX_NAME = 100  # characters
MAX_EMAIL = 254  # characters
MAX_GROUPS = 1000  # which one SELECT looks up

_KNOWLEDGE = {"pwd", "pin", "kba"}  # RFC 8176 section 2
_POSSESSION = {"hwk", "otp", "sc", "swk"}
_MULTI_FACTOR = {
    "http://schemas.openid.net/pape/policies/2007/06/multi-factor",
    "https://refeds.org/profile/mfa",
}


def merge(claims: Document, userinfo: Document) -> Document:
    """Return the claims of an ID token, and other claims of the userinfo endpoint.

    The address and `email_verified` come from one source. The claims about the login come from the
    ID token alone.
    """
    own = {"iss", "aud", "sid", "auth_time", "amr", "acr"}
    other = {name: each for name, each in userinfo.items() if name not in own}
    said = [name for name in claims if name != "email_verified"]
    first = {name: claims[name] for name in said if optional(claims, name) is not None}
    return {**other, **first}


def make_account(
    entry: ProviderEntry, claims: Document, asked_at: int, of_groups: Document | None = None
) -> ProviderAccount:
    """Return the account of verified claims.

    Args:
        asked_at: In seconds since the epoch.
        of_groups: The claims that name groups, if they are others.
    """
    email = _printable(claims, "email", MAX_EMAIL)
    preferred = _printable(claims, "preferred_username", MAX_NAME)
    subject = str(claims["sub"])
    authenticated_at = number(claims, "auth_time")
    shown = (email or preferred or _printable(claims, "name", MAX_EMAIL) or subject).strip()
    return ProviderAccount(
        provider=entry.name,
        issuer=entry.issuer,
        subject=subject,
        name=shown if len(shown) <= MAX_NAME else f"{shown[: MAX_NAME - 1]}…",
        email=email,
        email_verified=email != "" and claims.get("email_verified") is True,
        username=preferred or _printable(claims, "nickname", MAX_NAME),
        groups=_groups(entry, claims if of_groups is None else of_groups),
        methods="fed mfa" if _has_trusted_factor(entry, claims) else "fed",
        sid=str(claims["sid"]) if is_subject(claims.get("sid")) else "",
        authenticated_at=None if authenticated_at is None else int(authenticated_at),
        asked_at=asked_at,
    )


def _printable(claims: Document, name: str, longest: int) -> str:
    value = claims.get(name)
    if not isinstance(value, str) or len(value) > longest or not value.isprintable():
        return ""
    return value if value.strip() else ""


def has_left_out_groups(entry: ProviderEntry, claims: Document) -> bool:
    """Return whether the provider says that a user has groups, but does not name the groups.

    Microsoft Entra does so for a user of more than 200 groups. `_claim_names` (OpenID Connect Core
    1.0, section 5.6.2) leads to another server, which this site does not ask.
    """
    elsewhere = claims.get("_claim_names")
    heads = [entry.groups, *(head for head, _ in _splits(entry.groups))]
    is_elsewhere = isinstance(elsewhere, dict) and any(each in elsewhere for each in heads)
    return bool(entry.groups) and is_elsewhere and not names_groups(entry, claims)


def names_groups(entry: ProviderEntry, claims: Document) -> bool:
    """Return whether the claims have the one that names groups."""
    return _at(claims, entry.groups) is not None


def _groups(entry: ProviderEntry, claims: Document) -> tuple[str, ...] | None:
    if not entry.groups:
        return ()
    if has_left_out_groups(entry, claims):
        return None
    value = _at(claims, entry.groups)
    found = re.split("[ ,]+", value) if isinstance(value, str) else strings(value)
    # A database refuses other characters, or ignores spaces at the end of a name.
    possible = [each for each in found if names.group_problem(each) is None]
    return tuple(dict.fromkeys(possible))[:MAX_GROUPS]


def _at(claims: Document, path: str) -> object:
    """Return the claim with this name, or else the value at this path; None without either.

    A name on the path can have dots itself, as in `https://example.org/claims.roles`.
    """
    found = optional(claims, path)
    for head, rest in _splits(path):
        inner = claims.get(head)
        if found is None and isinstance(inner, dict):
            found = _at(inner, rest)
    return found


def _splits(path: str) -> Iterator[tuple[str, str]]:
    """Yield both sides of each dot, the longest name first."""
    for dot in reversed([each.start() for each in re.finditer(r"\.", path)]):
        yield path[:dot], path[dot + 1 :]


def _has_trusted_factor(entry: ProviderEntry, claims: Document) -> bool:
    if entry.second_factor != "trusted":
        return False
    methods, context = set(strings(claims.get("amr"))), claims.get("acr")
    has_two = bool(methods & _KNOWLEDGE) and bool(methods & _POSSESSION)
    return "mfa" in methods or has_two or (isinstance(context, str) and context in _MULTI_FACTOR)
