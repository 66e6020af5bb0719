"""The ways into an account, the last of which its owner cannot remove.

One is the password, unless PASSWORD_LOGIN is off; features add others, such as passkeys. A link in
an email is not one, because the user may have lost the mailbox. A code in an email is one where the
site offers it: such users read their emails at each login, and would notice the loss.
"""

from collections.abc import Callable, Iterable
from http import HTTPStatus

from wsgiauth.accounts.models import User
from wsgiauth.events.actors import feature_code
from wsgiauth.exceptions import RequestError
from wsgiauth.messages import _
from wsgiauth.settings import Settings

# By whether users log in with a password.
_LAST = {
    True: _(
        "This is the only way to log in to the account. Set a password or add another way first."
    ),
    False: _("This is the only way to log in to the account. Add another way first."),
}

# Returns whether a user can log in by the way that a feature adds to a site with these settings.
WayIn = Callable[[User, Settings], bool]


class WaysIn:
    """The ways into the accounts of a site.

    A way whose function fails counts as none, so that no user loses the last one that works.

    Args:
        ways: Each after the name of its feature.
    """

    def __init__(self, ways: Iterable[tuple[str, WayIn]], settings: Settings) -> None:
        self._ways = tuple(ways)
        self._settings = settings

    def has_password(self, user: User) -> bool:
        """Return whether a user has a password that this site accepts."""
        return self._settings.PASSWORD_LOGIN and user.has_password

    def has_one(self, user: User) -> bool:
        """Return whether a user can log in."""
        return self.has_password(user) or any(self._has(user, *each) for each in self._ways)

    def can_log_in(self, user: User) -> bool:
        """Return the same, or raise the exception of a way that fails: for all users in turn."""
        return self.has_password(user) or any(self._answer(user, way) for _, way in self._ways)

    def _has(self, user: User, feature: str, way: WayIn) -> bool:
        with feature_code(feature, f"a way in of user {user.id}"):
            return self._answer(user, way)
        return False

    def _answer(self, user: User, way: WayIn) -> bool:
        answer = way(user, self._settings)
        if not isinstance(answer, bool):  # such as a coroutine, which is true
            raise TypeError(f"it returned {answer!r}")
        return answer

    def require_one(self, user: User) -> None:
        """Refuse (409) a removal that leaves no way to log in; call this in its transaction."""
        if self.has_one(user):
            return
        detail = _LAST[self._settings.PASSWORD_LOGIN]
        raise RequestError(HTTPStatus.CONFLICT, "last_way_in", detail)
