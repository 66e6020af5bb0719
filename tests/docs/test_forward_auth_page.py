"""docs/forward-auth.md: from nothing to a folder and a service behind a login, by its commands.

tests/frameworks/test_forward_auth.py attacks its configurations, also those of Caddy and Traefik.
"""

import os
import re
import shutil
import subprocess
import sys
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.conftest import require_program, skip_or_fail
from tests.docs.pages import PAGES, ROOT, code, save_programs, section
from tests.docs.reader import Reader
from tests.support.sites import PASSWORD, SAME_ORIGIN, free_port, started

PAGE = PAGES["docs/forward-auth.md"]
BEGINNING = section(PAGE, "A folder of files behind a login")
SERVICE = section(PAGE, "A service in any language")
LINKED = ROOT / "docs/examples/forward-auth"


@pytest.fixture
def reader(tmp_path):
    """Return a reader with a folder of files, and with nginx and Node."""
    require_program("node")
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}:/usr/sbin"
    if shutil.which("nginx", path=path) is None:
        skip_or_fail("nginx is not installed")
    (tmp_path / "files").mkdir()
    (tmp_path / "files/report.txt").write_text("private", encoding="utf-8")
    environ = {"PATH": path, "BCRYPT_ROUNDS": "10", "PYTHONUNBUFFERED": "1"}
    reader = Reader(tmp_path, environ, free_port())
    yield reader
    reader.leave()


def test_the_commands_put_a_folder_and_a_service_behind_a_login(reader):
    front, back = free_port(), free_port()
    ports = {"8000": str(front), "3000": str(back)}
    beginning, service = (
        re.sub(r"\b(8000|3000)\b", lambda found: ports[found[0]], text)
        for text in (BEGINNING, SERVICE)
    )
    beginning = beginning.replace(" serve ", f" serve --listen 127.0.0.1:{reader.port} ")
    save_programs(service, reader.folder)
    quiet = {"cwd": reader.folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def ask(path, method="GET", body=None, **headers):
        with closing(HTTPConnection("127.0.0.1", front)) as connection:
            connection.request(method, path, body, {**SAME_ORIGIN, **headers})
            response = connection.getresponse()
            return response, response.read().decode()

    with ExitStack() as stack:

        def keep_key(reader, _):
            key = (reader.folder / "secret.key").read_text("utf-8")
            reader.environ["SECRET_KEY"] = key.strip()

        def start_nginx(_, command):
            # Run by root, its workers could not read the folder of a test.
            arguments = [*command.split(), "-g", "master_process off;"]
            stack.enter_context(started(arguments, front, env=reader.environ, **quiet))

        instead = {"export": keep_key, "nginx": start_nginx}
        reader.follow(beginning, {}, instead)
        stack.enter_context(started(["node", "service.js"], back, env=reader.environ, **quiet))
        assert ask("/public/")[1] == "Hello!\n"
        refused, _ = ask("/report.txt")
        assert refused.headers["Location"] == "/auth/login?next=%2Freport.txt"
        fields = urlencode({"username": "ada", "password": PASSWORD, "next": "/report.txt"})
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        sent, _ = ask("/auth/login", "POST", fields, **form)
        assert sent.headers["Location"] == "/report.txt"
        cookie = {"Cookie": sent.headers["Set-Cookie"].partition(";")[0]}
        report, text = ask("/report.txt", **cookie)
        assert (text, report.headers["Cache-Control"]) == ("private", "private, no-cache")
        assert ask("/service/admin/", **cookie)[1] == "Hello, ada!\n"


def test_the_three_configurations_ask_the_same_login_for_the_same_service():
    nginx = next(each for each in code(PAGE, "nginx") if each.startswith("# nginx.conf\n"))
    others = [(LINKED / name).read_text("utf-8") for name in ("Caddyfile", "routes.yml")]
    for text in (nginx, *others):
        assert {"3000", "8080"} <= set(re.findall(r"127\.0\.0\.1:(\d+)", text))


def test_the_page_links_the_other_files_and_shows_parts_of_them():
    linked = re.findall(r"\]\(examples/forward-auth/(.+?)\)", PAGE)
    assert sorted(linked) == ["Caddyfile", "fastcgi_headers.conf", "routes.yml", "traefik.yml"]
    (middleware,) = code(PAGE, "yaml")
    assert middleware in (LINKED / "routes.yml").read_text("utf-8")
