"""Conditions of searches."""

import re
from typing import Any

import peewee


def contains(column: Any, text: str) -> Any:
    """Return the condition that a column contains a string, in the same letter case.

    A `%` or a `_` in the string stands for itself.
    """
    pattern = re.sub("[!%_]", r"!\g<0>", text)
    like = (peewee.SQL("LIKE"), peewee.Value(f"%{pattern}%"), peewee.SQL("ESCAPE '!'"))
    return peewee.NodeList((column, *like))
