"""What people would put in front of an application instead of wsgiauth, to be timed beside it.

Each peer is an application with one view, which answers with the name of its caller, behind the
same checks: the token's HS256 signature and expiry; its login not revoked, a row by primary key;
its user loaded, a row by primary key, and active. `check` shows that all of it is done, on every
request. The views are as small as their frameworks allow. Another, at /open, asks nobody for
anything: what is left of a peer's time without that one's is what identifying the caller costs.

All read the same SQLite file in WAL mode, each over one connection for each thread that stays
open. In doubt, a peer was made faster; its module says how. Above all, every peer asks for login
and user in one joined query, where the manuals show two.
"""

import importlib
import sys
from typing import NamedTuple
from wsgiref.util import setup_testing_defaults

from tests.load.peers.accounts import Accounts

PEERS = {
    "Flask-JWT-Extended": "flask_jwt",
    "Django REST, simplejwt": "django_rest",
    "Pyramid, pyramid_jwt": "pyramid_app",
    "PyJWT and Peewee": "peewee_middleware",
}
INSTALL = "make .venv/bench"

ENVIRON = {"REMOTE_ADDR": "127.0.0.1", "QUERY_STRING": ""}
setup_testing_defaults(ENVIRON)


class Answer(NamedTuple):
    line: str
    body: bytes

    @property
    def status(self):
        return int(self.line[:3])


class Peer:
    """An application that wants a token, and tokens for it.

    Attributes:
        accounts: Who can log in, and out again.
        token: One to be used again and again; used once already.
        tokens: Yields those never used before, as many as there are sessions.
    """

    def __init__(self, app, accounts):
        self._app = app
        self.accounts = accounts
        self.token = accounts.log_in(1)
        self.tokens = iter(accounts.tokens)
        self.request(self.token)

    def request(self, token=None, path="/"):
        """Make one request, with `token` if there is one, and read the whole answer."""
        environ = {**ENVIRON, "PATH_INFO": path}
        if token is not None:
            environ["HTTP_AUTHORIZATION"] = f"Bearer {token}"
        answered = []
        chunks = self._app(environ, lambda status, *_: answered.append(status))
        try:
            body = b"".join(chunks)
        finally:
            if hasattr(chunks, "close"):
                chunks.close()
        return Answer(answered[0], body)


def peers(folder, users=10_000, sessions=10_000):
    """Return the peers by name, as far as they are installed; the others are told on stderr.

    Django can be set up only once in a process, and so can they.
    """
    accounts = Accounts(folder / "peers.db", users, sessions)
    found = {}
    for name, module in PEERS.items():
        try:
            peer = importlib.import_module(f"tests.load.peers.{module}")
        except ImportError as error:
            print(f"{name} is left out: {error}. To have it: {INSTALL}", file=sys.stderr)
        else:
            found[name] = Peer(peer.application(accounts.path), accounts)
    return found


def check(peer):
    """Raise AssertionError unless the peer lets in whom it should, as themselves, and nobody else.

    What is revoked was let in before, so that nothing remembered can pass for a look at the table.
    """
    accounts = peer.accounts
    ada, bob = accounts.log_in(1), accounts.log_in(2)
    assert peer.request(path="/open").body == b"anybody", "the view for anybody"
    assert peer.request(ada).body == accounts.username(1).encode(), "a good token"
    assert peer.request(bob).body == accounts.username(2).encode(), "another good token"
    for name, token in _bad_tokens(accounts, ada).items():
        assert peer.request(token).status == 401, name
    accounts.log_out(ada)
    assert peer.request(ada).status == 401, "a revoked token"
    accounts.set_active(2, False)
    assert peer.request(bob).status in (401, 403), "an inactive user's token"
    accounts.set_active(2, True)
    assert peer.request(bob).status == 200, "a token of a user who is active again"


def _bad_tokens(accounts, token):
    signed, _, signature = token.rpartition(".")
    spoilt = ("B" if signature[0] == "A" else "A") + signature[1:]
    return {
        "no token": None,
        "a token with a spoilt signature": f"{signed}.{spoilt}",
        "a token without a signature": f"{signed}.",
        "an expired token": accounts.log_in(1, lifetime=-1),
        "a token with another user's id": accounts.log_in(1, subject=2),
    }
