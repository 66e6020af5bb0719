"""A site whose events are heard, and its user Ada: the cases of `tests/test_events.py` get it."""

import io
import sys
import time
from dataclasses import replace
from functools import partial

import bcrypt
from webtest import TestApp

from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, USERNAME, echo
from wsgiauth import AuthMiddleware, accounts, storage
from wsgiauth.cli import main
from wsgiauth.throttling.throttle import Throttle

ADDRESS = "192.0.2.7"
NEW_PASSWORD = "other unrelated birds"
CREDENTIALS = {"username": USERNAME, "password": PASSWORD}
GRACE = {"username": "Grace", "email": "grace@example.org", "password": NEW_PASSWORD}

# An event is its name, the name of its user, the address of the client, and the reason.
LOGIN = ("login", USERNAME, ADDRESS, "pwd")


class Scene:
    """A site, its user Ada, and all that can happen to them."""

    def __init__(self, settings, monkeypatch):
        self.settings = settings
        self.monkeypatch = monkeypatch
        self.heard = []
        self.app = echo
        self.site = self.made_anew()
        self.client = self.client_of(self.site)
        self.database = storage.current()
        self.ada = accounts.create_user(USERNAME, EMAIL, PASSWORD, settings=settings)

    def made_anew(self, **settings):
        """Return another middleware like this one, with other settings."""
        return AuthMiddleware(
            lambda environ, start_response: self.app(environ, start_response),
            replace(self.settings, **settings),
            on_event=self.heard.append,
        )

    def client_of(self, site, address=ADDRESS):
        return TestApp(site, extra_environ={"REMOTE_ADDR": address})

    def log_in(self, fields=CREDENTIALS, status="*"):
        return self.client.post_json("/auth/login", fields, status=status)

    def log_in_by_form(self, fields=CREDENTIALS, headers=SAME_ORIGIN, status="*"):
        return self.client.post("/auth/login", fields, headers=headers, status=status)

    def register(self, fields=GRACE, status="*"):
        return self.client.post_json("/auth/register", fields, status=status)

    def bearer(self):
        return {"Authorization": f"Bearer {self.log_in().json['access_token']}"}

    def limit(self, **settings):
        """Go on with a site that has other settings, and a clock that stands still for waits."""
        stopped = partial(Throttle, clock=partial(int, time.time()))
        self.monkeypatch.setattr("wsgiauth.site.Throttle", stopped)
        self.client = self.client_of(self.made_anew(**settings))

    def while_hashing(self, action):
        """Do something in the middle of the next comparison of a password."""
        compare = bcrypt.checkpw

        def checkpw(*arguments):
            self.monkeypatch.setattr(bcrypt, "checkpw", compare)
            action()
            return compare(*arguments)

        self.monkeypatch.setattr(bcrypt, "checkpw", checkpw)

    def view(self, app):
        """Ask the wrapped application as Ada, `app` being what it does."""
        headers = self.bearer()
        self.app = app
        return self.client.get("/", headers=headers, status="*")

    def command(self, *argv, stdin=""):
        """Run a command of the command line."""
        self.monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        self.monkeypatch.setenv("DATABASE_URL", self.settings.DATABASE_URL)
        self.monkeypatch.setenv("BCRYPT_ROUNDS", "4")
        assert main(argv) == 0
