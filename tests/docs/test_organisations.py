"""docs/examples/organisations: a distribution of its own, with nothing but wheels."""

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile

import httpx
import pytest

from tests.docs.pages import PAGES, ROOT, shown
from tests.support.sites import BROWSER, SECRET_KEY, running

pytestmark = pytest.mark.usefixtures("unmeasured")

FOLDER = ROOT / "docs/examples/organisations"
PACKAGE = FOLDER / "wsgi_accounts_organisations"
PAGE = PAGES["docs/examples/organisations/README.md"]
MOST_LINES = 1500
# What its tests import, beside the dependencies of wsgiauth.
TESTS = ("pytest", "WebTest")


def test_it_is_short():
    counted = [*PACKAGE.rglob("*.py"), *PACKAGE.glob("templates/**/*.*"), *FOLDER.glob("*.*")]
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in counted)
    assert lines <= MOST_LINES


def imported_by(path):
    """Yield the modules that a module of the package imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{each.name}" for each in node.names if not node.level)


def test_it_imports_the_public_door_alone():
    names = {name for path in PACKAGE.rglob("*.py") for name in imported_by(path)}
    of_wsgiauth = {name for name in names if name.partition(".")[0] == "wsgiauth"}
    others = {name for name in of_wsgiauth if not name.startswith("wsgiauth.extend")}
    assert others == set()


def run(*command, **options):
    """Run a command; on failure, show what it has written."""
    ran = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_its_types_are_complete():
    run(sys.executable, "-m", "mypy", "--strict", "--exclude", "/migrations/", PACKAGE, cwd=ROOT)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory):
    """Return the folder with the wheels of wsgiauth and of the example, from copies."""
    folder = tmp_path_factory.mktemp("wheels")
    for name, source in (("wsgiauth", ROOT), ("organisations", FOLDER)):
        copy = folder / name
        ignored = shutil.ignore_patterns(".*", "*.egg-info", "build", "artefacts", "docs", "tests")
        shutil.copytree(source, copy, ignore=ignored)
        options = ("--no-deps", "--no-build-isolation", "--disable-pip-version-check", "--quiet")
        run(sys.executable, "-m", "pip", "wheel", *options, "--wheel-dir", folder, ".", cwd=copy)
    return folder


def test_its_wheel_has_templates_catalogues_and_migrations(wheels):
    (wheel,) = wheels.glob("wsgi_accounts_organisations-*.whl")
    found = set(zipfile.ZipFile(wheel).namelist())
    files = {path for path in PACKAGE.rglob("*.*") if path.suffix not in (".po", ".pyc")}
    assert {str(path.relative_to(FOLDER)) for path in files if path.is_file()} <= found


@pytest.fixture(scope="module")
def python(wheels, tmp_path_factory):
    """Return the Python of an environment with both wheels, and what its tests import."""
    folder = tmp_path_factory.mktemp("environment")
    uv = (sys.executable, "-m", "uv", "--quiet")
    run(*uv, "venv", "--python", sys.executable, folder)
    python = folder / "bin/python"
    run(*uv, "pip", "install", "--python", python, *wheels.glob("*.whl"), *TESTS)
    return python


def environ(**further):
    """Return the environment of a program that sees nothing of this checkout."""
    return {"PATH": os.environ["PATH"], "SECRET_KEY": SECRET_KEY, **further}


def test_its_tests_pass_on_the_wheels(python, tmp_path):
    shutil.copytree(FOLDER / "tests", tmp_path / "tests")
    run(python, "-m", "pytest", "--quiet", "tests", cwd=tmp_path, env=environ())


@pytest.mark.parametrize("kind", ["postgresql", "mariadb"])
def test_its_tests_pass_on_a_server(kind, server_urls, tmp_path):
    shutil.copytree(FOLDER / "tests", tmp_path / "tests")
    set_up = {"FEATURES": "wsgi_accounts_organisations:FEATURE", "DATABASE_URL": server_urls(kind)}
    env = environ(PYTHONPATH=f"{ROOT}{os.pathsep}{FOLDER}", **set_up)
    run(sys.executable, "-m", "wsgiauth", "migrate", cwd=tmp_path, env=env)
    run(sys.executable, "-m", "pytest", "--quiet", "tests", cwd=tmp_path, env=env)


def test_its_program_is_served_as_the_page_says(python, tmp_path):
    shutil.copy(FOLDER / "rooms_site.py", tmp_path)
    install, *exports, serve = (command for command, _ in shown(PAGE, "Run it"))
    assert install == "pip install ."
    variables = dict(re.findall(r"(\w+)=(\S+)", " ".join(exports)))
    command = f"{python} {serve.removeprefix('python ')}"
    with running(command, cwd=tmp_path, env=environ(**variables)) as port:
        address = f"http://127.0.0.1:{port}"
        with httpx.Client(base_url=address, headers=BROWSER) as client:
            assert "/auth/login?next=" in client.get("/rooms/engines").headers["Location"]
