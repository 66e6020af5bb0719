"""An app that logs in with an OpenID provider by a package of npm, in a process."""

import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import require_program, skip_or_fail
from tests.support.leftovers import ending_with_parent
from tests.support.sites import end

SCRIPT = Path(__file__).with_name("relying_party.mjs")


class RelyingPartyError(Exception):
    """The package has refused something."""


class RelyingParty:
    """Calls the methods of the program; see its beginning."""

    def __init__(self, process):
        self._process = process

    def __getattr__(self, method):
        return lambda argument=None: self._call(method, argument)

    def _call(self, method, argument):
        self._process.stdin.write(f"{json.dumps([method, argument])}\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        if "error" in answer:
            raise RelyingPartyError(answer["error"])
        return answer["result"]


@contextmanager
def relying_party(library):
    """Run an app that uses a package."""
    require_program("node")
    modules = os.environ.get("RELYING_PARTIES") or skip_or_fail(
        "RELYING_PARTIES does not name a folder: see .ci/run"
    )
    command = ending_with_parent(["node", str(SCRIPT), modules, library])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            yield RelyingParty(process)
        finally:
            end(process)
