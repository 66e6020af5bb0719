"""Which clients an account knows: those that logged in to it during the last 30 days.

Two rows are kept, because a name can go from one account to another. One says that the client was
known under the name. The other one is about the number of the account, which no other account ever
has, and counts failures under all names of the account. The name is only looked up if the first row
exists, so that the work for a stranger's attempt does not depend on whether there is an account.

Only a right password resets the count: a thief of a session can give the account a passkey, an
app or another name, as often as they like.
"""

from collections.abc import Callable

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.throttling.attempts import KNOWN_FOR
from wsgiauth.throttling.counts import Counter, Counters, Limit


class KnownClients:
    """The clients that accounts know.

    Args:
        counters: The counters of the site.
        limit: Of failures at one account by one client.
        now: Returns the time in seconds since the epoch.
    """

    def __init__(self, counters: Counters, limit: Limit, now: Callable[[], float]) -> None:
        self._counters = counters
        self._limit = limit
        self._now = now

    def failures(self, name_key: str, network: str) -> Counter | None:
        """Return the count of a client's failures at an account; None if it is a stranger.

        Args:
            name_key: The key of the name that the client sent.
            network: The narrowest network of the client.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        now = int(self._now())
        if not self._under(name_key, network).exists(now):
            return None
        column = User.email_key if "@" in name_key else User.username_key
        user_id = User.select(User.id).where(column == name_key).scalar()
        failures = self._account(user_id, network)
        return failures if failures.exists(now) else None

    def remember(self, user: User, network: str) -> None:
        """Make a client known, and reset its failures.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        self._account(user.id, network).remember(int(self._now()), KNOWN_FOR)
        self._remember_names(user, network)

    def follow(self, user: User, network: str) -> None:
        """Keep a client known that the account knows, though the account has another name now.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        if self._account(user.id, network).exists(int(self._now())):
            self._remember_names(user, network)

    def _remember_names(self, user: User, network: str) -> None:
        for name in (user.username, user.email):
            self._under(names.key(name), network).remember(int(self._now()), KNOWN_FOR)

    def _under(self, name_key: str, network: str) -> Counter:
        return self._counters.one(self._limit, name_key, network)

    def _account(self, user_id: int | None, network: str) -> Counter:
        return self._counters.one(self._limit, "user", str(user_id), network)
