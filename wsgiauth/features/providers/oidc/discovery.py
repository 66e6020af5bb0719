"""Reads the discovery document of a provider (OpenID Connect Discovery 1.0).

Endpoints are taken only from the document of exactly the configured issuer.
"""

import re
from typing import NamedTuple
from urllib.parse import urljoin, urlsplit

from wsgiauth.features.providers.oidc.documents import Document, optional, strings
from wsgiauth.settings.oidc import LOCAL_HOSTS

# RFC 8725 section 3.1: only asymmetric algorithms. `none` and HMAC are never accepted.
ALGORITHMS = frozenset(
    [f"{family}{bits}" for family in ("RS", "PS", "ES") for bits in (256, 384, 512)]
    + ["EdDSA", "Ed25519"]  # two names of one algorithm, the second by RFC 9864
)
MAX_URL = 2048  # characters

# Without a user name, a fragment or unprintable characters.
_URL = re.compile(
    r"https?://([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[!-\"$-~]*)?(\?[!-\"$-~]*)?"
)


class Metadata(NamedTuple):
    """The members of a discovery document that this site uses."""

    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    userinfo_endpoint: str  # or empty
    end_session_endpoint: str  # or empty
    algorithms: frozenset[str]
    userinfo_algorithms: frozenset[str]  # of signed answers of the userinfo endpoint
    sends_secret_in_form: bool  # client_secret_post
    announces_issuer: bool  # RFC 9207 section 3: responses have `iss`


class DiscoveryError(Exception):
    """A discovery document cannot be used; the message names the wrong member."""


def document_url(issuer: str) -> str:
    """Return the URL of an issuer's document (section 4.1)."""
    return issuer.rstrip("/") + "/.well-known/openid-configuration"


def moved_url(url: str, location: str) -> str | None:
    """Return the URL of a redirect from `url`, or None if it leads to another origin."""
    try:
        moved = urljoin(url, location)
        is_same = _URL.fullmatch(moved) is not None and _origin(moved) == _origin(url)
    except ValueError:
        return None
    return moved if is_same and location and len(moved) <= MAX_URL else None


def _origin(url: str) -> tuple[str, str | None, int]:
    """Return the scheme, the host and the port (RFC 6454 section 4)."""
    parts = urlsplit(url)
    return parts.scheme, parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)


def read_metadata(document: Document, issuer: str) -> Metadata:
    """Return the metadata in a document, or raise DiscoveryError."""
    if document.get("issuer") != issuer:
        raise DiscoveryError("issuer")
    is_local = issuer.startswith("http:")
    algorithms = _algorithms(document)
    of_userinfo = strings(document.get("userinfo_signing_alg_values_supported"))
    return Metadata(
        _endpoint(document, "authorization_endpoint", is_local),
        _endpoint(document, "token_endpoint", is_local),
        _endpoint(document, "jwks_uri", is_local),
        _endpoint(document, "userinfo_endpoint", is_local, is_optional=True),
        _endpoint(document, "end_session_endpoint", is_local, is_optional=True),
        algorithms,
        algorithms | ALGORITHMS.intersection(of_userinfo),
        _sends_secret_in_form(document),
        document.get("authorization_response_iss_parameter_supported") is True,
    )


def _endpoint(document: Document, name: str, is_local: bool, *, is_optional: bool = False) -> str:
    if is_optional and optional(document, name) is None:
        return ""
    url = document.get(name)
    if not isinstance(url, str) or len(url) > MAX_URL or not _URL.fullmatch(url):
        raise DiscoveryError(name)
    try:
        parts = urlsplit(url)
        is_safe = parts.scheme == "https" or (is_local and parts.hostname in LOCAL_HOSTS)
        is_usable = is_safe and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise DiscoveryError(name)
    return url


def _algorithms(document: Document) -> frozenset[str]:
    name = "id_token_signing_alg_values_supported"
    if optional(document, name) is None:
        return frozenset({"RS256"})  # every provider has it (section 3)
    found = ALGORITHMS.intersection(strings(document[name]))
    if not found:
        raise DiscoveryError(name)
    return found


def _sends_secret_in_form(document: Document) -> bool:
    name = "token_endpoint_auth_methods_supported"
    if optional(document, name) is None:
        return False  # client_secret_basic is the default (section 3)
    methods = strings(document[name])
    if "client_secret_basic" in methods:
        return False
    if "client_secret_post" not in methods:
        raise DiscoveryError(name)
    return True
