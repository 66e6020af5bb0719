"""The names of API keys in the trail of the staff panel."""

from collections.abc import Collection, Mapping
from typing import Any

from wsgiauth.accounts.tables import Key
from wsgiauth.events import Event, kinds
from wsgiauth.features.keys.api_keys import KEY_CREATED
from wsgiauth.staff.event_reasons import EventReasons


class KeyReasons(EventReasons):
    """Names the API key of an event, as long as it exists."""

    events = (KEY_CREATED.name, kinds.KEY_ENDED.name)
    names_keys = True

    def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the names of keys."""
        rows: Any = Key.select(Key.id, Key.name).where(Key.id.in_(sorted(ids)))
        return dict(rows.tuples())

    def path(self, event: Event) -> str:
        """Return the list of keys on the page of their owner."""
        return f"users/{event.user_id}#keys"
