"""Print the public surface; see the package."""

from tests.public_surface import commands, http, names, pages, tables


def surface():
    """Return every line, sorted."""
    parts = (names, http, pages, tables, commands)
    return sorted({line for part in parts for line in part.lines()})


if __name__ == "__main__":
    print(*surface(), sep="\n")
