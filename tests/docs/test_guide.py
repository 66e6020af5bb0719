"""docs/guide.md: its commands do what it says."""

import shutil

from tests.conftest import skip_or_fail
from tests.docs.pages import PAGES, shown

GUIDE = PAGES["docs/guide.md"]


def test_a_program_logs_in_with_json(run, serve, administrator, first_program):
    if shutil.which("curl") is None:
        skip_or_fail("curl is not installed")
    *_, (command, _) = first_program
    commands = shown(GUIDE, "Log in from a program")
    with serve(command) as port:
        script = "\n".join(each for each, _ in commands).replace("8080", str(port))
        assert run(script).strip() == commands[-1][1].strip()
