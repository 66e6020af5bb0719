"""Reads the Cookie header, also cookies of which a browser has one for each tab.

The name of such a cookie ends in a tag. Tags sort by time, to find the oldest cookie. A tag is no
secret, because it only selects one of the browser's own cookies.
"""

import re
import secrets
from typing import NamedTuple

MAX_COOKIE_HEADER = 8192  # characters

# RFC 6265bis section 4.1.3: browsers accept a cookie with these prefixes only over https, and one
# with `__Host-` only from this host, without a Domain, and for the path "/".
HOST_PREFIX, DOMAIN_PREFIX = "__Host-", "__Secure-"

TAG_LENGTH = 16  # characters: 48 bits of milliseconds since the epoch, and 16 random bits
_TAG = re.compile("[0-9a-f]{16}")


class OwnCookie(NamedTuple):
    """A kind of cookie beside the login cookie. The module that uses it declares it.

    Example:
        cookie = OwnCookie("-badge", lifetime=86_400)
    """

    suffix: str  # follows COOKIE_NAME in its name; a tag can follow the suffix
    lifetime: int  # in seconds
    is_shared: bool = False  # with the other hosts of COOKIE_DOMAIN

    @property
    def is_tagged(self) -> bool:
        """Whether a browser has one for each tab."""
        return self.suffix.endswith("-")


class TaggedCookie(NamedTuple):
    """One of several cookies."""

    tag: str
    value: str

    def __repr__(self) -> str:
        return f"<TaggedCookie {self.tag}>"  # the value has a secret


def shared_prefix(domain: str | None) -> str:
    """Return the prefix, over https, of the cookies that COOKIE_DOMAIN applies to."""
    return HOST_PREFIX if domain is None else DOMAIN_PREFIX


def new_tag(now: float) -> str:
    """Return a tag of a new cookie, even at the same time as another one."""
    return f"{int(now * 1000):012x}{secrets.token_hex(2)}"


def is_tag(candidate: str) -> bool:
    """Return whether a string can be a tag."""
    return _TAG.fullmatch(candidate) is not None


def cookie_value(header: str, name: str) -> str | None:
    """Return the value of the only cookie called `name` in a Cookie header, or None.

    Two different values count as none, because a neighbouring host may have planted one of them. A
    header of more than `MAX_COOKIE_HEADER` characters is ignored.
    """
    values = _values(header, name)
    return values.pop() if len(values) == 1 else None


def has_rivals(header: str, name: str) -> bool:
    """Return whether a Cookie header has different values for `name`."""
    return len(_values(header, name)) > 1


def tagged_cookies(header: str, start: str) -> list[TaggedCookie]:
    """Return the cookies whose name is `start` and a tag, the newest first; see `cookie_value`."""
    values: dict[str, set[str]] = {}
    for pair in header.split(";") if len(header) <= MAX_COOKIE_HEADER else ():
        name, _, value = pair.partition("=")
        before, found, tag = name.strip(" \t").partition(start)
        if found and not before and is_tag(tag):
            values.setdefault(tag, set()).add(value.strip(' \t"'))
    sent = [TaggedCookie(tag, *each) for tag, each in values.items() if len(each) == 1]
    return sorted((each for each in sent if each.value), reverse=True)


def _values(header: str, name: str) -> set[str]:
    values = set()
    for pair in header.split(";") if len(header) <= MAX_COOKIE_HEADER else ():
        found, separator, value = pair.partition("=")
        if separator and found.strip(" \t") == name:
            values.add(value.strip(' \t"'))
    return values
