"""The interface by which a feature names what the reasons of its events identify."""

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import Self

from wsgiauth.events import Event
from wsgiauth.parts import Parts, Several


class EventReasons(Several):
    """The part of a site with the names for reasons in the trail of the panel; see `Parts.all`.

    Attributes:
        events: The names of the events whose reason is an id.
    """

    events: Collection[str]

    def conflicts_with(self, other: Self) -> bool:
        """Return whether both name the reason of the same event."""
        return not set(self.events).isdisjoint(other.events)

    @abstractmethod
    def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the names by id; costs one query. What was deleted has none."""


def named_reasons(parts: Parts, events: Collection[Event]) -> dict[Event, str]:
    """Return the names that the parts of a site have for the reasons of events."""
    found: dict[Event, str] = {}
    for part in parts.all(EventReasons):
        own = {each: each.reason for each in events if each.name in part.events and each.reason}
        names = part.names(set(own.values())) if own else {}
        found |= {each: names[reason] for each, reason in own.items() if reason in names}
    return found
