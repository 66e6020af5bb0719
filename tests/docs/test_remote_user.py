"""docs/examples/README.md: Trac knows the user of a session and of an API key by REMOTE_USER."""

import os
import re
import shlex
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.docs.accounts import settings_of
from tests.docs.pages import PAGES, save_programs, shown
from tests.support.sites import SECRET_KEY, free_port, started
from tests.support.versions import ROOT, python_with
from wsgiauth import AuthMiddleware, storage
from wsgiauth.testing import api_key, bearer, make_user

PAGE = PAGES["docs/examples/README.md"]
TRAC = ("Trac>=1.6", "setuptools<81")  # whose pkg_resources Trac imports
USE = "tracker.use"


@pytest.fixture
def tracker(tmp_path, empty_file):
    """Run the commands of the page; return the site's accounts and the address of Trac."""
    (tmp_path / "wsgiauth.db").write_bytes(Path(empty_file).read_bytes())
    save_programs(PAGE, tmp_path)
    site = AuthMiddleware(lambda *_: [], settings_of(tmp_path))
    python = Path(python_with(*TRAC))
    environ = {
        "PATH": f"{python.parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{tmp_path}:{ROOT}",
        "SECRET_KEY": SECRET_KEY,
        "BCRYPT_ROUNDS": "4",
    }
    port = free_port()
    *prepare, serve = [each for each, _ in shown(PAGE, "Applications that read REMOTE_USER")]
    quiet = {"cwd": tmp_path, "env": environ, "stderr": subprocess.DEVNULL}
    for command in prepare:
        subprocess.run(shlex.split(command), check=True, stdout=subprocess.DEVNULL, **quiet)
    command = ["env", *shlex.split(serve.replace("8080", str(port)))]
    with started(command, port, stdout=subprocess.DEVNULL, **quiet):
        yield site, f"http://127.0.0.1:{port}/about"
    storage.discard_connection(site.database)


def test_trac_knows_the_user_of_a_session_and_of_a_key(tracker):
    site, url = tracker
    for name in ("ada", "grace"):
        user = make_user(site, name, permissions=[USE])
        for headers in (bearer(site, user), api_key(site, user, [USE])):
            page = httpx.get(url, headers={**headers, "Remote-User": "root"})
            assert page.status_code == 200
            assert re.search(r"logged in as\s*(?:<[^>]+>)*(\d+)", page.text)[1] == str(user.id)
            assert ("System Information" in page.text) is (name == "ada")  # its administrator


def test_a_key_without_the_permission_opens_nothing(tracker):
    site, url = tracker
    user = make_user(site, "ada", permissions=[USE])
    assert httpx.get(url, headers=api_key(site, user)).status_code == 403
    assert httpx.get(url).status_code == 401
