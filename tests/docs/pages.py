"""The pages as the tests read them: their sections, programs and commands."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")))
}


def section(page, title):
    """Return what stands below a heading of any level, up to the next of its own or above."""
    level, text = re.search(
        rf"^(##+) {re.escape(title)}\n(.*)", page, re.MULTILINE | re.DOTALL
    ).groups()
    return re.split(rf"^#{{2,{len(level)}}} ", text, maxsplit=1, flags=re.MULTILINE)[0]


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
    """Write each program and configuration of a page into the file that its first line names."""
    for kind in ("python", "ini"):
        for block in code(text, kind):
            name = block.partition("\n")[0].removeprefix("# ")
            (folder / name).write_text(block, encoding="utf-8")
