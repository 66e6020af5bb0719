"""Which URLs can be the `client_id` of an unregistered app.

draft-ietf-oauth-client-id-metadata-document, section 3, and stricter: a URL has one spelling, so
that two apps are the same only if their URLs are equal as strings. A host that a name server need
not be asked about, because it is no name of the Internet, is refused here.
"""

import hashlib
import re
from urllib.parse import urlsplit

from wsgiauth.features.oauth_server.tables import DOCUMENT_URL_MAX_LENGTH
from wsgiauth.settings import Settings

_SCHEME = "https://"
# No user, no port, no query and no fragment; a host of two labels at least, the last of which has a
# letter first, so it is no IP address in any spelling; a path of RFC 3986.
_URL = re.compile(
    r"https://((?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?)"
    r"(/(?:[A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)"
)
_DOT_SEGMENT = re.compile(r"/(?:\.|%2e){1,2}(?:/|\Z)", re.IGNORECASE)
# Of RFC 6761, 6762, 7686, 8375 and 9476, and of many networks of their own.
_NOT_PUBLIC = re.compile(
    r".*\.(?:alt|corp|home|home\.arpa|internal|intranet|invalid|lan|local|localhost|onion|private"
    r"|test)"
)


def is_document_url(client_id: object) -> bool:
    """Return whether a `client_id` is a URL, so that it can only be of such an app."""
    return isinstance(client_id, str) and client_id.startswith(_SCHEME)


def id_of(client_id: str) -> str:
    """Return the primary key of the client with a `client_id`."""
    if not is_document_url(client_id):
        return client_id
    return hashlib.sha256(client_id.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def host_in(url: str) -> str:
    """Return the host of a URL that `can_name_document` admits."""
    return urlsplit(url).netloc


def can_name_document(url: str, settings: Settings) -> bool:
    """Return whether an app can have a URL as its `client_id`.

    A host of this site is refused: what its users upload there would speak for the site.
    """
    found = _URL.fullmatch(url) if len(url) <= DOCUMENT_URL_MAX_LENGTH else None
    if found is None or _DOT_SEGMENT.search(found[2]):
        return False
    host = found[1]
    return not _NOT_PUBLIC.fullmatch(host) and not _is_own(host, settings)


def _is_own(host: str, settings: Settings) -> bool:
    own = [urlsplit(settings.PUBLIC_URL or "").hostname or ""]
    own += [each.partition(":")[0] for each in settings.NEXT_HOSTS]
    domains = [each.removeprefix("*.") for each in own if each.startswith("*.")]
    domains += [] if settings.COOKIE_DOMAIN is None else [settings.COOKIE_DOMAIN]
    return host in own or any(f".{host}".endswith(f".{each}") for each in domains)
