"""The MCP servers of the documentation, which ask the provider of a test for tokens."""

import subprocess
from contextlib import contextmanager

from tests.docs.pages import PAGES, save_programs
from tests.support.sites import started
from tests.support.versions import python_with

PAGE = PAGES["docs/mcp.md"]
NEWEST = ("fastmcp>=4.2.3", "mcp>=2.3", "pyjwt[crypto]")
PERMISSION = "notes.read"


@contextmanager
def mcp_server(site, program, port, folder):
    """Run a program of the page, at other addresses, and let Ada use it."""
    site.ada.grant(PERMISSION)
    save_programs(PAGE, folder)
    script = folder / f"{program}.py"
    host = f"http://127.0.0.1:{port}"
    text = script.read_text().replace("https://example.org", site.address)
    script.write_text(text.replace("https://mcp.example.org", host).replace("8083", str(port)))
    with started([python_with(*NEWEST), str(script)], port, stderr=subprocess.DEVNULL):
        yield
