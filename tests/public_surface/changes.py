"""Which changes of the surface the changelog does not describe."""

import re


def undescribed(before, after, text):
    """Return the lines in one of two surfaces alone whose name a text does not have.

    A new or removed line describes its parts, such as a path its fields. A new path describes what
    it answers: a new schema need not be named.
    """
    added = {line for line in {*after} - {*before} if not line.startswith("schema ")}
    changed = added | ({*before} - {*after})
    return sorted(
        line
        for line in changed
        if line.partition(" | ")[0] == line or line.partition(" | ")[0] not in changed
        if not re.search(rf"(?<![\w/-]){re.escape(name_in(line))}(?![\w/-])", text)
    )


def name_in(line):
    """Return the name that the changelog has to mention.

    For a part, that is the name of the part: `password` for `path POST /auth/login | request
    password`. For a signature, it is the name of the whole.
    """
    kind, _, rest = line.partition(" ")
    whole, _, part = rest.partition(" | ")
    for each in (part, whole):
        words = re.split(r"[:(]", each)[0].split()
        if words:
            return words[-1].rpartition(".")[2] if kind == "python" else words[-1]
    return whole
