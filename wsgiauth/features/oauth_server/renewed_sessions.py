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

KEPT = 2 * MINUTE  # longer than a code works: see `codes.LIFETIME`

_PURPOSE = "renewed session"


def follow(event: Event, details: Mapping[str, str], now: int) -> None:
    """Let devices and codes follow a session, in the transaction of its new proof."""
    former, present = details.get("former_session"), details.get("session", "")
    if former is None:
        return
    of_user = DeviceRequest.user == event.user_id
    moved = DeviceRequest.update(session_id=present)
    moved.where(of_user, DeviceRequest.session_id == former).execute()
    is_ours = (OneTimeSecret.user == event.user_id) & (OneTimeSecret.purpose == _PURPOSE)
    OneTimeSecret.update(data=present).where(is_ours, OneTimeSecret.data == former).execute()
    one_time.record(former, _PURPOSE, user_id=event.user_id, data=present, expires_at=now + KEPT)


def present_id(session_id: str, user_id: int, now: float) -> str:
    """Return the id that a session of a user has now, if another one was its id lately, or ""."""
    row: OneTimeSecret | None = OneTimeSecret.get_or_none(
        OneTimeSecret.id == one_time.digest(session_id),
        OneTimeSecret.purpose == _PURPOSE,
        OneTimeSecret.user == user_id,
        OneTimeSecret.expires_at > int(now),
    )
    return "" if row is None else row.data
