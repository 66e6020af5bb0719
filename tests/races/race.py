"""What a race is, and what many of them need."""

from abc import abstractmethod
from typing import NamedTuple

from tests.conftest import insert_user
from tests.support.identities import ENTRY
from tests.support.sites import EMAIL, SECRET_KEY, USERNAME
from wsgiauth import Settings
from wsgiauth.accounts.models import User
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.storage.models import utc_now

NOW = 2_000_000_000  # seconds since the epoch
KEY = "a key of authenticator apps, which is long enough"
OTHER_PASSWORD = "four other words"

SETTINGS = Settings(
    SECRET_KEY=SECRET_KEY,
    BCRYPT_ROUNDS=4,
    DATABASE_URL="sqlite:///unused.db",
    PUBLIC_URL="https://example.org",
    FACTOR_KEY=KEY,
    OIDC_PROVIDERS=(ENTRY,),
)
TOKENS = Tokens(SETTINGS, clock=lambda: NOW)

RACES = {}  # by what happens


class Outcome(NamedTuple):
    """What both returned, or the names of the exceptions that they raised."""

    one: object
    other: object
    first: str  # which of the two was about to commit when its rival began

    def is_once(self, refusal):
        """Return whether the first was successful, and its rival was not."""
        results = {"one": self.one, "other": self.other}
        return results.pop(self.first) is True and [*results.values()] == [refusal]


class Race:
    """Two changes at once.

    Both run in processes of their own; what `prepare` returns is passed to each, and to `check`.

    Attributes:
        outcome: What must hold afterwards.
        mechanisms: What ensures it, of docs/concurrency.md, perhaps with tables or columns: on
            every database, or on SQLite and both servers, or on each.
    """

    outcome: str
    mechanisms: tuple[str, ...]
    stops_early = False  # whether the first stops after its first change, and not at its commit

    def prepare(self):
        """Make what both change, in the process of the test."""
        return ()

    @abstractmethod
    def one(self, *facts):
        """Make the first change."""

    other = None  # the second change; None: the same

    @abstractmethod
    def check(self, outcome, *facts):
        """Look, in the process of the test, for what must hold."""

    @property
    def orders(self):
        """Which of the two can be first."""
        return ("one",) if self.other is None else ("one", "other")


def race(row, outcome, *mechanisms):
    """Register a class as the race of what happens."""

    def register(kind):
        assert row not in RACES
        kind.outcome, kind.mechanisms = outcome, mechanisms
        RACES[row] = kind()
        return kind

    return register


def insert_recent_user():
    """Insert a user, for whom a login does not write when it was: that would lock their row."""
    user = insert_user(USERNAME, EMAIL)
    User.update(last_login_at=utc_now()).execute()
    return User.get_by_id(user.id)


def run(row, name, *facts):
    """Make one of the two changes of a race, and return what it returns."""
    chosen = RACES[row]
    return (chosen.one if name == "one" or chosen.other is None else chosen.other)(*facts)
