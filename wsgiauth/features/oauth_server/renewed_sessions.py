"""A session gets another id by a new proof of identity; what it has allowed an app before follows.

A device has a row. A code is no row, so for as long as codes work, a row of the kernel's table of
one-time secrets leads from the former id to the present one.
"""

from collections.abc import Mapping

from wsgiauth.accounts.tables import OneTimeSecret
from wsgiauth.authentication import one_time
from wsgiauth.authentication.lifetimes import MINUTE
from wsgiauth.events import Event
from wsgiauth.features.oauth_server.tables import DeviceRequest
from wsgiauth.storage.statements import Statement, given, is_given

KEPT = 2 * MINUTE  # longer than a code works: see `codes.LIFETIME`

_PURPOSE = "renewed session"

_IS_OURS = is_given(OneTimeSecret.user) & (OneTimeSecret.purpose == _PURPOSE)
_FOLLOW_DEVICES = Statement(
    lambda: DeviceRequest.update(session_id=given(DeviceRequest.session_id, "present")).where(
        is_given(DeviceRequest.user), is_given(DeviceRequest.session_id, "former")
    )
)
_FOLLOW_CODES = Statement(
    lambda: OneTimeSecret.update(data=given(OneTimeSecret.data, "present")).where(
        _IS_OURS, is_given(OneTimeSecret.data, "former")
    )
)
_PRESENT = Statement(
    lambda: OneTimeSecret.select(OneTimeSecret.data).where(
        is_given(OneTimeSecret.id),
        _IS_OURS,
        OneTimeSecret.expires_at > given(OneTimeSecret.expires_at, "now"),
    )
)


def follow(event: Event, details: Mapping[str, str], now: int) -> None:
    """Let devices and codes follow a session, in the transaction of its new proof."""
    former, present = details.get("former_session"), details.get("session", "")
    if former is None:
        return
    values = {"user": event.user_id, "former": former, "present": present}
    _FOLLOW_DEVICES.execute(**values)
    _FOLLOW_CODES.execute(**values)
    one_time.record(former, _PURPOSE, user_id=event.user_id, data=present, expires_at=now + KEPT)


def present_id(session_id: str, user_id: int, now: float) -> str:
    """Return the id that a session of a user has now, if another one was its id lately, or ""."""
    row = _PRESENT.fetchone(id=one_time.digest(session_id), user=user_id, now=int(now))
    return "" if row is None else row[0]
