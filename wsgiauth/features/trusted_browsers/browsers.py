"""The rules of trusted browsers: how one becomes trusted, skips the second step, and is revoked.

The cookie of a browser has a secret for each of its users, the newest first. It names no user, and
is useless without the first step of a login. A secret is new each time, so that a cookie that
someone has planted or copied before does not become trusted.

A row counts only while the user's stamp and the state of their second factors are those from before
the login that made it. So it ends with every change of them, whatever the order of the commits.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from wsgiauth.extend import (
    Change,
    Client,
    OwnCookie,
    SecondFactors,
    Settings,
    User,
    _,
    database,
    emit,
    from_timestamp,
    is_handle,
    json_fields,
    lock_user,
    purge_some,
    repeated_after_conflict,
    rows_of,
    user_agent_in_words,
)
from wsgiauth.extend.one_time import digest
from wsgiauth.extend.trusted_browsers import (
    TRUST_ENDED,
    ListedBrowser,
    TrustedBrowser,
    TrustedBrowsers,
)

TRUST_GIVEN = Change("trust_given", _("Browser trusted"), icon="laptop")

MOST_BROWSERS = 50  # of a user; the oldest ends
MOST_USERS = 5  # of a browser; the longest ago has to enter a code again

_DAY = 24 * 60 * 60  # seconds
_SEPARATOR = "."  # of the secrets in a cookie


class Browsers(TrustedBrowsers):
    """The trusted browsers of a site."""

    def __init__(self, settings: Settings) -> None:
        self.days = settings.TRUSTED_BROWSER_DAYS
        self.cookie = OwnCookie("-trusted", self.days * _DAY)

    def find(
        self, cookie: str, user: User, factors: SecondFactors, now: float
    ) -> Callable[[], bool] | None:
        """Return a function if a browser is trusted by `user`; see the base class."""
        row = _valid(user, factors, now).where(TrustedBrowser.digest.in_(_digests(cookie))).first()
        return None if row is None else partial(_skip_second_step, row.id, user, factors, now)

    def trust(
        self,
        cookie: str,
        user: User,
        state: str,
        factors: SecondFactors,
        *,
        client: Client,
        now: float,
    ) -> str:
        """Trust a browser, and return its new cookie; "" if the user or a factor has changed."""
        secret = secrets.token_urlsafe(32)
        row = {
            "id": secrets.token_hex(8),
            "user": user.id,
            "digest": digest(secret),
            "stamp": user.security_stamp,
            "factors": state,
            "created_at": int(now),
            "expires_at": int(now) + self.days * _DAY,
            "address": client.address,
            "agent": client.agent,
        }
        if not _insert(row, user, factors, _digests(cookie)):
            return ""
        purge_some(TrustedBrowser, now)
        return _SEPARATOR.join([secret, *_secrets_of_others(cookie, user)][:MOST_USERS])

    def list_browsers(
        self, user: User, factors: SecondFactors, now: float, cookie: str = ""
    ) -> list[ListedBrowser]:
        """Return the browsers that a user trusts, the newest first."""
        own = _digests(cookie)
        valid = _valid(user, factors, now)
        newest = valid.order_by(TrustedBrowser.created_at.desc(), TrustedBrowser.id)
        return [
            ListedBrowser(
                handle=each.id,
                is_current=each.digest in own,
                trusted_at=from_timestamp(each.created_at),
                last_used_at=each.last_used_at and from_timestamp(each.last_used_at),
                expires_at=from_timestamp(each.expires_at),
                address=each.address,
                browser=user_agent_in_words(each.agent),
            )
            for each in newest
        ]

    @repeated_after_conflict
    def revoke(self, user: User, handle: str) -> bool:
        """End the trust in a browser; return whether the user had trusted one with this handle."""
        if not is_handle(handle):
            return False
        own = TrustedBrowser.delete().where(
            TrustedBrowser.id == handle, TrustedBrowser.user == user.id
        )
        with database.atomic():
            lock_user(user.id)  # as a login that skips the second step does
            is_ended = bool(own.execute())
            if is_ended:
                emit(TRUST_ENDED, user_id=user.id)
        return is_ended


def own_browsers(user: User, settings: Settings) -> Iterator[object]:
    """Yield what is stored about the browsers of a user, also those that are trusted no more."""
    of_user = TrustedBrowser.select().where(TrustedBrowser.user == user.id)
    for row in rows_of(of_user, TrustedBrowser.id):
        yield json_fields(
            {
                "trusted_at": from_timestamp(row.created_at),
                "last_used_at": row.last_used_at and from_timestamp(row.last_used_at),
                "expires_at": from_timestamp(row.expires_at),
                "address": row.address or None,
                "user_agent": row.agent or None,
            }
        )


def _valid(user: User, factors: SecondFactors, now: float) -> Any:
    """Return a query for the browsers that a user trusts, by the given stamp."""
    return TrustedBrowser.select().where(
        TrustedBrowser.user == user.id,
        TrustedBrowser.stamp == user.security_stamp,
        TrustedBrowser.factors == factors.state(user),
        TrustedBrowser.expires_at > int(now),
    )


def _skip_second_step(row_id: str, user: User, factors: SecondFactors, now: float) -> bool:
    """Return whether a browser is still trusted, and record the login; see `find`."""
    stored = lock_user(user.id)
    if stored is None or not stored.is_active or stored.security_stamp != user.security_stamp:
        return False
    if not _valid(user, factors, now).where(TrustedBrowser.id == row_id).exists():
        return False
    TrustedBrowser.update(last_used_at=int(now)).where(TrustedBrowser.id == row_id).execute()
    return True


@repeated_after_conflict
def _insert(
    row: dict[str, Any], user: User, factors: SecondFactors, replaced: Sequence[str]
) -> bool:
    """Insert a row, in place of the browser's former one; False if the user or a factor changed."""
    own = TrustedBrowser.select(TrustedBrowser.id).where(TrustedBrowser.user == user.id)
    with database.atomic():
        stored = lock_user(user.id)
        if stored is None or stored.security_stamp != user.security_stamp:
            return False
        if factors.state(user) != row["factors"]:
            return False
        is_former = TrustedBrowser.digest.in_(replaced)
        newest = own.where(~is_former).order_by(TrustedBrowser.created_at.desc(), TrustedBrowser.id)
        surplus = newest.offset(MOST_BROWSERS - 1).limit(MOST_BROWSERS)
        # By id, because on MariaDB, a DELETE by another index also locks the gap of other users'
        # rows, in which two logins could deadlock.
        ids = [each.id for each in (*own.where(is_former), *surplus)]
        if ids:
            TrustedBrowser.delete().where(TrustedBrowser.id.in_(ids)).execute()
        TrustedBrowser.insert(row).execute()
        emit(TRUST_GIVEN, user_id=user.id, details={"agent": row["agent"]})
    return True


def _secrets_of_others(cookie: str, user: User) -> list[str]:
    """Return the secrets of a browser with which other users can skip the second step."""
    found = TrustedBrowser.select(TrustedBrowser.digest).where(
        TrustedBrowser.digest.in_(_digests(cookie)), TrustedBrowser.user != user.id
    )
    known = {each.digest for each in found}
    return [each for each in _secrets(cookie) if digest(each) in known]


def _secrets(cookie: str) -> list[str]:
    return cookie.split(_SEPARATOR)[:MOST_USERS] if cookie else []


def _digests(cookie: str) -> list[str]:
    return [digest(each) for each in _secrets(cookie)]
