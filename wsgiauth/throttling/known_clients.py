"""Which clients an account knows: those that logged in to it during the last 30 days.

Two rows are kept, because a name can go from one account to another. One is about the name and the
client, and counts failures. The other one is about the number of the account, which no other
account ever has. The name is only looked up if the first row exists, so that the work for a
stranger's attempt does not depend on whether there is an account.
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
        limit: Of failures under one name by one client.
        now: Returns the time in seconds since the epoch.
    """

    def __init__(self, counters: Counters, limit: Limit, now: Callable[[], float]) -> None:
        self._counters = counters
        self._limit = limit
        self._now = now

    def failures(self, name_key: str, network: str) -> Counter | None:
        """Return the count of a client's failures under a name; None if it is a stranger.

        Args:
            name_key: The key of the name.
            network: The narrowest network of the client.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        failures = self._counters.one(self._limit, name_key, network)
        now = int(self._now())
        if not failures.exists(now):
            return None
        column = User.email_key if "@" in name_key else User.username_key
        user_id = User.select(User.id).where(column == name_key).scalar()
        return failures if self._account(user_id, network).exists(now) else None

    def remember(self, user: User, network: str) -> None:
        """Make a client known, and reset its failures.

        Raises:
            peewee.DatabaseError: The database failed.
        """
        keys = [names.key(name) for name in (user.username, user.email)]
        under_names = [self._counters.one(self._limit, each, network) for each in keys]
        for counter in (self._account(user.id, network), *under_names):
            counter.remember(int(self._now()), KNOWN_FOR)

    def _account(self, user_id: int | None, network: str) -> Counter:
        return self._counters.one(self._limit, "user", str(user_id), network)
