"""What requests that change rows cost in the process, beside the floor of a request that does not.

Processor time, because a commit waits for the disk or the server. bcrypt's results are remembered:
it would take a hundred times as long as the rest. No thread sends the emails.
"""

import io
import json
import time
from base64 import b64encode
from collections import deque
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import cycle
from unittest.mock import patch
from urllib.parse import urlencode

import bcrypt

from tests.conftest import HASH_OF_PASSWORD
from tests.load.bench import measure, print_table
from tests.load.bench.databases import DATABASES, fresh_database
from tests.load.bench.provider import SOME, Provider
from tests.load.bench.requests import ENVIRON, FLOOR, by_hand, nothing
from tests.load.bench.sites import Site
from tests.support.oauth_apps import AUTHORIZE, CALLBACK, TOKEN, VERIFIER, code_in
from tests.support.sites import PASSWORD
from wsgiauth import storage
from wsgiauth.mail.worker import Worker

PEOPLE = 2_000
CALLS, ROUNDS = 20, 21
LOOKUPS = 50  # of the floor, in the place of one request
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
OTHER_PASSWORD = "four other words"


class Changes:
    """A site with users who log in, and an app to which they do.

    What one action makes, another one uses up: a login, a refresh, a logout.
    """

    def __init__(self, url, folder):
        mail = {"MAIL_URL": "memory:", "MAIL_FROM": "bench@example.org"}
        provider = Provider(url, folder, PEOPLE, BCRYPT_ROUNDS=4, **mail)
        self._app, self.database = provider.site.app, provider.site.app.database
        for change, value in (
            ("wsgiauth_user SET hashed_password = ?", HASH_OF_PASSWORD),
            ("wsgiauth_session SET authenticated_at = ?", int(time.time())),
            ("wsgiauth_user SET is_staff = TRUE, is_superuser = TRUE WHERE id = ?", 1),
        ):
            sql = f"UPDATE {change}".replace("?", self.database.param)
            self.database.execute_sql(sql, (value,))
        tokens = provider.site.tokens(PEOPLE)
        self._staff, self._sessions = tokens[0], cycle(tokens[1:SOME])
        self._names = cycle(f"user{number}" for number in range(2, SOME))
        self._changing, self._granted = iter(tokens[SOME:]), iter(range(SOME, PEOPLE))
        app = provider.app
        self._query = provider.path.partition("?")[2]
        self._basic = "Basic " + b64encode(f"{app.id}:{app.secret}".encode()).decode()
        self._logged_in, self._refreshed, self._codes = deque(), deque(), deque()
        for _ in range(SOME):  # also so that the addresses of the users are known
            self.log_in()
        for _ in range(CALLS):
            self.refresh()
            self.authorize()

    def actions(self):
        """Return the actions by name."""
        return {
            "a login": self.log_in,
            "a refresh": self.refresh,
            "a logout": self.log_out,
            "a new password": self.change_password,
            "an app: /auth/authorize": self.authorize,
            "an app: the code": self.exchange,
            "the panel: the users": self.list_users,
            "the panel: a grant": self.grant,
        }

    def log_in(self):
        account = {"username": next(self._names), "password": PASSWORD, "refresh": True}
        self._logged_in.append(json.loads(self._post("/auth/login", account)))

    def refresh(self):
        former = self._logged_in.popleft()["refresh_token"]
        answer = self._post("/auth/refresh", {"refresh_token": former})
        self._refreshed.append(json.loads(answer)["access_token"])

    def log_out(self):
        self._post("/auth/logout", {}, self._refreshed.popleft())

    def change_password(self):
        passwords = {"current_password": PASSWORD, "new_password": OTHER_PASSWORD}
        self._post("/auth/password", passwords, next(self._changing))

    def authorize(self):
        cookie = {"HTTP_COOKIE": f"wsgiauth={next(self._sessions)}", "QUERY_STRING": self._query}
        _, headers = self._send(AUTHORIZE, 303, **cookie)
        self._codes.append(headers["Location"])

    def exchange(self):
        fields = {
            "grant_type": "authorization_code",
            "code": code_in(self._codes.popleft()),
            "redirect_uri": CALLBACK,
            "code_verifier": VERIFIER,
        }
        body = urlencode(fields).encode()
        self._send(TOKEN, body=body, CONTENT_TYPE=FORM, HTTP_AUTHORIZATION=self._basic)

    def list_users(self):
        self._send("/auth/admin/users", HTTP_COOKIE=f"wsgiauth={self._staff}")

    def grant(self):
        path = f"/auth/admin/users/{next(self._granted)}/grant"
        self._post(path, {"permission": "bench.read"}, self._staff)

    def _post(self, path, fields, token=None):
        caller = {} if token is None else {"HTTP_AUTHORIZATION": f"Bearer {token}"}
        body = json.dumps(fields).encode()
        return self._send(path, body=body, CONTENT_TYPE=JSON, HTTP_ACCEPT=JSON, **caller)[0]

    def _send(self, path, expected=200, *, body=None, **environ):
        """Return the body and the headers of the answer to a POST of a body, or to a GET."""
        if body is not None:
            environ |= {"REQUEST_METHOD": "POST", "CONTENT_LENGTH": str(len(body))}
            environ["wsgi.input"] = io.BytesIO(body)
        begun = []

        def start_response(status, headers, exc_info=None):
            begun[:] = status, headers

        answer = b"".join(self._app({**ENVIRON, "PATH_INFO": path, **environ}, start_response))
        assert begun[0].startswith(str(expected)), (path, begun[0], answer)
        return answer, dict(begun[1])


@contextmanager
def remembered_hashes():
    """Let bcrypt compute nothing twice, and no thread send emails."""
    hashpw = bcrypt.hashpw
    hashed = cache(lambda password: hashpw(password, bcrypt.gensalt(4)))
    with ExitStack() as patches:
        for owner, name, stand_in in (
            (bcrypt, "checkpw", cache(bcrypt.checkpw)),
            (bcrypt, "hashpw", lambda password, salt: hashed(password)),
            (Worker, "wake", lambda *_: None),
        ):
            patches.enter_context(patch.object(owner, name, stand_in))
        yield


def counted(database, action):
    """Return how many statements an action sends, and for how many Peewee writes the SQL."""
    sent, written, depth = [], [], []

    def counting(function):
        def call(sql, *arguments):
            if not depth and not sql.startswith("BEGIN"):
                sent.append(sql)
            depth.append(sql)
            try:
                return function(sql, *arguments)
            finally:
                depth.pop()

        return call

    def get_sql_context(**options):
        written.append(options)
        return type(database).get_sql_context(database, **options)

    with ExitStack() as patches:
        for name in ("execute_sql", "fetchall"):
            stand_in = counting(getattr(database, name))
            patches.enter_context(patch.object(database, name, stand_in))
        patches.enter_context(patch.object(database, "get_sql_context", get_sql_context))
        action()
    return len(sent), len(written)


def costs(kind, folder, *, rounds=ROUNDS):
    """Return for each action the µs, the times of the floor, and what `counted` returns.

    Return None if there is no such database.
    """
    with remembered_hashes(), fresh_database(kind, folder) as url:
        if url is None:
            return None
        changes = Changes(url, folder)
        actions = changes.actions()
        for each in actions.values():
            each()  # the first of its kind
        counts = {name: counted(changes.database, each) for name, each in actions.items()}
        actions[FLOOR], counts[FLOOR] = _floor(folder), (1, 0)
        taken = measure(actions, rounds=rounds, calls=CALLS, clock=time.process_time)
        storage.discard_connection(changes.database)
    taken[FLOOR] /= LOOKUPS
    return {name: (cost, cost / taken[FLOOR], *counts[name]) for name, cost in taken.items()}


def _floor(folder):
    """Return a function that does the work of the floor `LOOKUPS` times."""
    bare = Site(f"sqlite:///{folder}/floor.db", nothing, PEOPLE)
    app = by_hand(bare.path)
    callers = cycle([{"HTTP_AUTHORIZATION": f"Bearer {each}"} for each in bare.tokens(PEOPLE)])

    def look_up():
        for _ in range(LOOKUPS):
            app(next(callers), None)

    return look_up


def report(folder):
    """Print the tables."""
    for kind in DATABASES:
        (folder / kind).mkdir()
        measured = costs(kind, folder / kind)
        if measured is not None:
            print(
                f"\nA request on {kind}: processor time of the process in µs, without bcrypt and"
                " without waiting; the floor is on SQLite"
            )
            head = ("request", "µs", "of the floor", "statements", "SQL written")
            print_table(head, *((name, *cost) for name, cost in measured.items()))
