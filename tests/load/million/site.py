"""A site with a filled database, and clients all over it."""

import io
import json
import random
import time

from tests.load.million.fill import session_id
from tests.load.panel import row_of
from tests.support.mails import MAIL
from tests.support.sites import BROWSER, SECRET_KEY, echo
from wsgiauth import AuthMiddleware, Settings, storage
from wsgiauth.accounts.models import User
from wsgiauth.storage import context
from wsgiauth.testing import bearer


class Asked:
    """A site that is asked in the process.

    Attributes:
        app: The wrapped application.
        chance: Chooses users, among others.
    """

    def __init__(self, app):
        self.app, self.site, self.database = app, app.site, app.database
        self.chance = random.Random(1815)  # noqa: S311

    def using(self):
        return context.using(self.database)

    def ask(self, method, path, body=None, status=(200,), **environ):
        """Return the seconds that a request takes, and the body of its answer."""
        seconds, _, answer = self.ask_for_headers(method, path, body, status, **environ)
        return seconds, answer

    def ask_for_headers(self, method, path, body=None, status=(200,), **environ):
        """Return the seconds that a request takes, and the headers and the body of its answer.

        Args:
            body: What is sent as JSON; bytes are sent as a form.
        """
        environ = self._environ(method, path, body) | environ
        begun = time.perf_counter()
        given = []
        answer = b"".join(self.app(environ, lambda *args: given.extend(args)))
        seconds = time.perf_counter() - begun
        if int(given[0][:3]) not in status:
            raise RuntimeError(f"{method} {path}: {given[0]} {answer[:300]!r}")
        return seconds, dict(given[1]), answer

    def _environ(self, method, path, body):
        path, _, query = path.partition("?")
        is_form = isinstance(body, bytes)
        sent = body if is_form else json.dumps(body).encode() if body is not None else b""
        address = self.chance.getrandbits(24)
        return {
            "REQUEST_METHOD": method,
            "SCRIPT_NAME": "",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "localhost",
            "REMOTE_ADDR": f"10.{address >> 16}.{address >> 8 & 255}.{address & 255}",
            "CONTENT_TYPE": "application/x-www-form-urlencoded" if is_form else "application/json",
            "CONTENT_LENGTH": str(len(sent)),
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(sent),
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
        }

    def close(self):
        """Close the connection of this thread."""
        storage.discard_connection(self.database)


class Filled(Asked):
    """A site with a filled database, and clients all over it.

    Attributes:
        users: How many there are.
        url: Of its database.
    """

    def __init__(self, url, users):
        self.users, self.url = users, url
        settings = Settings(
            SECRET_KEY=SECRET_KEY,
            BCRYPT_ROUNDS=4,
            DATABASE_URL=url,
            REGISTRATIONS_PER_ADDRESS=0,
            MAILS_PER_ADDRESS=0,
            **MAIL,
        )
        super().__init__(AuthMiddleware(echo, settings, send_mail=lambda _: None))
        self.site.outbox.keep_messages()
        with self.using():
            self._boss = bearer(self.app, User.get_by_id(1))["Authorization"]
            self._keys = self.database.execute_sql("SELECT * FROM measured_key").fetchall()
            place = "SELECT time, id FROM wsgiauth_event ORDER BY time, id LIMIT 1 OFFSET %s"
            self._last, self._middle = (
                self.database.execute_sql(place, (number,)).fetchone() for number in (40, 5 * users)
            )

    def number(self):
        """Return the number of any user who is active."""
        while True:
            number = self.chance.randrange(2, self.users)
            if number % 18:
                return number

    def key(self):
        return self.chance.choice(self._keys)[1]

    def token(self, number, which=0):
        """Return a token of one of the three sessions of a user, as a login issued it."""
        found = session_id(3 * number - 3 + which)
        return self.site.tokens.issue(number, found, int(time.time()) + 1000)

    def fill_in(self, text, number):
        """Return a text of `TRAIL` for a user."""
        time_ = self._middle[0]
        since, until = (
            time.strftime("%Y-%m-%d", time.gmtime(each)) for each in (time_, time_ + 86_400)
        )
        return text.format(
            user=number,
            name=row_of(number)["username"],
            day=since,
            next_day=until,
            middle="{}-{}".format(*self._middle),
            last="{}-{}".format(*self._last),
        )

    def page(self, path):
        """Return the seconds that a page of the staff panel takes."""
        headers = {"HTTP_AUTHORIZATION": self._boss, "HTTP_ACCEPT": BROWSER["Accept"]}
        return self.ask("GET", path, **headers)[0]
