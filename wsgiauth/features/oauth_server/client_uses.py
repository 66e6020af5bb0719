"""When clients last got tokens, as operators see it: the first time on a day is recorded."""

from wsgiauth.authentication.lifetimes import DAY
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.storage.statements import Statement, given, is_given
from wsgiauth.storage.upkeep import OptionalWrites

_IS_DUE = Client.last_used_at.is_null() | (Client.last_used_at < given(Client.last_used_at, "day"))
_NOTE = Statement(
    lambda: Client.update(last_used_at=given(Client.last_used_at, "now")).where(
        is_given(Client.id), _IS_DUE
    )
)

_writes = OptionalWrites("the last use of apps is not recorded for now")


def note_use(client: Client, now: float) -> None:
    """Record that a client gets tokens, unless it got some before on this day (UTC)."""
    day = int(now) - int(now) % DAY
    if client.last_used_at is not None and client.last_used_at >= day:
        return
    _writes.execute(lambda: _NOTE.execute(id=client.id, now=int(now), day=day), int(now))
