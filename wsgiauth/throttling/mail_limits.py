"""How many mails clients and members of the staff can ask for."""

import time
from collections.abc import Callable
from dataclasses import replace

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.settings import Settings
from wsgiauth.throttling.attempts import Attempt
from wsgiauth.throttling.counts import Counters, Limit, Networks
from wsgiauth.throttling.hash_slots import Claim

HOUR = 60 * 60  # seconds


class MailLimits:
    """Decides which requests for a mail are refused.

    Args:
        settings: `MAILS_PER_ACCOUNT`, `MAILS_PER_ADDRESS`, and `SECRET_KEY`.
        clock: Returns the time in seconds since the epoch.
    """

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self._now = clock
        self._counters = Counters(settings.require_secret_key().encode())
        self._mails = Limit("mails", settings.MAILS_PER_ACCOUNT, (HOUR,), HOUR)
        self._mails_by_staff = replace(
            self._mails,
            reason="mails by staff",
            refusal="The staff has sent this user as many mails as it can in an hour.",
        )
        self._invitations_by_staff = replace(
            self._mails_by_staff,
            refusal="The staff has sent this address as many mails as it can in an hour.",
        )
        self._mails_of_address = Limit(
            "mails of an address", settings.MAILS_PER_ADDRESS, (HOUR,), HOUR
        )

    def count(self, name: str, networks: Networks, *, user: User | None = None) -> None:
        """Count a mail that a client asks for.

        What is counted is the name that was sent, so that nothing depends on whether it has an
        account. Each name has three counts, so that none of these keeps another one waiting:
        strangers, users who are logged in, and the user whose address it is.

        Args:
            name: The username or e-mail address that the client sent.
            networks: The networks of the client.
            user: The user who is logged in and asks. Mails that they ask for are also counted under
                all names together, because a name can be the address of anyone.

        Raises:
            RetryLaterError: 429.
            peewee.DatabaseError: The database failed.
        """
        counters = self._counters.of_networks(self._mails_of_address, networks)
        key = names.key(name[: names.EMAIL_MAX_LENGTH])
        if user is None:
            counters.insert(0, self._counters.one(self._mails, key))
        else:
            asker = "its user" if key == names.key(user.email) else "other users"
            counters.insert(0, self._counters.one(self._mails, key, asker))
            counters.insert(0, self._counters.one(self._mails, "user", str(user.id)))
        attempt = Attempt(Claim(networks), counters, self._now)
        attempt.require_turn()
        attempt.begin()

    def count_by_staff(self, user: User, networks: Networks) -> None:
        """Count a mail that a member of the staff sends to a user, over all of the staff.

        Args:
            user: Who gets it.
            networks: The networks of the member of the staff.

        Raises:
            RetryLaterError: 429.
            peewee.DatabaseError: The database failed.
        """
        counter = self._counters.one(self._mails_by_staff, str(user.id))
        Attempt(Claim(networks), [counter], self._now).begin()

    def count_invitation_by_staff(self, email: str, networks: Networks) -> None:
        """Count an invitation that a member of the staff sends, over all of the staff.

        Args:
            email: The address that is invited.
            networks: The networks of the member of the staff.

        Raises:
            RetryLaterError: 429.
            peewee.DatabaseError: The database failed.
        """
        counter = self._counters.one(self._invitations_by_staff, names.key(email))
        Attempt(Claim(networks), [counter], self._now).begin()
