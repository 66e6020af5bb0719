"""Races of trusted browsers."""

from dataclasses import replace

from tests.conftest import insert_user
from tests.races.factors import begin, confirm, confirmed
from tests.races.race import NOW, OTHER_PASSWORD, SETTINGS, TOKENS, Race, insert_recent_user, race
from tests.support.sites import EMAIL, USERNAME
from wsgiauth import change_password
from wsgiauth.accounts.models import User
from wsgiauth.accounts.tables import Session, TrustedBrowser
from wsgiauth.authentication import sessions
from wsgiauth.authentication.second_factors import SecondFactors
from wsgiauth.features.factors import factors
from wsgiauth.features.trusted_browsers.browsers import Browsers
from wsgiauth.web.clients import Client

BROWSERS = Browsers(replace(SETTINGS, TRUSTED_BROWSER_DAYS=30))
FACTORS = SecondFactors(factors.KINDS, SETTINGS)


def trust(user, state=None, cookie=""):
    """Return the cookie of a browser, which is trusted unless `state` is a former one."""
    state = FACTORS.state(user) if state is None else state
    return BROWSERS.trust(cookie, user, state, FACTORS, client=Client(), now=NOW)


def log_in(user, cookie):
    """Return whether a login in a browser, which is trusted so far, skips the second step."""
    is_permitted = BROWSERS.find(cookie, user, FACTORS, NOW)
    if is_permitted is None:
        return False
    return sessions.start(user, TOKENS, is_permitted=is_permitted) is not None


def trusted_by(user):
    return BROWSERS.list_browsers(User.get_by_id(user.id), FACTORS, NOW)


class _Trusting(Race):
    """A browser becomes trusted by a second step from before the other change."""

    def prepare(self):
        ada = insert_recent_user()
        handle = confirmed(ada, "session")
        confirmed(ada, "other session")
        return ada, FACTORS.state(ada), handle

    def one(self, ada, state, _):
        return bool(trust(ada, state))

    def check(self, outcome, ada, *_):
        assert trusted_by(ada) == []


@race(
    "A browser becomes trusted, and a factor is removed",
    "A browser that is trusted by a second step from before the removal does not count.",
    "one writer",
    "lock of the users",
)
class TrustAndRemoval(_Trusting):
    def other(self, ada, _, handle):
        return factors.remove(ada, handle)


@race(
    "A browser becomes trusted, and the password is changed",
    "A browser that is trusted by a login from before the change does not count.",
    "one writer",
    "lock of the users",
)
class TrustAndPassword(_Trusting):
    def other(self, ada, *_):
        change_password(ada, OTHER_PASSWORD, settings=SETTINGS)


@race(
    "A browser becomes trusted twice",
    "Neither change fails, and the former cookie does not count.",
    "one writer",
    "lock of the users",
)
class TrustedTwice(Race):
    def prepare(self):
        ada = insert_user(USERNAME, EMAIL)
        confirmed(ada, "session")
        return ada, trust(ada)

    def one(self, ada, cookie):
        return bool(trust(ada, cookie=cookie))

    def check(self, outcome, ada, cookie):
        assert (outcome.one, outcome.other) == (True, True)
        assert not log_in(ada, cookie)
        assert TrustedBrowser.select().count() == 2


class _LoggingIn(Race):
    """A login in a trusted browser, whose first step was before the other change."""

    def prepare(self):
        ada = insert_recent_user()
        handle = confirmed(ada, "session")
        device = begin(ada, "other session")
        return ada, trust(ada), handle, device

    def one(self, ada, cookie, *_):
        return log_in(ada, cookie)

    def check(self, outcome, ada, cookie, *_):
        assert outcome.one is (outcome.first == "one")
        assert not log_in(User.get_by_id(ada.id), cookie)


@race(
    "A login skips the second step, and a factor is removed",
    "After the removal, no session starts without the second step.",
    "one writer",
    "lock of the users",
)
class LoginAndRemoval(_LoggingIn):
    def other(self, ada, _, handle, device):
        return factors.remove(ada, handle)


@race(
    "A login skips the second step, and a factor is added",
    "After the addition, no session starts without the second step.",
    "one writer",
    "lock of the users",
)
class LoginAndAddition(_LoggingIn):
    def other(self, ada, _, handle, device):
        return confirm(device)


@race(
    "A login skips the second step, and the browser is revoked",
    "After the revocation, no session starts without the second step.",
    "one writer",
    "lock of the users",
)
class LoginAndRevocation(_LoggingIn):
    def other(self, ada, *_):
        return BROWSERS.revoke(ada, TrustedBrowser.get().id)


@race(
    "A login skips the second step, and the user logs out everywhere",
    "No session remains.",
    "one writer",
    "lock of the users",
)
class LoginAndLogout(_LoggingIn):
    def other(self, ada, *_):
        return sessions.revoke_all(ada)

    def check(self, outcome, ada, cookie, *_):
        assert not log_in(ada, cookie)
        assert Session.select().count() == 0


@race(
    "A login skips the second step, and the password is changed",
    "No session from before the change is valid.",
    "one writer",
    "lock of the users",
)
class LoginAndPassword(_LoggingIn):
    def other(self, ada, *_):
        change_password(ada, OTHER_PASSWORD, settings=SETTINGS)

    def check(self, outcome, ada, cookie, *_):
        assert User.get_by_id(ada.id).sessions.count() == 0
        assert not log_in(User.get_by_id(ada.id), cookie)
