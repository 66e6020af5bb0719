"""What type checkers see: guards keep the type of what they wrap, and a misuse is an error."""

import importlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import indent
from types import ModuleType

import pytest

from tests.conftest import require
from tests.test_extend import DOORS, OBJECTS, example_of

pytestmark = pytest.mark.usefixtures("unmeasured")

ROOT = Path(__file__).parent.parent

PROGRAM = """
from collections.abc import Iterable, Mapping
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from webob import Request
from webob.dec import wsgify

from wsgiauth import AuthMiddleware, Field, Group, OAuthClient, Session, Settings, User
from wsgiauth import authenticate, change_password, current_user, delete_user, end_sessions
from wsgiauth import log_in, log_out, login_required, permission_required, update_user
from wsgiauth.events import Event
from wsgiauth.testing import bearer, logged_in, mailbox, make_group, make_settings, make_user
from wsgiauth.testing import add_authenticator, provider_account, recovery_codes

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

def leave(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
    start_response("303 See Other", [("Location", "/"), *log_out(environ)])
    return []

def note(event: Event) -> None:
    print(event.name, event.user_id, event.reason)

def phone_problem(value: str) -> str | None:
    return None if value.startswith("+") else "Begin with +."

def welcome(user: User, values: Mapping[str, str]) -> None:
    print(user.username, values["phone"])

def role_for(user: User, app: OAuthClient, scopes: frozenset[str]) -> dict[str, str] | None:
    return {"role": app.name} if app.id in scopes else None

FIELDS = [
    Field("phone", "Phone", kind="tel", required=True, hint="+49 30 1", check=phone_problem),
    Field("branch", "Branch", kind="select", options=["north", ("s", "South Bank")]),
]

application: WSGIApplication = AuthMiddleware(bare)
AuthMiddleware(bare, registration=FIELDS, on_registered=welcome)
AuthMiddleware(bare, id_claims=role_for)
AuthMiddleware(page, {"SECRET_KEY": "x"}, on_event=note)
AuthMiddleware(Views().read, on_event=[note, print])
settings = Settings(SECRET_KEY="x", SECRET_KEY_FALLBACKS=("y", "z"), REGISTRATION=False)
site = AuthMiddleware(View(), settings, mount="/account", challenge=True)
AuthMiddleware(bare, public=("/", "/static/"), require="reports.read")
ada = make_user(site, "ada", password="x", permissions=["reports.read"], is_staff=True)
logged_in(site, ada).get("/")
logged_in(site, ada, remember=True, confirmed_minutes_ago=20, minutes_left=0).get("/")
bearer(site, confirmed_minutes_ago=20, second_factor=True)

reveal_type(bare)
reveal_type(redirecting)
reveal_type(View())
reveal_type(Views().read)
reveal_type(decorated)
reveal_type(User.objects.get(username="ada").has_permission)
reveal_type(ada)
reveal_type(ada.id)
reveal_type(ada.username)
reveal_type(ada.hashed_password)
reveal_type(ada.is_staff)
reveal_type(ada.created_at)
reveal_type([each.address for each in ada.sessions])
reveal_type([each.name for each in ada.groups])
reveal_type(ada.permissions)
ada.join("editors")
editors = make_group(site, "editors", ["reports.read"])
ada.leave(editors)
reveal_type(Group.objects.create(name="writers").permissions)
reveal_type(Group.objects.find("writers"))
reveal_type([each.username for each in editors.members])
reveal_type(Session().id)
reveal_type(Session().user)
reveal_type(Session().created_at)
reveal_type(Session().expires_at)
User.objects.filter(User.id > 7)
reveal_type(bearer(site, ada))
reveal_type(log_in({}, ada, methods="pwd otp", remember=True))
reveal_type(log_out({}))
reveal_type(authenticate({}, "ada", "four unrelated words"))
reveal_type(current_user({}))
reveal_type(end_sessions(ada))
reveal_type(change_password(ada, "four unrelated words", settings=settings, end_keys=False))
update_user(ada, is_staff=True)
delete_user(ada)
reveal_type(make_settings(REGISTRATION=False))
reveal_type(mailbox(site).links)
reveal_type(mailbox(site))
reveal_type(add_authenticator(site, ada).code())
reveal_type(recovery_codes(site, ada))
provider_account(site, "google", subject="108", email_verified=True, groups=["editors"])
make_user(site, "ada", identities=[("google", "108")])
logged_in(site, ada, provider="google")
reveal_type(settings.JWT_EXPIRY_MINUTES)
reveal_type(settings.REGISTRATION)
reveal_type(settings.COOKIE_SECURE)
reveal_type(settings.SITE_NAME)
reveal_type(settings.TRUSTED_ORIGINS)
"""

VIEW = "(environ: dict[str, Any], start_response: StartResponse) -> list[bytes]"
REVEALED = [VIEW, VIEW, "View", VIEW, "Decorated", "(permission: str) -> bool", "User"]
REVEALED += ["int", "str", "str", "bool", "datetime", "list[str]"]
REVEALED += ["list[str]", "frozenset[str]", "frozenset[str]", "Group | None", "list[str]"]
REVEALED += ["str", "User", "datetime", "int"]
REVEALED += [
    "dict[str, str]",
    "list[tuple[str, str]] | None",
    "list[tuple[str, str]]",
    "User | None",
    "User | None",
    "int",
    "int",
    "Settings",
    "list[str]",
    "Mails",
    "str",
    "list[str]",
    "int",
    "bool",
    "str",
    "str | None",
    "tuple[str, ...]",
]

MISUSES = """
AuthMiddleware(5)
AuthMiddleware(bare, 5)
AuthMiddleware(bare, {}, "/auth")
AuthMiddleware(bare, mount=5)
AuthMiddleware(bare, challenge="on")
AuthMiddleware(bare, public=5)
AuthMiddleware(bare, require=5)
AuthMiddleware(bare, on_event=5)
AuthMiddleware(bare, on_event=[5])
AuthMiddleware(bare, on_event=bare)
AuthMiddleware(bare, registration=FIELDS[0])
AuthMiddleware(bare, on_registered=phone_problem)
Field("phone")
Field("phone", "Phone", True)
Field("phone", "Phone", check=welcome)
Field("phone", "Phone", kind="date")
Field("branch", "Branch", kind="select", options=5)
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
Settings(SITE_NAME=5)
Settings(TEMPLATES=5)
bearer(bare)
bearer(site, "ada")
logged_in(bare)
mailbox(bare)
add_authenticator(bare)
recovery_codes(site, "ada")
provider_account(site, "google", "108")
logged_in(site, ada, True)
log_in({}, "ada")
log_in({}, ada, "pwd")
log_out()
log_out(ada)
authenticate("ada", "four unrelated words")
current_user()
end_sessions("ada")
update_user(ada, is_staff="yes")
delete_user("ada")
make_user(site, 5)
make_user(site, permissions=5)
make_user(site, "ada", "four unrelated words")
ada.username = 5
ada.join(5)
Group.objects.create("editors")
editors.grant(["a.b"])
make_group(site)
"""

PUBLIC = [
    "wsgiauth",
    "wsgiauth.contrib.flask",
    "wsgiauth.events",
    "wsgiauth.exceptions",
    "wsgiauth.testing",
    *(each.__name__ for each in DOORS),
]


def run(*command, **options):
    return subprocess.run(
        [sys.executable, "-m", *command], capture_output=True, text=True, **options
    ).stdout


def mypy(folder, cache):
    """Return the lines with errors, and the types that are revealed."""
    output = run(
        *("mypy", "--strict", "--follow-imports=silent", "--cache-dir", cache, "program.py"),
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT)},  # an editable install is invisible to mypy
    )
    errors = [int(line) for line in re.findall(r"^program\.py:(\d+): error", output, re.MULTILINE)]
    revealed = re.findall(r'Revealed type is "(?:def )?(.*)"$', output, re.MULTILINE)
    return errors, [re.sub(r"\b[a-z.]+\.(?=\w)", "", each) for each in revealed]


def pyright(folder, cache):
    """Return the lines with errors, and the types that are revealed."""
    require("basedpyright")  # Pyright with a Node of its own
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
    return request.param(folder, request.config.cache.mkdir("mypy"))


def test_guards_keep_the_type_of_what_they_wrap(found):
    _, revealed = found
    assert revealed == REVEALED


def test_a_program_has_no_error_and_each_misuse_is_one(found):
    errors, _ = found
    first = PROGRAM.count("\n") + 2
    assert errors == list(range(first, first + MISUSES.count("\n") - 1))


def public_names():
    """Return the import of each name of a public module."""
    for name in PUBLIC:
        for each, value in vars(importlib.import_module(name)).items():
            if not (each.startswith("_") or isinstance(value, ModuleType)):
                yield f"from {name} import {each} as {each}\n"


def test_the_public_names_and_all_that_they_lead_to_have_types(tmp_path):
    require("basedpyright")
    # Pyright takes each module without an underscore for a public one.
    ignore = shutil.ignore_patterns("__pycache__", "data")
    shutil.copytree(ROOT / "wsgiauth", tmp_path / "wsgiauth", ignore=ignore)
    (tmp_path / "wsgiauth/public.py").write_text("".join(public_names()))
    command = ("basedpyright", "--outputjson", "--pythonpath", sys.executable, "--ignoreexternal")
    output = run(
        *(*command, "--verifytypes", "wsgiauth.public"),
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    symbols = json.loads(output)["typeCompleteness"]["symbols"]
    assert {"wsgiauth.public.create_user", "wsgiauth.accounts.models.User.username"} <= {
        each["name"] for each in symbols
    }
    untyped = [each for each in symbols if not each["isTypeKnown"] or each["isTypeAmbiguous"]]
    assert [each["name"] for each in untyped] == []


# Migrations have no annotations: their models are made in a function.
OF_MIGRATIONS = "wsgiauth.extend.FrozenModels"

SURROUNDINGS = """
from tests.support.door import *
from tests.support.door import _
from {door} import *


def example(
    environ: WSGIEnvironment,
    site: Site,
    settings: Settings,
    user: User,
    ada: User,
    submission: MemberSubmission,
) -> None:
"""


def test_the_examples_of_the_door_have_no_error(tmp_path, request):
    typed = {name: each for name, each in OBJECTS.items() if name != OF_MIGRATIONS}
    for name, (door, found) in typed.items():
        program = SURROUNDINGS.format(door=door.__name__) + indent(example_of(found), "    ")
        (tmp_path / f"{name.replace('.', '_')}.py").write_text(program)
    output = run(
        *("mypy", "--strict", "--implicit-reexport", "--follow-imports=silent"),
        *("--cache-dir", request.config.cache.mkdir("mypy"), "."),
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
    )
    assert "Success" in output, output
