"""Make the repository `library`, which is empty."""

from pathlib import Path

from mercurial import hg, ui

if not Path("repositories/library").exists():
    hg.repository(ui.ui.load(), b"repositories/library", create=True)
