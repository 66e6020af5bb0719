"""A client of a site whose servers fail meanwhile, which remembers what was acknowledged.

It has users of its own, so it knows what every answer must be. Any other answer is a mistake, but
for a 503 with `Retry-After`, or none. After a change without an answer, either state is right, and
what depends on it is not checked any more.
"""

import json
import random
import re
import threading
import time
from email import message_from_bytes, policy
from http.client import HTTPConnection, HTTPException
from itertools import count
from typing import NamedTuple

from wsgiauth.mail.letters import plain_text_of

PATIENCE = 60  # seconds to wait for an answer, or for acknowledgments
LINK = re.compile(r"/auth/reset\?token=(\S+)")
NO_ANSWER = 0
ACTIONS = {  # how often of ten
    "visit": 4,
    "log_in": 2,
    "log_out": 1,
    "change_password": 1,
    "reset_password": 1,
    "register": 1,
}


class Answer(NamedTuple):
    """What a server answered; status `NO_ANSWER` if the connection broke."""

    status: int
    document: dict

    @property
    def is_open(self):
        """Whether it says nothing about what was done."""
        return self.status in (NO_ANSWER, 503)


class Person:
    """A user, as far as their client knows."""

    def __init__(self, name, password):
        self.name = name
        self.passwords = [password]  # one of these is right
        self.former = None  # this one is wrong
        self.live = []  # tokens
        self.ended = []
        self.used_links = []
        self.is_waiting = False  # for a link
        self.link_is_sure = False  # no new password can have ended it

    def end_sessions(self):
        self.ended += self.live
        self.live = []

    def forget_sessions(self):
        """Give up the sessions: a change that ends them was sent, but not acknowledged."""
        self.live = []


class Client:
    """Sends requests for its users, and remembers what was acknowledged."""

    actions = ACTIONS

    def __init__(self, traffic, letters, number):
        self._traffic = traffic
        self._letters = letters
        self._name = f"client{number}"
        self._random = random.Random(number)  # noqa: S311 - no secret
        self._turns = count(number)
        self._numbers = count()
        self._connections = {}
        self._people = []

    def run(self, over):
        self.register()
        while not over.is_set():
            (action,) = self._random.choices([*self.actions], [*self.actions.values()])
            getattr(self, action)()
        self._close()

    # What clients do

    def register(self):
        person = Person(f"{self._name}-{next(self._numbers)}", self._new_password())
        account = {"username": person.name, "email": f"{person.name}@example.org"}
        answer = self._ask("/auth/register", account | {"password": person.passwords[0]})
        if self._is_acknowledged("registration", answer, 201):
            self._people.append(person)

    def log_in(self):
        person = self._anyone()
        if person is None or len(person.passwords) > 1:
            return
        answer = self._log_in(person, person.passwords[0])
        if self._is_acknowledged("login", answer, 200):
            person.live.append(answer.document["access_token"])

    def visit(self):
        person = self._anyone()
        if person is None:
            return
        for token in self._random.sample(person.live, min(len(person.live), 2)):
            self._expect_user(person.name, token)
        for token in person.ended[-2:]:
            self._expect_user(None, token)

    def log_out(self):
        person = self._anyone()
        if person is None or not person.live:
            return
        token = person.live.pop(self._random.randrange(len(person.live)))
        answer = self._ask("/auth/logout", {}, token)
        if self._is_acknowledged("logout", answer, 200):
            person.ended.append(token)
            self._expect_user(None, token)

    def change_password(self):
        person = self._anyone()
        if person is None or not person.live or len(person.passwords) > 1:
            return
        old, new = person.passwords[0], self._new_password()
        fields = {"current_password": old, "new_password": new}
        answer = self._ask("/auth/password", fields, person.live[-1])
        self._note_password("new password", person, new, answer)
        if answer.status == 200:
            person.live.append(answer.document["access_token"])

    def reset_password(self):
        """Ask for a link, or use the one that has come."""
        person = self._anyone()
        if person is None:
            return
        link = self._letters.link_to(person.name)
        if link is None and not person.is_waiting:
            answer = self._ask("/auth/forgot", {"username": person.name})
            person.is_waiting = self._is_acknowledged("request for a link", answer, 202)
            person.link_is_sure = person.is_waiting
        elif link is not None:
            person.is_waiting = False
            new = self._new_password()
            answer = self._ask("/auth/reset", {"token": link, "password": new})
            if answer.status == 410 and not person.link_is_sure:
                return
            self._note_password("use of a link", person, new, answer)
            if answer.status == 200:
                person.used_links.append(link)
                self._expect_used(link)

    def compare(self):
        """Compare what was acknowledged with what the servers say."""
        for person in self._people:
            for token in person.live:
                self._expect_user(person.name, token)
            for token in person.ended:
                self._expect_user(None, token)
            for link in person.used_links:
                self._expect_used(link)
            statuses = {self._log_in(person, each).status for each in person.passwords}
            if statuses not in ({200}, {200, 401}):
                self._mistake(f"{person.name} cannot log in: {statuses}")
            if person.former is not None:
                answer = self._log_in(person, person.former)
                if answer.status != 401:
                    self._mistake(f"{person.name} logs in with an old password: {answer}")
        self._close()

    # How they do it

    def _anyone(self):
        return self._random.choice(self._people[-8:]) if self._people else None

    def _new_password(self):
        return f"unrelated words, number {next(self._numbers)}"

    def _log_in(self, person, password):
        return self._ask("/auth/login", {"username": person.name, "password": password})

    def _note_password(self, change, person, new, answer):
        person.link_is_sure = False
        if self._is_acknowledged(change, answer, 200):
            person.former = person.passwords[0] if len(person.passwords) == 1 else None
            person.passwords = [new]
            person.end_sessions()
        elif answer.is_open:
            person.passwords.append(new)
            person.forget_sessions()

    def _expect_user(self, name, token):
        answer = self._ask("/", token=token)
        if not answer.is_open and (answer.status, answer.document.get("user")) != (200, name):
            self._mistake(f"a session of {name or 'nobody'} is answered {answer}")

    def _expect_used(self, link):
        answer = self._ask("/auth/reset", {"token": link, "password": self._new_password()})
        if not answer.is_open and answer.status != 410:
            self._mistake(f"a used link is answered {answer}")

    def _is_acknowledged(self, change, answer, status):
        if answer.status == status:
            self._traffic.acknowledged[change] += 1
        elif not answer.is_open:
            self._mistake(f"a {change} is answered {answer}")
        return answer.status == status

    def _mistake(self, sentence):
        self._traffic.mistakes.append(f"{self._name}: {sentence}")

    def _ask(self, path, fields=None, token=None):
        """Ask the next server; one that refuses the connection has not got the request."""
        addresses = self._traffic.addresses
        turn = next(self._turns)
        begun = time.monotonic()
        answer = Answer(NO_ANSWER, {})
        for number in range(len(addresses)):
            try:
                answer = self._ask_at(
                    addresses[(turn + number) % len(addresses)], path, fields, token
                )
            except ConnectionRefusedError:
                continue
            break
        now = time.monotonic()
        self._traffic.answers.append((now, now - begun, answer.status))
        return answer

    def _ask_at(self, address, path, fields, token):
        headers = {"Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        method, body = ("GET", None) if fields is None else ("POST", json.dumps(fields))
        connection = self._connections.setdefault(
            address, HTTPConnection(address, timeout=PATIENCE)
        )
        try:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            answer = Answer(response.status, json.loads(response.read()))
        except ConnectionRefusedError:
            connection.close()
            raise
        except (OSError, HTTPException):  # the server ended
            connection.close()
            return Answer(NO_ANSWER, {})
        if answer.status == 503 and response.headers["Retry-After"] is None:
            self._mistake(f"a 503 without Retry-After: {answer}")
        return answer

    def _close(self):
        for each in self._connections.values():
            each.close()


class Letters:
    """The links in the emails of a folder."""

    def __init__(self, folder):
        self._folder = folder
        self._lock = threading.Lock()
        self._seen = set()
        self._links = {}  # the newest, by the name

    def link_to(self, name):
        """Return the newest link for a user, once, or None."""
        with self._lock:
            for path in sorted(set(self._folder.glob("*.eml")) - self._seen):
                message = message_from_bytes(path.read_bytes(), policy=policy.default)
                found = LINK.search(plain_text_of(message))
                if found:
                    self._links[message["To"].partition("@")[0]] = found[1]
                self._seen.add(path)
            return self._links.pop(name, None)
