"""The certified provider `oidc-provider` of npm, in a process, and a person at its pages.

with oidc_provider() as provider:
    provider.configure(address)  # of a site that has the entry `provider.entry()`
    person = Person(provider.issuer)
    url = person.log_in(location, "grace")  # the site's, with the code
"""

import json
import os
import re
import subprocess
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode, urljoin, urlsplit

import httpx

from tests.conftest import require_program, skip_or_fail
from tests.support.leftovers import ending_with_parent
from tests.support.sites import end

CLIENT_ID, CLIENT_SECRET = "wsgiauth", "the-secret-of-the-client"
SCRIPT = Path(__file__).with_name("oidc_provider.mjs")


@contextmanager
def oidc_provider():
    """Run the provider, with a client that no site has yet."""
    require_program("node")
    modules = os.environ.get("CERTIFIED_PROVIDER") or skip_or_fail(
        "CERTIFIED_PROVIDER does not name a folder: see .ci/run"
    )
    command = ending_with_parent(["node", str(SCRIPT), modules])
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            provider = OidcProvider(process)
            provider.configure("http://localhost")
            yield provider
        finally:
            end(process)


class OidcProvider:
    """A provider that runs in a process.

    Attributes:
        issuer: Its address, on localhost.
    """

    def __init__(self, process):
        self._process = process

    def configure(
        self,
        site,
        name="work",
        *,
        people=None,
        keys=("1",),
        algorithm="RS256",
        conform=True,
        **client,
    ):
        """Know a site at this address, and these people, from now on.

        Args:
            site: The address; nothing but its origin and the path of a mount.
            name: That of the entry of OIDC_PROVIDERS.
            people: Claims of people by their login, with `amr` and `acr` of their logins.
            keys: Names of the published keys, of which the first signs, by `algorithm`.
            conform: Whether only userinfo says something about people.
            client: What is otherwise in the client's metadata.
        """
        metadata = {
            "client_id": CLIENT_ID,
            "client_secret": CLIENT_SECRET,
            "redirect_uris": [f"{site}/auth/oidc/{name}/callback"],
            "post_logout_redirect_uris": [f"{site}/auth/login"],
            "backchannel_logout_uri": f"{site}/auth/oidc/{name}/logout",
            "backchannel_logout_session_required": True,
            "id_token_signed_response_alg": algorithm,
            **client,
        }
        configuration = {
            "clients": [metadata],
            "people": people or {},
            "keys": keys,
            "algorithm": algorithm,
            "conform": conform,
        }
        self._process.stdin.write(f"{json.dumps(configuration)}\n")
        self._process.stdin.flush()
        self.issuer = self._process.stdout.readline().strip()

    def entry(self, name="work", **parameters):
        """Return the entry of OIDC_PROVIDERS, with parameters such as `link="verified"`."""
        return entry_of(self.issuer, name, **parameters)


def entry_of(issuer, name="work", **parameters):
    """Return the entry of an issuer on localhost."""
    query = f"?{urlencode(parameters)}" if parameters else ""
    return f"{name}:http://{CLIENT_ID}:{CLIENT_SECRET}@{urlsplit(issuer).netloc}{query}"


class Person:
    """A browser that sends the forms of a provider's pages, and keeps its cookies.

    Attributes:
        client: Keeps the cookies, also of other sites.
        pages: What it has seen there.
    """

    def __init__(self, issuer):
        self.issuer = issuer
        self.client = httpx.Client(timeout=60)
        self.pages = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.client.close()

    def log_in(self, location, login="ada"):
        """Begin at a URL of the provider, and return the URL of the site that follows."""
        return self.visit(location, login=login, password="any password")

    def visit(self, url, **fields):
        """Do so with these fields in each form; return the URL of the site, or of the last page."""
        answer = self.client.get(url)
        while True:
            if answer.is_redirect:
                url = urljoin(str(answer.url), answer.headers["Location"])
                if not url.startswith(f"{self.issuer}/"):
                    return url
                answer = self.client.get(url)
            else:
                assert answer.status_code == 200, answer.text
                self.pages.append(answer.text)
                form = re.search(r'<form[^>]* method="post"[^>]*>', answer.text)
                if form is None:
                    return str(answer.url)
                answer = self._submit(answer, form[0], fields)

    def cancel(self, location):
        """Refuse to log in, and return the URL of the site that follows."""
        page = self.client.get(location, follow_redirects=True)
        (url,) = re.findall(r'href="([^"]+/abort)"', page.text)
        return self.visit(url)

    def _submit(self, page, form, fields):
        action = re.search(r' action="([^"]+)"', form)
        hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text)
        url = urljoin(str(page.url), action[1] if action else "")
        return self.client.post(url, data={**dict(hidden), **fields})
