"""The Cookie header, and the names of cookies of which a browser has several: one for each tab.

Such a name ends in a tag. Tags are in the order of their time, so that the oldest cookie can go. A
tag is no secret: it only says which of the browser's own cookies is meant.
"""

import re
import secrets
from typing import NamedTuple

MAX_COOKIE_HEADER = 8192  # characters

TAG_LENGTH = 16  # characters: 48 bits of milliseconds since the epoch, and 16 random bits
_TAG = re.compile("[0-9a-f]{16}")


class OwnCookie(NamedTuple):
    """A kind of cookie beside the login cookie. The module that uses it declares it."""

    suffix: str  # the end of its name, after COOKIE_NAME, or what a tag follows
    lifetime: int  # in seconds

    @property
    def is_tagged(self) -> bool:
        """Whether a browser has one for each tab that logs in."""
        return self.suffix.endswith("-")


class TaggedCookie(NamedTuple):
    """One of several cookies."""

    tag: str  # the end of its name
    value: str

    def __repr__(self) -> str:
        return f"<TaggedCookie {self.tag}>"  # the value has a secret


def new_tag(now: float) -> str:
    """Return a tag of a new cookie; two requests at the same time get two tags."""
    return f"{int(now * 1000):012x}{secrets.token_hex(2)}"


def is_tag(candidate: str) -> bool:
    """Return whether a string can be a tag."""
    return _TAG.fullmatch(candidate) is not None


def cookie_value(header: str, name: str) -> str | None:
    """Return the value of the one cookie called `name` in a Cookie header, or None.

    Two cookies of that name count as none, because a neighbouring host may have planted one of
    them; but as one if their values are equal. A header of more than `MAX_COOKIE_HEADER` characters
    is ignored.
    """
    values = _values(header, name)
    return values.pop() if len(values) == 1 else None


def has_rivals(header: str, name: str) -> bool:
    """Return whether a Cookie header has several cookies called `name`, with different values."""
    return len(_values(header, name)) > 1


def tagged_cookies(header: str, start: str) -> list[TaggedCookie]:
    """Return the cookies of a Cookie header whose name is `start` and a tag, the newest first.

    See `cookie_value` for two of one name, and for long headers.
    """
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
