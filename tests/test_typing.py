"""What type checkers see: guards keep the type of what they wrap, and a misuse is an error."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import skip_or_fail

ROOT = Path(__file__).parent.parent

PROGRAM = """
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from webob import Request
from webob.dec import wsgify

from wsgiauth import AuthMiddleware, Settings, User, login_required, permission_required
from wsgiauth.events import Event
from wsgiauth.testing import bearer, logged_in, make_settings, make_user

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

class Views:
    @permission_required("reports.read", redirect_url="/auth/login")
    def read(self, environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        return []

class Decorated:  # as wsgify is, made of a function
    def __init__(self, view: object) -> None:
        self.view = view

    def __call__(
        self, environ: WSGIEnvironment, start_response: StartResponse
    ) -> Iterable[bytes]:
        return []

@permission_required("reports.read")
@Decorated
def decorated() -> None: ...

@login_required
@wsgify
def page(request: Request) -> str:
    return "for you"

def note(event: Event) -> None:
    print(event.name, event.user_id, event.reason)

application: WSGIApplication = AuthMiddleware(bare)
AuthMiddleware(page, {"SECRET_KEY": "x"}, on_event=note)
AuthMiddleware(Views().read, on_event=[note, print])
settings = Settings(SECRET_KEY="x", SECRET_KEY_FALLBACKS=("y", "z"), REGISTRATION=False)
site = AuthMiddleware(View(), settings, mount="/account", challenge=True)
ada = make_user(site, "ada", password="x", permissions=["reports.read"], is_staff=True)
logged_in(site, ada).get("/")
bearer(site)

reveal_type(bare)
reveal_type(redirecting)
reveal_type(View())
reveal_type(Views().read)
reveal_type(decorated)
reveal_type(User.objects.get(username="ada").has_permission)
reveal_type(ada)
reveal_type(bearer(site, ada))
reveal_type(make_settings(REGISTRATION=False))
"""

VIEW = "(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]"
REVEALED = [VIEW, VIEW, "View", VIEW, "Decorated", "(permission: str) -> bool", "User"]
REVEALED += ["dict[str, str]", "Settings"]

MISUSES = """
AuthMiddleware(5)
AuthMiddleware(bare, 5)
AuthMiddleware(bare, {}, "/auth")
AuthMiddleware(bare, mount=5)
AuthMiddleware(bare, challenge="on")
AuthMiddleware(bare, on_event=5)
AuthMiddleware(bare, on_event=[5])
AuthMiddleware(bare, on_event=bare)
login_required(5)
login_required("/auth/login")
login_required(redirect_url=5)
permission_required()
permission_required(5)
permission_required(bare)
permission_required("a.b", redirect_url=5)
permission_required("a.b")(5)
Settings("x")
Settings(SECRETKEY="x")
Settings(SECRET_KEY=b"x")
Settings(SECRET_KEY_FALLBACKS="x")
Settings(BCRYPT_ROUNDS="12")
Settings(REGISTRATION="on")
bearer(bare)
bearer(site, "ada")
logged_in(bare)
make_user(site, 5)
make_user(site, permissions=5)
make_user(site, "ada", "four unrelated words")
"""


def run(*command, **options):
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, **options
    ).stdout


def mypy(folder):
    """Return the lines with errors, and the types that are revealed."""
    output = run(
        *("mypy", "--strict", "--follow-imports=silent", "program.py"),
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT)},  # an editable install is invisible to mypy
    )
    errors = [int(line) for line in re.findall(r"^program\.py:(\d+): error", output, re.MULTILINE)]
    revealed = re.findall(r'Revealed type is "(?:def )?(.*)"$', output, re.MULTILINE)
    return errors, [re.sub(r"\b[a-z.]+\.(?=\w)", "", each) for each in revealed]


def pyright(folder):
    """Return the lines with errors, and the types that are revealed."""
    if importlib.util.find_spec("basedpyright") is None:
        skip_or_fail("basedpyright, which is Pyright with a Node of its own, is not installed")
    rules = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)]}
    (folder / "pyrightconfig.json").write_text(json.dumps(rules))
    command = ("basedpyright", "--outputjson", "--pythonpath", sys.executable, "program.py")
    found = json.loads(run(*command, cwd=folder))["generalDiagnostics"]
    errors = [each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"]
    revealed = [re.fullmatch(r'Type of ".*" is "(.*)"', each["message"]) for each in found]
    return errors, [match[1] for match in revealed if match]


@pytest.fixture(scope="module", params=[mypy, pyright], ids=lambda check: check.__name__)
def found(request, tmp_path_factory):
    """Return what a type checker says: the lines with errors, and the types that are revealed."""
    folder = tmp_path_factory.mktemp("program")
    (folder / "program.py").write_text(PROGRAM + MISUSES)
    return request.param(folder)


def test_guards_keep_the_type_of_what_they_wrap(found):
    _, revealed = found
    assert revealed == REVEALED


def test_a_program_has_no_error_and_each_misuse_is_one(found):
    errors, _ = found
    first = PROGRAM.count("\n") + 2
    assert errors == list(range(first, first + MISUSES.count("\n") - 1))
