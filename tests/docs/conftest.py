"""A reader's folder with the programs of the pages, and the accounts that they work on."""

import os
import re
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from webtest import TestApp

from tests.docs.accounts import ROUNDS, settings_of
from tests.docs.pages import PAGES, ROOT, save_programs, shown
from tests.support.sites import EMAIL, PASSWORD, SECRET_KEY, USERNAME, running
from wsgiauth import AuthMiddleware, User, hash_password, storage


@pytest.fixture
def folder(tmp_path, empty_file):
    """Return a folder with the programs of all pages but the guide, and an empty file of accounts.

    The guide replaces its own files from step to step.
    """
    for name in PAGES.keys() - {"docs/guide.md"}:
        save_programs(PAGES[name], tmp_path)
    for path in (ROOT / "docs/examples/migration").glob("*.py"):
        shutil.copy(path, tmp_path)
    shutil.copy(empty_file, tmp_path / "wsgiauth.db")
    return tmp_path


@pytest.fixture(scope="session")
def no_drivers(tmp_path_factory):
    """Return a folder that hides a database driver: to import it is a third of a short program."""
    folder = tmp_path_factory.mktemp("no_drivers")
    (folder / "psycopg.py").write_text("raise ImportError\n", encoding="utf-8")
    return folder


@pytest.fixture
def environ(folder, no_drivers):
    """Return the environment of a reader who has followed the pages so far, without PostgreSQL."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "PYTHONPATH": f"{folder}:{no_drivers}",
        "PYTHONUNBUFFERED": "1",
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # importing those of our tests takes most of a run
        "BCRYPT_ROUNDS": str(ROUNDS),
        "SECRET_KEY": SECRET_KEY,
    }


@pytest.fixture
def postgresql_driver(folder, environ):
    """Let the reader have installed what PostgreSQL needs."""
    environ["PYTHONPATH"] = str(folder)


@pytest.fixture
def run(folder, environ):
    """Return a function that runs a script as a reader would, and returns what it prints."""

    def run_script(script):
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=200,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_script


@pytest.fixture
def serve(folder, environ):
    """Return a context manager that runs a command which serves; yields its port."""

    @contextmanager
    def serve_command(command, *before):
        command = re.sub(r"(?<=127\.0\.0\.1:)80\d\d", "$1", command)
        script = "\n".join([*before, f"exec env {command}\n"])
        (folder / "serve.sh").write_text(script, encoding="utf-8")
        with (
            (folder / "log").open("ab") as log,
            running("bash serve.sh 8080", cwd=folder, env=environ, stderr=log) as port,
        ):
            yield port

    return serve_command


@pytest.fixture
def first_program():
    """Return the README's commands, each with its output: export, create, serve."""
    return shown(PAGES["README.md"], "A program")


@pytest.fixture
def administrator(run, first_program):
    """Create the administrator as the README says, and return what that prints."""
    _, (create, _), _ = first_program
    return run(create)


@pytest.fixture
def accounts(folder):
    """Return a client of a site on the file that the programs write, which knows its users."""
    settings = settings_of(folder)
    site = AuthMiddleware(lambda environ, start_response: [], settings)
    yield TestApp(site)
    storage.discard_connection(site.database)


@pytest.fixture
def ada(accounts):
    """Return the superuser of the site."""
    hashed = hash_password(PASSWORD, rounds=ROUNDS)
    return User.create(username=USERNAME, email=EMAIL, hashed_password=hashed, is_superuser=True)
