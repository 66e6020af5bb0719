"""The pages as the tests read them: their sections, programs and commands."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for glob in ("README.md", "docs/*.md", "docs/examples/README.md", "docs/examples/*/README.md")
    for path in sorted(ROOT.glob(glob))
}
CONFIGURATIONS = ROOT / "docs/deployment"  # of servers, beside the page that links to them
_NAMED = re.compile(r"(?:# |// |<!-- )([\w-]+\.[a-z]+)(?: -->)?\n")


def section(page, title):
    """Return what stands below a heading of any level, up to the next of its own or above."""
    level, text = re.search(
        rf"^(##+) {re.escape(title)}\n(.*)", page, re.MULTILINE | re.DOTALL
    ).groups()
    return re.split(rf"^#{{2,{len(level)}}} ", text, maxsplit=1, flags=re.MULTILINE)[0]


def slug(heading):
    """Return the anchor of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def code(text, kind):
    """Return the blocks of code of a kind, in their order."""
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(block):
    """Return the commands of a console block, each with the output that it shows."""
    parts = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2]) for part in parts]


def shown(page, title):
    """Return the commands of a section, in their order, each with the output that it shows."""
    return [each for block in code(section(page, title), "console") for each in commands(block)]


def save_programs(text, folder):
    """Write each program and configuration of a page into the file that its first line names.

    Scripts and HTML of other pages are parts, and have no name.
    """
    for name, block in programs(text):
        (folder / name).write_text(block, encoding="utf-8")


def programs(text):
    """Return the names of the programs of a page, each with the program."""
    for kind in ("python", "ini", "js", "html"):
        for block in code(text, kind):
            named = _NAMED.match(block)
            if named:
                yield named[1], block
