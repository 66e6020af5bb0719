"""Codes to log in, for the kernel, which knows only `authentication.email_codes`."""

from wsgiauth.accounts.models import User, is_proven_here
from wsgiauth.authentication.email_codes import EmailCodes
from wsgiauth.features.login_codes.codes import LIFETIME
from wsgiauth.settings import Settings
from wsgiauth.web.cookies import OwnCookie

# One for all tabs: asking again in a browser voids its former code, and the last code that arrives
# works in each tab. The forms have `next` of their tabs.
WAITING = OwnCookie("-code", LIFETIME)
ASKED = OwnCookie("-code-for", LIFETIME)  # the form that asked for it; see `forms.again`


class LoginCodes(EmailCodes):
    """The codes of a site."""

    path = "code"
    waiting = WAITING

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def can_confirm(self, user: User) -> bool:
        """Return whether a user without a second factor has no password, and a proven address."""
        has_password = self._settings.PASSWORD_LOGIN and user.has_password
        return not has_password and is_proven_here(user)


def can_log_in(user: User, settings: Settings) -> bool:
    """Return whether a user can log in by a code."""
    return settings.LOGIN_CODES and is_proven_here(user)
