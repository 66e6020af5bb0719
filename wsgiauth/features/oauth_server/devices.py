"""Devices without a keyboard or a browser, such as televisions (RFC 8628).

A device shows a short code, and asks for its tokens until a person has typed the code at
/auth/device and allowed it. The code alone opens nothing: it only tells which device the person
means. It cannot be guessed in time: 20**8 codes, some 35 bits, and few guesses (section 5.1).
"""

import secrets
from collections.abc import Iterator
from typing import NamedTuple

from wsgiauth import events
from wsgiauth.accounts.models import User
from wsgiauth.accounts.personal_data import rows_of
from wsgiauth.authentication.identity import UserSession
from wsgiauth.authentication.lifetimes import MINUTE
from wsgiauth.authentication.one_time import digest
from wsgiauth.authentication.typed_codes import letters_in
from wsgiauth.features.oauth_server import grants
from wsgiauth.features.oauth_server.event_kinds import DEVICE_ALLOWED, DEVICE_REFUSED
from wsgiauth.features.oauth_server.grants import Code
from wsgiauth.features.oauth_server.scopes import granted_in, recorded
from wsgiauth.features.oauth_server.tables import Client, DeviceRequest
from wsgiauth.settings import Settings
from wsgiauth.storage import database
from wsgiauth.storage.conflicts import repeated_after_conflict
from wsgiauth.storage.models import from_timestamp, json_fields
from wsgiauth.storage.statements import ModelStatement, Statement, given, insert_row, is_given
from wsgiauth.storage.upkeep import purge_some
from wsgiauth.web.clients import Client as Sender

LIFETIME = 10 * MINUTE
INTERVAL = 5  # seconds between two questions of a device
MAX_CODE = 100  # characters of a device code that a client sends

# Consonants alone make no words, and none of them looks or sounds like a digit (section 6.1).
ALPHABET = "BCDFGHJKLMNPQRSTVWXZ"
LENGTH = 8

_WAITS = (
    DeviceRequest.user.is_null()
    & (DeviceRequest.is_refused == False)  # noqa: E712 - SQL
    & (DeviceRequest.expires_at > given(DeviceRequest.expires_at, "now"))
)
_FIND = ModelStatement(
    lambda: (
        DeviceRequest.select(DeviceRequest, Client)
        .join(Client)
        .where(is_given(DeviceRequest.user_code), _WAITS)
    )
)
_ALLOW = Statement(
    lambda: DeviceRequest.update(
        user=given(DeviceRequest.user),
        stamp=given(DeviceRequest.stamp),
        session_id=given(DeviceRequest.session_id),
        scopes=given(DeviceRequest.scopes),
    ).where(is_given(DeviceRequest.id), _WAITS)
)
_REFUSE = Statement(
    lambda: DeviceRequest.update(is_refused=True).where(is_given(DeviceRequest.id), _WAITS)
)
_OF_CODE = ModelStatement(
    lambda: DeviceRequest.select().where(is_given(DeviceRequest.id), is_given(DeviceRequest.client))
)
_NOTE_QUESTION = Statement(
    lambda: DeviceRequest.update(asked_at=given(DeviceRequest.asked_at)).where(
        is_given(DeviceRequest.id)
    )
)


class MadeDevice(NamedTuple):
    """The codes of a new request."""

    device_code: str  # which is not stored
    user_code: str  # as people read it

    def __repr__(self) -> str:
        return "<MadeDevice>"


def begin(client: Client, scopes: str, resource: str, sender: Sender, now: float) -> MadeDevice:
    """Record the request of a device, and return its codes."""
    device_code = secrets.token_urlsafe(32)
    user_code = "".join(secrets.choice(ALPHABET) for _place in range(LENGTH))
    with database.atomic():
        insert_row(
            DeviceRequest,
            id=digest(device_code),
            user_code=user_code,
            client=client.id,
            grant_id=secrets.token_urlsafe(16),
            scopes=scopes,
            resource=resource,
            address=sender.address,
            agent=sender.agent,
            interval=INTERVAL,
            expires_at=int(now) + LIFETIME,
        )
    purge_some(DeviceRequest, now)
    return MadeDevice(device_code, in_words(user_code))


def in_words(user_code: str) -> str:
    """Return a code as people read it, such as `BCDF-GHJK`."""
    return f"{user_code[:4]}-{user_code[4:]}"


def find(typed: str, now: float) -> DeviceRequest | None:
    """Return the request that waits under a code as a person typed it, with its client."""
    code = letters_in(typed, LENGTH)
    if not code or not set(code) <= set(ALPHABET):
        return None
    return _FIND.first(user_code=code, now=int(now))


@repeated_after_conflict
def allow(row: DeviceRequest, session: UserSession, scopes: list[str], now: float) -> bool:
    """Record the consent of a user, and let a device have its tokens.

    Return False, and record nothing, if the device was answered before or has expired, or if the
    user has changed since the request began.
    """
    changes = {
        "user": session.user.id,
        "stamp": session.user.security_stamp,
        "session_id": session.session_id,
        "scopes": recorded(scopes, row.scopes.split()),
    }
    details = {**grants.named(row.client), "scopes": " ".join(scopes)}
    with database.atomic() as transaction:
        consent = grants.record(row.client, session.user, scopes, now, resource=row.resource)
        is_allowed = consent is not None and bool(
            _ALLOW.execute(id=row.id, now=int(now), **changes)
        )
        if is_allowed:
            events.emit(
                DEVICE_ALLOWED, user_id=session.user.id, reason=row.client_id, details=details
            )
        else:
            transaction.rollback()
    return is_allowed


@repeated_after_conflict
def refuse(row: DeviceRequest, user: User, now: float) -> bool:
    """Refuse a device; return False if it was answered before, or has expired."""
    with database.atomic():
        is_refused = bool(_REFUSE.execute(id=row.id, now=int(now)))
        if is_refused:
            events.emit(DEVICE_REFUSED, user_id=user.id, reason=row.client_id)
    return is_refused


class Question(NamedTuple):
    """A device asks for its tokens."""

    row: DeviceRequest  # which can have expired
    is_too_early: bool


def ask(device_code: str, client: Client, now: float) -> Question | None:
    """Return the request of a device code of the client, or None.

    A question that comes too early changes nothing: section 3.5 lets the client, not this site,
    make the interval longer.
    """
    row = _OF_CODE.first(id=digest(device_code[: MAX_CODE + 1]), client=client.id)
    if row is None:
        return None
    is_too_early = 0 <= int(now) - row.asked_at < INTERVAL
    if not is_too_early:  # so a device without patience costs one write in each interval
        with database.atomic():
            _NOTE_QUESTION.execute(id=row.id, asked_at=int(now))
    return Question(row, is_too_early)


def code_of(row: DeviceRequest) -> Code | None:
    """Return what the device code can be exchanged for; None if no user has allowed it."""
    if row.user_id is None:
        return None
    return Code(
        row.grant_id,
        row.client_id,
        row.user_id,
        row.stamp,
        row.session_id,
        redirect_uri="",
        challenge="",
        nonce="",
        scope=row.scopes,
        resource=row.resource,
    )


def own_devices(user: User, settings: Settings) -> Iterator[object]:
    """Yield the devices that a user has allowed lately."""
    of_user = (
        DeviceRequest.select(DeviceRequest, Client)
        .join(Client)
        .where(DeviceRequest.user == user.id)
    )
    for row in rows_of(of_user, DeviceRequest.id):
        yield json_fields(
            {
                "app": row.client.name,
                "scopes": granted_in(row.scopes),
                "address": row.address or None,
                "user_agent": row.agent or None,
                "expires_at": from_timestamp(row.expires_at),
            }
        )
