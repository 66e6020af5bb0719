"""The entries of SERVICES: the name or URL of a service, with the scopes that its apps can use."""

import re

# Those of OpenID Connect and permissions, as `accounts.names.is_permission` has them.
_SCOPE = re.compile(
    "openid|profile|email|groups|offline_access"
    r"|(?=.{1,100}\Z)[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+"
)


class Service(str):
    """The name of a service: its entry without the fragment, which names the scopes.

    It is equal to the name as a string, so what compares services does not know of scopes.
    """

    scopes: tuple[str, ...]

    def __new__(cls, entry: str) -> "Service":
        """Read an entry; one that was read before keeps its scopes."""
        name, hash_sign, fragment = entry.partition("#")
        made = super().__new__(cls, name)
        scopes = tuple(dict.fromkeys(fragment.split(","))) if hash_sign else ()
        made.scopes = entry.scopes if isinstance(entry, Service) else scopes
        return made


def read_services(entries: object) -> object:
    """Return a list of entries as services; leave others, which are refused."""
    if not isinstance(entries, list | tuple):
        return entries
    return tuple(Service(each) if isinstance(each, str) else each for each in entries)


def scopes_of(service: str) -> tuple[str, ...]:
    """Return the scopes that an entry of SERVICES names."""
    return service.scopes if isinstance(service, Service) else ()


def wrong_scope(service: str) -> str | None:
    """Return the first scope of a service that no app can have, or None."""
    return next((each for each in scopes_of(service) if not _SCOPE.fullmatch(each)), None)
