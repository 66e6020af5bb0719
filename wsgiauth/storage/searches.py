"""Conditions of searches."""

import re

import peewee


def contains(column: peewee.Node, text: str) -> peewee.NodeList:
    """Return the condition that a column contains a string, in the same letter case.

    A `%` or a `_` in the string stands for itself.

    Example:
        found = Badge.select().where(contains(Badge.name, "100 %"))
    """
    pattern = re.sub("[!%_]", r"!\g<0>", text)
    like = (peewee.SQL("LIKE"), peewee.Value(f"%{pattern}%"), peewee.SQL("ESCAPE '!'"))
    return peewee.NodeList((column, *like))
