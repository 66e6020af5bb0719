"""The client of docs/mcp.md: it opens a browser, and uses each server of the page."""

import re
import subprocess

import pytest

from tests.docs.pages import code, save_programs
from tests.support.mcp_servers import NEWEST, PAGE
from tests.support.sites import free_port, started
from tests.support.versions import python_with

PATIENCE = 60  # seconds


@pytest.fixture(scope="module")
def port():
    return free_port()


@pytest.fixture(scope="module")
def changes(port):
    return {"SERVICES": (f"http://127.0.0.1:{port}/mcp",), "OAUTH_REGISTRATION": True}


@pytest.fixture(scope="module")
def folder(site, port, tmp_path_factory):
    """Return a folder with the programs of the page, at the addresses of this test."""
    folder = tmp_path_factory.mktemp("mcp")
    save_programs(PAGE, folder)
    changed = {
        "https://mcp.example.org": f"http://127.0.0.1:{port}",
        "https://example.org": site.address,
        "8083": str(port),
    }
    for script in folder.glob("*.py"):
        text = script.read_text()
        for old, new in changed.items():
            text = text.replace(old, new)
        script.write_text(text)
    return folder


@pytest.mark.parametrize("server", ["notes_fastmcp", "notes_mcp"])
def test_the_client_of_the_page_uses_a_server_of_the_page(site, port, folder, person, server):
    with serving_mcp(site, server, port, folder):
        assert printed_by("notes_client.py", folder, person) == f"{site.ada.id}\n"
    login, consent = person.pages
    assert login == "Log in"
    assert consent.startswith("Log in to localhost:")  # it has registered itself


def test_the_client_of_the_page_can_be_one_that_an_operator_registered(site, port, folder, person):
    (command,) = code(PAGE, "sh")
    uri = re.search(r"--redirect (http://localhost\S+)", command)[1]
    scopes = ["openid", "offline_access", "notes.read"]
    assert f"--scope {' '.join(scopes)}\n" in command
    app = site.register("Assistants", uri, is_public=True, scopes=scopes)
    option = re.search(r'auth=OAuth\(client_id="ID"\)', PAGE)[0].replace("ID", app.id)
    text = (folder / "notes_client.py").read_text().replace('auth="oauth"', option)
    (folder / "own_client.py").write_text(f"from fastmcp.client.auth import OAuth\n{text}")
    with serving_mcp(site, "notes_fastmcp", port, folder):
        assert printed_by("own_client.py", folder, person) == f"{site.ada.id}\n"
    assert "Log in to Assistants" in person.pages


def serving_mcp(site, server, port, folder):
    site.ada.grant("notes.read")
    command = [python_with(*NEWEST), f"{server}.py"]
    return started(command, port, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def printed_by(client, folder, person):
    """Run a client, let a person log in at the URL that it opens, and return what it prints."""
    with subprocess.Popen(
        [python_with(*NEWEST), client],
        cwd=folder,
        env={"BROWSER": "echo", "HOME": str(folder)},  # prints the URL
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as program:
        url = program.stdout.readline().strip()
        assert person.visit(url).status_code == 200
        printed, _ = program.communicate(timeout=PATIENCE)
    return printed
