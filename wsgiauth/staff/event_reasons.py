"""The interface by which a feature names what its events identify: their reasons, and API keys."""

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import NamedTuple, Self

from wsgiauth.events import Event, actors
from wsgiauth.events.actors import checked, feature_code
from wsgiauth.parts import Parts, Several


class EventReasons(Several):
    """The part of a site with the names for reasons in the trail of the panel; see `Parts.all`.

    Attributes:
        events: The names of the events whose reason is an id.
        names_keys: Whether the ids are those of API keys, which actors have, too.

    Example:
        class BadgeReasons(EventReasons):
            events = ("badges_given",)

            def names(self, ids: Collection[str]) -> Mapping[str, str]:
                return {each: f"Badge {each}" for each in ids}
    """

    events: Collection[str]
    names_keys: bool = False

    def conflicts_with(self, other: Self) -> bool:
        """Return whether both name the reason of the same event, or API keys."""
        is_shared = not set(self.events).isdisjoint(other.events)
        return is_shared or (self.names_keys and other.names_keys)

    @abstractmethod
    def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the names by id; costs at most one query. What was deleted has none."""

    def path(self, event: Event) -> str:
        """Return the page about what the reason identifies, below /auth/admin; "" without one."""
        return ""


class NamedReason(NamedTuple):
    """What the reason of an event identifies."""

    name: str
    path: str  # of its page, below /auth/admin; "" without one


class Named(NamedTuple):
    """What events identify."""

    reasons: Mapping[Event, NamedReason]
    keys: Mapping[str, str]  # the names of the API keys of actors, by id


def named_reasons(parts: Parts, events: Collection[Event]) -> Named:
    """Return the names that the parts of a site have for reasons and API keys of events."""
    reasons: dict[Event, NamedReason] = {}
    keys: dict[str, str] = {}
    used = {actors.key_of(each.actor or "") for each in events} - {""}
    for feature, part in parts.by_feature(EventReasons):
        with feature_code(feature, "the names for reasons in the trail"):
            own = {each: each.reason for each in events if each.name in part.events and each.reason}
            ids = {*own.values(), *(used if part.names_keys else ())}
            names = part.names(ids) if ids else {}
            reasons |= {
                each: checked(NamedReason, NamedReason(names[reason], part.path(each)))
                for each, reason in own.items()
                if reason in names
            }
            if part.names_keys:
                keys |= {each: checked(str, names[each]) for each in used if each in names}
    return Named(reasons, keys)
