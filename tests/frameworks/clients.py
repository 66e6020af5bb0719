"""A client of servers, and the accounts of the site that they serve."""

import json
from types import SimpleNamespace
from urllib.parse import urlencode

from tests.support.sites import EMAIL, PASSWORD, SAME_ORIGIN, SECRET_KEY, USERNAME
from wsgiauth import Settings, storage
from wsgiauth.accounts import create_user

PATIENCE = 60  # seconds, after which an answer counts as missing
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded", **SAME_ORIGIN}
ACCOUNT = {"username": USERNAME, "password": PASSWORD}


def settings_of(folder):
    """Return the settings of a site whose accounts are in this folder, with Ada's among them."""
    settings = Settings(
        SECRET_KEY=SECRET_KEY, BCRYPT_ROUNDS=4, DATABASE_URL=f"sqlite:///{folder}/accounts.db"
    )
    storage.open_database(settings.DATABASE_URL)
    create_user(USERNAME, EMAIL, PASSWORD, settings=settings)
    storage.discard_connection(storage.current())
    return settings


class Client:
    """Sends each request over a connection of its own."""

    def __init__(self, connect):
        self.connect = connect

    def ask(self, method, path, body=None, headers=None):
        connection = self.connect()
        connection.request(method, path, body, headers or {})
        answer = self.read(connection.getresponse())
        connection.close()
        return answer

    def read(self, response):
        document = response.read()
        is_json = response.headers.get("Content-Type", "").endswith("json")
        return SimpleNamespace(
            status=response.status,
            headers=response.headers,
            json=json.loads(document) if is_json else None,
        )

    def bearer(self, prefix=""):
        token = self.ask("POST", f"{prefix}/auth/login", json.dumps(ACCOUNT), JSON).json
        return {"Authorization": f"Bearer {token['access_token']}"}

    def log_in(self, prefix="", **fields):
        return self.ask("POST", f"{prefix}/auth/login", urlencode({**ACCOUNT, **fields}), FORM)


def cookie(answer):
    return {"Cookie": answer.headers["Set-Cookie"].partition(";")[0]}
