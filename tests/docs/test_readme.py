"""README.md: its commands and its program run, and it is short and leads to every page."""

import re
import subprocess

from tests.docs.accounts import ask
from tests.docs.pages import PAGES, ROOT, code, shown
from tests.support.sites import BROWSER

README = PAGES["README.md"]
MAX_PICTURE = 150_000  # bytes, so that the page opens quickly


def test_the_set_up_commands_are_targets_of_the_makefile():
    for command, _ in shown(README, "Try it"):
        subprocess.run([*command.split(), "--dry-run"], cwd=ROOT, check=True, capture_output=True)


def test_the_program_serves_people(run, serve, environ, first_program):
    del environ["SECRET_KEY"]
    (export, _), (create, created), (command, _) = first_program
    assert run(f"{export}\n{create}") == created
    with serve(command, export) as port:
        status, page = ask(f"http://127.0.0.1:{port}/", BROWSER)
    assert status == 200
    assert 'action="/auth/login"' in page


def test_every_block_is_of_a_kind_that_is_executed():
    assert set(re.findall(r"^```(\w+)\n", README, re.MULTILINE)) == {"console", "python"}
    assert len(code(README, "python")) == 1


def test_its_picture_is_small():
    (picture,) = re.findall(r"!\[.*?\]\((.*?)\)", README)
    assert (ROOT / picture).stat().st_size < MAX_PICTURE


def test_it_leads_to_every_page():
    path = re.search(r"^## Documentation$(.*?)^## ", README, re.MULTILINE | re.DOTALL)[1]
    linked = re.findall(r"\]\((docs/.*?)\)", path)
    pages = {page for page in PAGES if not re.match("README|docs/examples/.+/", page)}
    assert sorted(linked) == sorted(pages)
