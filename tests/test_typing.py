"""What a type checker sees: guards keep the type of what they wrap."""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent

PROGRAM = """
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from wsgiauth import AuthMiddleware, User, login_required, permission_required

@login_required
def bare(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    return []

@login_required(redirect_url="/auth/login")
def redirecting(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    return []

@permission_required("reports.publish")
class View:
    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        return []

application: WSGIApplication = AuthMiddleware(bare)
reveal_type(bare)
reveal_type(redirecting)
reveal_type(View())
reveal_type(User.objects.get(username="ada").has_permission)
"""

REVEALED = [
    "def (environ: dict[str, Any], start_response: wsgiref.types.StartResponse) -> list[bytes]",
    "def (environ: dict[str, Any], start_response: wsgiref.types.StartResponse) -> list[bytes]",
    "program.View",
    "def (permission: str) -> bool",
]


def test_guards_keep_the_type_of_what_they_wrap(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "program.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},  # an editable install is invisible to mypy
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout
    revealed = re.findall(r'Revealed type is "(.*)"$', run.stdout, re.MULTILINE)
    assert [re.sub(r"\b(builtins|typing)\.", "", each) for each in revealed] == REVEALED
