"""docs/architecture.md names modules and code that exist."""

import importlib
import re

from tests.docs.pages import PAGES
from tests.support import house

ROOMS = {*house.ROOMS} - {"wsgiauth"}
MODULES = {f"wsgiauth.{each}" for each in house.MODULES}
NAMED = {
    name
    for name in re.findall(r"`([a-z_]+(?:\.\w+)+)(?:\(.*?\))?`", PAGES["docs/architecture.md"])
    if name.partition(".")[0] in ROOMS
}


def test_there_are_names_to_look_up():
    assert len(NAMED) > 20


def test_what_the_map_names_exists():
    """Names are those of a module, or of something in one, perhaps an attribute of a class."""
    for name in NAMED:
        module, rest = f"wsgiauth.{name}", []
        while module not in MODULES:
            module, _, last = module.rpartition(".")
            rest.insert(0, last)
        found = importlib.import_module(module)
        for each in rest:
            assert hasattr(found, each), name
            found = getattr(found, each)
