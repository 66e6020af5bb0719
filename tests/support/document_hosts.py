"""Hosts that serve documents of apps, in a network of its own: prints what the site says of each.

Run as `unshare --net --mount python -m tests.support.document_hosts CERTIFICATE`, by root.
"""

import json
import ssl
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from socket import create_server
from threading import Thread

from tests.support.oauth_apps import DocumentApp, as_provider
from tests.support.service_keys import new_key, pem_of, write_key
from tests.support.sites import BROWSER, echo
from wsgiauth import AuthMiddleware
from wsgiauth.testing import logged_in, make_settings

PUBLIC = "93.184.216.34"
INSIDE = {"private": "10.0.0.5", "metadata": "169.254.169.254", "loopback": "127.0.0.1"}
PATHS = ("redirect", "endless", "slow", "compressed")  # besides /app
JSON = "Content-Type: application/json\r\n"


class Hosts:
    """Servers at port 443 of several addresses."""

    def __init__(self, certificate):
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate)
        self.connected = []  # the addresses, in the order of the connections
        for address in (PUBLIC, *INSIDE.values()):
            listener = create_server((address, 443))
            Thread(target=self._accept, args=(address, listener), daemon=True).start()

    def _accept(self, address, listener):
        while True:
            connection, _ = listener.accept()
            self.connected.append(address)
            Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with suppress(OSError), self._context.wrap_socket(connection, server_side=True) as tls:
            head = tls.recv(65536).decode()
            path, host = head.split(" ")[1], head.split("Host: ")[1].split("\r\n")[0]
            answer(tls, path, f"https://{host}{path}")


def answer(connection, path, url):
    document = {"client_id": url, "redirect_uris": ["http://localhost:33418/callback"]}
    body = json.dumps(document)
    if path == "/redirect":
        location = f"Location: https://{INSIDE['metadata']}/\r\n"
        connection.sendall(f"HTTP/1.1 302 Found\r\n{location}\r\n".encode())
        return
    encoding = "Content-Encoding: gzip\r\n" if path == "/compressed" else ""
    connection.sendall(f"HTTP/1.1 200 OK\r\n{JSON}{encoding}\r\n".encode())
    while path in ("/endless", "/slow"):
        connection.sendall(b" " * (1 if path == "/slow" else 1000))
        time.sleep(0.2 if path == "/slow" else 0)
    connection.sendall(body.encode())


def main(certificate):
    names = {"public": [PUBLIC], "both": [PUBLIC, INSIDE["private"]]}
    names |= {name: [address] for name, address in INSIDE.items()}
    with tempfile.TemporaryDirectory() as folder:
        known = Path(folder) / "hosts"
        lines = [f"{each} {name}.example.com\n" for name in names for each in names[name]]
        known.write_text("".join(lines))
        run("ip", "link", "set", "lo", "up")
        for address in (PUBLIC, INSIDE["private"], INSIDE["metadata"]):
            run("ip", "address", "add", f"{address}/32", "dev", "lo")
        run("mount", "--bind", str(known), "/etc/hosts")
        hosts = Hosts(certificate)
        key = write_key(Path(folder) / "key", pem_of(new_key("ES256")))
        settings = as_provider(make_settings(), key, OAUTH_REGISTRATION=True)
        browser = logged_in(AuthMiddleware(echo, settings))
        urls = [f"https://{name}.example.com/app" for name in names]
        urls += [f"https://public.example.com/{path}" for path in PATHS]
        print(json.dumps({url: said(browser, hosts, url) for url in urls}))


def said(browser, hosts, url):
    """Return what the site says to a user who comes with a URL, and to what it has connected."""
    hosts.connected.clear()
    app = DocumentApp(browser.app)
    app.client_id = url
    page = browser.get(app.url(), headers=BROWSER, status=(303, 400))
    words = "consent" if page.status_int == 303 else page.html.h1.find_next("p").text
    return [words, hosts.connected[:]]


def run(*command):
    subprocess.run(command, check=True)


if __name__ == "__main__":
    main(sys.argv[1])
