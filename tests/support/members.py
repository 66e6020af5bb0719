"""Clients that also have authenticator apps, refresh tokens, and tokens for other services."""

import time
from contextlib import suppress
from typing import ClassVar

import jwt
import pyotp

from tests.support.traffic_client import ACTIONS, Client, Person

STEP = 30  # seconds in which an app shows a code
SERVICE = "reports"
LEEWAY = 5  # seconds, as in docs/services.md


class Services:
    """What another service has of a site: an API key to ask with, and public keys that it keeps."""

    api_key = None
    public_keys = None


class Member(Client):
    """A client whose requests have connections of their own, as those of nginx have."""

    actions: ClassVar = {
        **ACTIONS,
        "set_up_app": 1,
        "log_in_with_code": 1,
        "log_in_to_refresh": 1,
        "refresh": 2,
        "use_service": 2,
    }
    services = Services()

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._protected = []
        self._refreshable = []  # pairs of a user and a refresh token

    # Second factors

    def set_up_app(self):
        """Register a user, and give them an app by the code before the present one."""
        if not _has_same_code_everywhere():
            return
        person = Protected(*self._registered())
        if person.name is None:
            return
        token = self._token_of(person)
        begun = self._ask("/auth/totp", {"name": "Phone"}, token)
        if not self._is_acknowledged("begun app", begun, 201):
            return
        if not _has_same_code_everywhere():  # any more
            return
        person.app = pyotp.TOTP(begun.document["secret"])
        person.used = _step() - 1
        added = self._ask("/auth/totp", {"code": person.code()}, token)
        if self._is_acknowledged("app", added, 200):
            person.live.append(added.document["login"]["access_token"])
            self._protected.append(person)

    def log_in_with_code(self):
        """Log in with the code of now, which works nowhere a second time."""
        person = self._choose([each for each in self._protected if each.has_code()])
        if person is None or not _has_same_code_everywhere():
            return
        person.used = _step()
        fields = {"username": person.name, "password": person.passwords[0]}
        fields["code"] = person.code()
        answer = self._ask("/auth/login", fields)
        if self._is_acknowledged("login with a code", answer, 200):
            person.live.append(answer.document["access_token"])
            again = self._ask("/auth/login", fields)
            if not again.is_open and again.status != 401:
                self._mistake(f"a used code is answered {again}")
            self._expect_user(person.name, person.live[-1])

    # Refresh tokens

    def log_in_to_refresh(self):
        name, password = self._registered()
        if name is None:
            return
        fields = {"username": name, "password": password, "refresh": True}
        answer = self._ask("/auth/login", fields)
        if self._is_acknowledged("login with a refresh token", answer, 200):
            self._refreshable.append((name, answer.document["refresh_token"]))

    def refresh(self):
        """Refresh, and once more with the same token, as a client that lost the answer does."""
        if not self._refreshable:
            return
        place = self._random.randrange(len(self._refreshable))
        name, token = self._refreshable.pop(place)
        newest = token
        for _ in range(2):
            answer = self._ask("/auth/refresh", {"refresh_token": token})
            if answer.is_open:
                continue
            if self._is_acknowledged("refresh", answer, 200):
                newest = answer.document["refresh_token"]
                self._expect_user(name, answer.document["access_token"])
        self._refreshable.append((name, newest))

    # Other services

    def use_service(self):
        """Send a token to another service, which verifies it by its keys, and asks the site."""
        person = self._choose([each for each in self._people[-8:] if each.live])
        if person is None:
            return
        answer = self._ask("/auth/token", {"audience": SERVICE}, person.live[-1])
        if not self._is_acknowledged("token for a service", answer, 200):
            return
        token = answer.document["access_token"]
        with suppress(KeyError):
            key = self.services.public_keys[jwt.get_unverified_header(token)["kid"]]
            jwt.decode(token, key, ["ES256"], audience=SERVICE, leeway=LEEWAY)
            described = self._ask("/auth/introspect", {"token": token}, self.services.api_key)
            if not described.is_open and described.document.get("username") != person.name:
                self._mistake(f"a token for a service is described {described}")
            return
        self._mistake("a service does not know the key of a token")

    def compare(self):
        """Compare what was acknowledged with what the servers say."""
        super().compare()
        for person in self._protected:
            for token in person.live:
                self._expect_user(person.name, token)
        for _ in range(len(self._refreshable)):
            self.refresh()
        self._close()

    def _registered(self):
        """Return the name and the password of a new user, who does nothing else."""
        number = len(self._people)
        self.register()
        if len(self._people) == number:
            return None, None
        person = self._people.pop()
        return person.name, person.passwords[0]

    def _token_of(self, person):
        """Return the token of a login, which other requests do not end."""
        answer = self._log_in(person, person.passwords[0])
        return answer.document.get("access_token")

    def _choose(self, people):
        return self._random.choice(people) if people else None

    def _ask_at(self, address, *arguments):
        try:
            return super()._ask_at(address, *arguments)
        finally:
            self._connections.pop(address).close()


class LaterMember(Member):
    """A client that comes when the users of other clients are there already."""

    def __init__(self, traffic, letters, number):
        super().__init__(traffic, letters, number)
        self._name = f"later{number}"


class Protected(Person):
    """A user with an app.

    Attributes:
        used: The step of the last code that was sent.
    """

    app = None
    used = 0

    def has_code(self):
        return self.used < _step()

    def code(self):
        """Return the code of the step `used`."""
        return self.app.at(self.used * STEP)


def _step():
    return int(time.time()) // STEP


def _has_same_code_everywhere():
    """Return whether no host, 1.5 seconds ahead or behind, has the next code before an answer."""
    return time.time() % STEP < STEP - 8
