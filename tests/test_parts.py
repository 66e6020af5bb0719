"""The parts of a site: made on demand, found by class or interface, one for each purpose."""

from abc import ABC, abstractmethod

import pytest

from wsgiauth.exceptions import ConfigurationError
from wsgiauth.parts import Parts, Several


class Clock:
    """A part that needs no other."""


class Watch:
    """A part that needs another."""

    def __init__(self, clock):
        self.clock = clock


class Lamp(ABC):
    """An interface of which a site has one part."""

    @abstractmethod
    def light(self):
        """Do something."""


class Candle(Lamp):
    def light(self):
        """Do something."""


class Torch(Candle):
    """Another one."""


class Bell(Several):
    """An interface of which a site can have several parts."""

    tone = ""

    def conflicts_with(self, other):
        return self.tone == other.tone

    @abstractmethod
    def ring(self):
        """Do something."""


class Gong(Bell):
    tone = "low"

    def ring(self):
        """Do something."""


class Chime(Bell):
    tone = "high"

    def ring(self):
        """Do something."""


class Bronze(Bell):
    """One that conflicts with the gong."""

    tone = "low"

    def ring(self):
        """Do something."""


CLOCKS = {Clock: lambda parts: Clock()}
WATCHES = {Watch: lambda parts: Watch(parts.need(Clock))}


def factories_of(*kinds):
    return {kind: lambda parts, kind=kind: kind() for kind in kinds}


@pytest.mark.parametrize("is_needed_first", [True, False])
def test_a_part_gets_another_wherever_its_feature_stands(is_needed_first):
    features = [("clocks", CLOCKS), ("watches", WATCHES)]
    parts = Parts(dict(features if is_needed_first else reversed(features)))
    assert parts.find(Watch).clock is parts.find(Clock)


def test_a_part_that_no_feature_has_is_none():
    assert Parts({}).find(Clock) is None


def test_a_part_that_another_one_needs_must_exist():
    with pytest.raises(ConfigurationError, match="No feature that is on has the part Clock"):
        Parts({"watches": WATCHES})


def test_parts_that_need_each_other_are_refused():
    around = {Clock: lambda parts: parts.need(Watch)}
    with pytest.raises(ConfigurationError) as refused:
        Parts({"clocks": around, "watches": WATCHES})
    expected = "Clock (clocks) > Watch (watches) > Clock (clocks)"
    assert str(refused.value) == f"Parts of features need each other: {expected}."


def test_all_parts_come_in_the_order_of_the_features():
    choir = {Watch: lambda parts: Watch(parts.all(Bell))}
    parts = Parts({"a": choir, "b": factories_of(Gong), "c": factories_of(Chime)})
    assert [type(each) for each in parts.all(Bell)] == [Gong, Chime]
    assert parts.find(Watch).clock == parts.all(Bell)


@pytest.mark.parametrize(
    ("one", "other", "what"),
    [
        pytest.param(Clock, Clock, "Clock", id="a class"),
        pytest.param(Torch, Candle, "Candle", id="a class and its subclass"),
        pytest.param(Gong, Bronze, "Bell", id="parts that conflict"),
    ],
)
def test_two_features_with_the_same_part_are_refused(one, other, what):
    with pytest.raises(ConfigurationError) as refused:
        Parts({"a": factories_of(one), "b": factories_of(other)})
    assert str(refused.value) == f"Two features have the part {what}: a and b."


def test_two_parts_of_an_interface_that_has_one_are_refused():
    class Lantern(Lamp):
        def light(self):
            """Do something."""

    with pytest.raises(ConfigurationError, match="the part Lamp: a and b"):
        Parts({"a": factories_of(Candle), "b": factories_of(Lantern)})


def test_none_of_several_parts_is_the_one():
    parts = Parts({"a": factories_of(Gong), "b": factories_of(Chime)})
    with pytest.raises(ConfigurationError, match="the part Bell: a and b"):
        parts.find(Bell)


def test_parts_do_not_conflict_unless_their_interface_says_so():
    assert not Several().conflicts_with(Several())
