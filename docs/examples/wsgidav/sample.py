"""Make the folder `files` with one file."""

from pathlib import Path

Path("files").mkdir(exist_ok=True)
Path("files/book.txt").write_text("Middlemarch\n", encoding="utf-8")
