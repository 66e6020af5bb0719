"""The parts that features add to a site, found by their class or by an interface.

A part is made when another one asks for it, wherever their features stand in the list. What the
order of the list could decide silently is refused at start.
"""

from abc import ABC
from collections.abc import Callable, Iterator, Mapping
from inspect import isabstract
from itertools import combinations
from typing import Any, Self, TypeVar

from wsgiauth.exceptions import ConfigurationError

KERNEL = "the kernel"  # beside the names of features

_Part = TypeVar("_Part")


class Several(ABC):  # noqa: B024 - the interfaces have the methods
    """The base of an interface of which a site can have several parts; of others, it has one.

    Example:
        class Greeting(Several):
            ...
    """

    def conflicts_with(self, other: Self) -> bool:
        """Return whether the order of two parts would decide between them."""
        return False


class Parts:
    """The parts of a site.

    Args:
        factories: The functions that make them, by their classes, by the name of the feature. Each
            gets this object, to ask for the parts that its own needs.

    Raises:
        ConfigurationError: Parts need each other, or two features have a part for the same purpose.

    Example:
        class Counts:
            number = 0

        def make(parts: Parts) -> Counts:
            return Counts()

        factories: PartFactories = {Counts: make}
    """

    def __init__(self, factories: Mapping[str, "PartFactories"]) -> None:
        self._features: dict[type, str] = {}
        self._factories: dict[type, Callable[[Parts], object]] = {}
        for feature, own in factories.items():
            for kind, factory in own.items():
                if kind in self._features:
                    raise conflict(f"the part {kind.__name__}", self._features[kind], feature)
                self._features[kind], self._factories[kind] = feature, factory
        self._kinds: dict[type, tuple[type, ...]] = {}
        self._made: dict[type, Any] = {}
        self._begun: list[type] = []
        for kind in self._factories:
            self._make(kind)
        for interface, kinds in self._shared_interfaces():
            one, other = (self._made[each] for each in kinds)
            if not issubclass(interface, Several) or interface.conflicts_with(one, other):
                raise self._conflict(interface, kinds)

    def find(self, kind: type[_Part]) -> _Part | None:
        """Return the part of this class or interface; None if its feature is off."""
        kinds = self._kinds_of(kind)
        if len(kinds) > 1:
            raise self._conflict(kind, kinds[:2])
        return self._make(kinds[0]) if kinds else None

    def need(self, kind: type[_Part]) -> _Part:
        """Return the part of this class or interface, without which another one cannot be made."""
        found = self.find(kind)
        if found is None:
            raise ConfigurationError(f"No feature that is on has the part {kind.__name__}.")
        return found

    def all(self, kind: type[_Part]) -> tuple[_Part, ...]:
        """Return all parts of this class or interface, in the order of the features."""
        return tuple(part for _feature, part in self.by_feature(kind))

    def by_feature(self, kind: type[_Part]) -> tuple[tuple[str, _Part], ...]:
        """Return the same, each after the name of its feature."""
        return tuple((self._features[each], self._make(each)) for each in self._kinds_of(kind))

    def _kinds_of(self, kind: type) -> tuple[type, ...]:
        if kind not in self._kinds:
            self._kinds[kind] = tuple(each for each in self._factories if issubclass(each, kind))
        return self._kinds[kind]

    def _make(self, kind: type) -> Any:
        if kind not in self._made:
            if kind in self._begun:
                circle = [*self._begun[self._begun.index(kind) :], kind]
                named = " > ".join(f"{each.__name__} ({self._features[each]})" for each in circle)
                raise ConfigurationError(f"Parts of features need each other: {named}.")
            self._begun.append(kind)
            self._made[kind] = self._factories[kind](self)
            self._begun.pop()
        return self._made[kind]

    def _shared_interfaces(self) -> Iterator[tuple[type, tuple[type, type]]]:
        """Yield each class or interface by which two parts are found, with their classes."""
        for one, other in combinations(self._factories, 2):
            for base in one.__mro__:
                if issubclass(other, base) and (base in self._factories or isabstract(base)):
                    yield base, (one, other)

    def _conflict(self, kind: type, kinds: tuple[type, ...]) -> ConfigurationError:
        return conflict(f"the part {kind.__name__}", *(self._features[each] for each in kinds))


PartFactories = Mapping[type, Callable[[Parts], object]]


def conflict(what: str, one: str, other: str) -> ConfigurationError:
    """Return the error about two features that declare the same."""
    return ConfigurationError(f"Two features have {what}: {one} and {other}.")
