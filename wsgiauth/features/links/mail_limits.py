"""Limits of the emails that clients and members of the staff ask for."""

import time
from collections.abc import Callable
from dataclasses import replace

from wsgiauth.accounts import names
from wsgiauth.accounts.models import User
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.throttling.attempts import Attempt
from wsgiauth.throttling.counts import Counter, Counters, Limit, Networks

_HOUR = 60 * 60  # seconds
_ITS_USER = "its user"  # who asks for an email to an address


class MailLimits:
    """Counts the emails that are asked for; too many raise RetryLaterError (429)."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.time) -> None:
        self._now = clock
        self._counters = Counters(settings.require_secret_key().encode())
        self._mails = Limit("mails", settings.MAILS_PER_ACCOUNT, (_HOUR,), _HOUR)
        self._codes = replace(self._mails, reason="login codes")
        self._mails_by_staff = replace(
            self._mails,
            reason="mails by staff",
            refusal=_("The staff has sent this user as many emails as it can in an hour."),
        )
        self._invitations_by_staff = replace(
            self._mails_by_staff,
            refusal=_("The staff has sent this address as many emails as it can in an hour."),
        )
        self._mails_of_address = Limit(
            "mails of an address", settings.MAILS_PER_ADDRESS, (_HOUR,), _HOUR
        )

    def count(self, name: str, networks: Networks, *, user: User | None = None) -> None:
        """Count an email that a client asks for, and that a logged-in `user` may ask for.

        The name is counted as it was sent, so that nothing depends on whether it has an account.
        Strangers, users who are logged in, and the user with the address have a count each, so that
        none of them makes the others wait. A user also has a count for all names together, because
        a name can be the address of anyone.
        """
        one, key = self._counters.one, names.key(name[: names.EMAIL_MAX_LENGTH])
        if user is None:
            counters = [one(self._mails, key)]
        else:
            asker = _ITS_USER if key == names.key(user.email) else "other users"
            counters = [one(self._mails, "user", str(user.id)), one(self._mails, key, asker)]
        counters += self._counters.of_networks(self._mails_of_address, networks)
        Attempt(self._now, counters).require_turn().begin()

    def admits_new_user(self, email: str, networks: Networks) -> bool:
        """Return whether `count` would admit an email to a user who is about to exist."""
        counters = self._counters.of_networks(self._mails_of_address, networks)
        counters.append(self._counters.one(self._mails, names.key(email), _ITS_USER))
        return not any(each.wait(int(self._now())) for each in counters)

    def count_code(
        self, name: str, networks: Networks, *, is_known: bool, user: User | None = None
    ) -> None:
        """Count a code to log in that a client asks for, and that a logged-in `user` may ask for.

        Codes have counts of their own, because a code is of use only to the client that asked for
        it: otherwise, strangers could keep the owner from a link, too. A client that the name knows
        has a count of its own, which it shares with its neighbours at that address, and does not
        wait for clients at other addresses.
        """
        counters = [self._codes_of(name, networks, is_known=is_known)]
        if user is not None:
            counters = [self._counters.one(self._codes, "user", str(user.id))]
        elif not is_known:
            counters += self._counters.of_networks(self._mails_of_address, networks)
        Attempt(self._now, counters).require_turn().begin()

    def admits_code_of_registration(
        self, email: str, networks: Networks, *, is_known: bool
    ) -> bool:
        """Count a code in the email of a registration, which `count` has counted as such.

        Return whether it can be a code to log in: those of an account have one limit, wherever a
        client asks for them.
        """
        return self._codes_of(email, networks, is_known=is_known).add(self._now())

    def _codes_of(self, name: str, networks: Networks, *, is_known: bool) -> Counter:
        key = names.key(name[: names.EMAIL_MAX_LENGTH])
        of_client = (networks[0],) if is_known else ()
        return self._counters.one(self._codes, key, *of_client)

    def admits_former_client(self, name: str) -> bool:
        """Count a code for a client that only the name still knows; return whether to send it.

        Not with those of strangers, whose limit would then tell whether the name has an account.
        """
        return self._admits("former clients", name)

    def admits_link_instead_of_code(self, email: str) -> bool:
        """Count a link to an address that was never proven; return whether to send it.

        By the address of the account, because whoever has the account chooses its names, and can
        know them at many client addresses. The address can be that of a stranger.
        """
        return self._admits("unproven", email)

    def _admits(self, what: str, name: str) -> bool:
        counter = self._counters.one(self._codes, what, names.key(name[: names.EMAIL_MAX_LENGTH]))
        return counter.add(self._now())

    def count_by_staff(self, user: User) -> None:
        """Count an email that a member of the staff sends to `user`, for all staff together."""
        Attempt(self._now, [self._counters.one(self._mails_by_staff, str(user.id))]).begin()

    def count_invitation_by_staff(self, email: str) -> None:
        """Count an invitation that a member of the staff sends, for all staff together."""
        counter = self._counters.one(self._invitations_by_staff, names.key(email))
        Attempt(self._now, [counter]).begin()
