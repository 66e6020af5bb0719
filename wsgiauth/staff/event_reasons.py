"""The interface by which a feature names what the reasons of its events identify."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping

from wsgiauth.events import Event


class EventReasons(ABC):
    """The part of a site with the names for reasons in the trail of the panel; see `Site.parts`.

    Attributes:
        events: The names of the events whose reason is an id.
    """

    events: Collection[str]

    @abstractmethod
    def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the names by id; costs one query. What was deleted has none."""


def named_reasons(parts: Collection[object], events: Collection[Event]) -> dict[Event, str]:
    """Return the names that the parts of a site have for the reasons of events."""
    found: dict[Event, str] = {}
    for part in parts:
        if not isinstance(part, EventReasons):
            continue
        own = {each: each.reason for each in events if each.name in part.events and each.reason}
        names = part.names(set(own.values())) if own else {}
        found |= {each: names[reason] for each, reason in own.items() if reason in names}
    return found
