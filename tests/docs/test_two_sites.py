"""docs/examples/two-sites: a user of the first site logs in to the second."""

import re
import subprocess

import httpx
import pytest
from bs4 import BeautifulSoup

from tests.conftest import require_program
from tests.docs.pages import PAGES, shown
from tests.support.sites import BROWSER, SAME_ORIGIN, free_port, started

PAGE = PAGES["docs/examples/two-sites/README.md"]


class Reader:
    """A browser of a person who fills in forms."""

    def __init__(self, client):
        self.client = client

    def open(self, url):
        self.page = self.client.get(url).raise_for_status()

    def press(self, label, **fields):
        """Send the form that has a button, with some fields filled in."""
        soup = BeautifulSoup(self.page.text, "html.parser")
        button = next(each for each in soup.find_all("button") if each.text.strip() == label)
        form = button.find_parent("form")
        sent = {
            each["name"]: each.get("value", "") for each in form.find_all("input", {"name": True})
        }
        sent |= {button["name"]: button["value"]} if button.get("name") else {}
        url = str(self.page.url.join(button.get("formaction") or form["action"]))
        answer = self.client.post(url, data=sent | fields, headers=SAME_ORIGIN)
        self.page = answer.raise_for_status()


@pytest.fixture
def reader():
    """Return a browser that follows redirects between the sites."""
    with httpx.Client(follow_redirects=True, headers=BROWSER) as client:
        yield Reader(client)


@pytest.fixture
def addresses(folder, environ, administrator):
    """Serve the two sites as the page says, on other ports; return their addresses."""
    require_program("openssl")
    ports = {"8000": str(free_port()), "8001": str(free_port())}
    of_site = shown(PAGE, "Run it")
    made = [re.sub("800[01]", lambda found: ports[found[0]], command) for command, _ in of_site]
    *prepare, serve_site, set_shop, set_provider, serve_shop = made
    printed = script(prepare, folder, environ)
    (client_id,) = re.findall("^client_id: (.+)$", printed, re.MULTILINE)
    (secret,) = re.findall("^client_secret: (.+)$", printed, re.MULTILINE)
    provider = set_provider.replace("ID:SECRET", f"{client_id}:{secret}")
    exports = [each for each in prepare if each.startswith("export ")]
    with (
        served([*exports, serve_site], ports["8000"], folder, environ),
        served([set_shop, provider, serve_shop], ports["8001"], folder, environ),
    ):
        yield [f"http://localhost:{port}" for port in ports.values()]


def script(commands, folder, environ):
    done = subprocess.run(
        ["bash", "-euc", "\n".join(commands)],
        cwd=folder,
        env=environ,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def served(commands, port, folder, environ):
    *exports, serve = commands
    command = ["bash", "-euc", "\n".join([*exports, f"exec {serve}"])]
    options = {"cwd": folder, "env": environ, "stderr": subprocess.DEVNULL}
    return started(command, int(port), **options)


def test_a_user_of_the_first_site_logs_in_to_the_second(addresses, reader):
    site, shop = addresses
    reader.open(f"{shop}/")
    reader.press("Log in with Home")
    assert str(reader.page.url).startswith(f"{site}/auth/login")
    reader.press("Log in", username="ada", password="four unrelated words")
    assert "Shop" in reader.page.text
    assert "See your email address" in reader.page.text
    reader.press("Allow")
    assert str(reader.page.url).startswith(f"{shop}/auth/complete")
    assert 'value="ada"' in reader.page.text
    reader.press("Create account", username="ada")
    assert str(reader.page.url) == f"{shop}/"
    reader.open(f"{site}/auth/apps")
    assert "Shop" in reader.page.text
