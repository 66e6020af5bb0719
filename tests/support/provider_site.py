"""A site that is an OpenID provider, on a server, and a person with a browser who logs in there."""

from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import urljoin

import httpx
from bs4 import BeautifulSoup

from tests.support.oauth_apps import App, as_provider
from tests.support.service_keys import new_key, pem_of, write_key
from tests.support.sites import (
    BROWSER,
    EMAIL,
    PASSWORD,
    SAME_ORIGIN,
    USERNAME,
    Stage,
    echo,
    free_port,
    serving,
)
from wsgiauth import AuthMiddleware, storage
from wsgiauth.accounts import delete_user, find_user, update_user
from wsgiauth.storage import context
from wsgiauth.testing import make_settings, make_user

PROGRAMS = Path(__file__).parent  # where those of apps are
_numbers = count(1)  # of users
ALGORITHMS = ("EdDSA", "ES256", "RS256")  # the last one signs by default


class ProviderSite:
    """A provider on a server.

    Attributes:
        address: Also the issuer.
        app: The middleware.
    """

    def __init__(self, address, app):
        self.address, self.app = address, app

    def register(self, name, uri, **options):
        """Return a new client; see `clients.create`."""
        return App(self.app, name, uri, **options)

    def add_user(self, username, email="", **options):
        """Return a new user with the password of all."""
        email = email or f"{username}-{next(_numbers)}@example.org"
        return make_user(self.app, username, email=email, password=PASSWORD, **options)

    def change(self, user, **fields):
        """Change fields of a user; see `update_user`."""
        with context.using(self.app.database):
            update_user(user, **fields)

    def delete(self, user):
        """Delete a user."""
        with context.using(self.app.database):
            delete_user(user)

    @property
    def ada(self):
        """The user of the person."""
        with context.using(self.app.database):
            return find_user(USERNAME)


@contextmanager
def provider_site(folder, **changes):
    """Serve a provider that works in a folder, with Ada as its user; yields a ProviderSite."""
    keys = folder / "keys"
    keys.mkdir()
    for number, each in enumerate(ALGORITHMS):
        write_key(keys / f"{number}.pem", pem_of(new_key(each)))
    port = free_port()
    address = f"http://localhost:{port}"
    settings = make_settings(DATABASE_URL=f"sqlite:///{folder}/accounts.db")
    stage = Stage()
    stage.app = AuthMiddleware(echo, as_provider(settings, keys, PUBLIC_URL=address, **changes))
    make_user(stage.app, USERNAME, email=EMAIL, password=PASSWORD, is_verified=True)
    with serving(stage, listen=f"127.0.0.1:{port}"):
        yield ProviderSite(address, stage.app)
    storage.discard_connection(stage.app.database)


class Person:
    """A user with a browser, usually Ada, who logs in and allows each app when asked.

    Attributes:
        app: The user's authenticator app, if there is one.
        pages: The titles of the pages of the site whose forms were sent.
    """

    def __init__(self, address, username=USERNAME):
        self.address, self.username = address, username
        self.app = None
        self.http = httpx.Client(timeout=60, event_hooks={"response": [self._take_cookies]})
        self.pages = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.http.close()

    def visit(self, url, until=None):
        """Open a URL; return the last page, or the URL that begins with `until`."""
        answer = self.http.get(url, headers=BROWSER)
        while True:
            if answer.is_redirect:
                url = urljoin(str(answer.url), answer.headers["Location"])
                if until is not None and url.startswith(until):
                    return url
                answer = self.http.get(url, headers=BROWSER)
            elif str(answer.url).startswith(f"{self.address}/auth/") and answer.status_code == 200:
                answer = self._submit(answer)
            else:
                return answer

    def log_out(self):
        self._send("/auth/logout")

    def revoke(self, client_id):
        """Revoke an app."""
        self._send("/auth/apps", revoke=client_id)

    def _take_cookies(self, _):
        """Send cookies with `Secure` to loopback addresses without TLS, as browsers do."""
        for each in self.http.cookies.jar:
            each.secure = False

    def _send(self, path, **fields):
        headers = {**SAME_ORIGIN, "Accept": "application/json"}
        answer = self.http.post(f"{self.address}{path}", data=fields, headers=headers)
        assert answer.is_success, answer.text

    def _submit(self, answer):
        page = BeautifulSoup(answer.text, "html.parser")
        self.pages.append(page.h1.get_text(strip=True))
        field = page.select_one(
            "[name=decision], [name=password], [name=code], [action*=logout] [name=account]"
        )
        assert field is not None, f"{answer.url} has no form for a person"
        form = field.find_parent("form")
        hidden = {each["name"]: each["value"] for each in form.select("input[type=hidden]")}
        fields = hidden | self._typed(field["name"])
        url = urljoin(str(answer.url), form.get("action", ""))
        return self.http.post(url, data=fields, headers=SAME_ORIGIN)

    def _typed(self, name):
        if name == "decision":
            return {"decision": "allow"}
        if name == "code":
            return {"code": self.app.code()}
        if name == "account":  # the question whether to log out
            return {}
        return {"username": self.username, "password": PASSWORD}
