"""Firefox, and WebKit as GTK has it: browsers of other engines than Chromium's.

Each works in a folder of its own, takes any certificate, and asks a proxy for all that is not
https.
"""

import os
import shutil
import subprocess
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from selenium import webdriver
from selenium.webdriver.remote.client_config import ClientConfig
from selenium.webdriver.remote.remote_connection import RemoteConnection

from tests.conftest import require_program, skip_or_fail
from tests.support.leftovers import ending_with_parent, script_ending_with_parent
from tests.support.marionette import Marionette
from tests.support.sites import end, free_port

# A port that Firefox chooses. Back leads to the page before, whether it was clicked on or not.
PREFERENCES = """
user_pref("marionette.port", 0);
user_pref("browser.navigation.requireUserInteraction", false);
"""
MINIBROWSER = "webkit2gtk-4.1/MiniBrowser"
SCREEN = "1280x1024x24"
WITHOUT_DESKTOP = {  # whose services would be started, and outlive the browser
    "DBUS_SESSION_BUS_ADDRESS": "disabled:",
    "GSETTINGS_BACKEND": "memory",
    "NO_AT_BRIDGE": "1",
}


@contextmanager
def firefox(folder, proxy):
    """Run Firefox without a screen; yields what drives it.

    Args:
        folder: An empty one.
        proxy: The host and port of the proxy.
    """
    require_program("firefox-esr")
    (profile := folder / "profile").mkdir()
    (profile / "user.js").write_text(PREFERENCES, encoding="utf-8")
    command = ["firefox-esr", "--headless", "--marionette", "--profile", str(profile)]
    process = subprocess.Popen(
        ending_with_parent(command),
        env={**os.environ, **WITHOUT_DESKTOP, "HOME": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        marionette = Marionette(_port_of(process, profile))
        with _driver(marionette, webdriver.FirefoxOptions(), proxy) as browser:
            yield browser
    finally:
        end(process)


def _port_of(process, profile):
    """Return the port that Firefox has chosen, as soon as it listens there."""
    file = profile / "MarionetteActivePort"
    while process.poll() is None:
        with suppress(FileNotFoundError, ValueError):  # not written yet, or only in part
            return int(file.read_text())
        time.sleep(0.05)
    raise AssertionError("Firefox ended before it listened")


@contextmanager
def webkit(folder, proxy):
    """Run WebKitGTK's MiniBrowser on a screen of its own; yields what drives it.

    The arguments are those of `firefox`.
    """
    for program in ("WebKitWebDriver", "Xvfb"):
        require_program(program)
    binary = next(Path("/usr/lib").glob(f"*/{MINIBROWSER}"), None)  # where Debian has it
    if binary is None:
        skip_or_fail(f"{MINIBROWSER} is not installed")
    options = webdriver.WebKitGTKOptions()
    options.binary_location = script_ending_with_parent(str(binary), folder)
    options.add_argument("--automation")
    program = script_ending_with_parent(shutil.which("WebKitWebDriver"), folder)
    with _screen() as display:
        environ = {**os.environ, **WITHOUT_DESKTOP, "HOME": str(folder), "DISPLAY": display}
        service = webdriver.WebKitGTKService(program, free_port(), env=environ)
        service.start()
        try:
            # Not `webdriver.WebKitGTK`, which warns of the way in which it connects.
            connection = RemoteConnection(client_config=ClientConfig(service.service_url))
            with _driver(connection, options, proxy) as browser:
                yield browser
        finally:
            service.stop()


@contextmanager
def _screen():
    """Run Xvfb; yields the display that it has chosen."""
    with ExitStack() as ends:
        reader, writer = os.pipe()
        answer = ends.enter_context(os.fdopen(reader))
        with os.fdopen(writer, "w"):
            command = ["Xvfb", "-displayfd", str(writer), "-nolisten", "tcp", "-screen", "0"]
            server = subprocess.Popen(
                ending_with_parent([*command, SCREEN]),
                pass_fds=[writer],
                stderr=subprocess.DEVNULL,
            )
        ends.callback(end, server)
        number = answer.readline().strip()
        assert number, "Xvfb ended before it answered"
        yield f":{number}"


def _driver(connection, options, proxy):
    options.set_capability("acceptInsecureCerts", True)
    options.set_capability("proxy", {"proxyType": "manual", "httpProxy": proxy})
    return webdriver.Remote(connection, options=options)
