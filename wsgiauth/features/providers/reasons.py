"""The titles of providers in the trail of the staff panel."""

from collections.abc import Collection, Mapping

from wsgiauth.features.providers.event_kinds import IDENTITY_CONNECTED, IDENTITY_DISCONNECTED
from wsgiauth.settings import Settings
from wsgiauth.settings.oidc import parse_entries
from wsgiauth.staff.event_reasons import EventReasons


class ProviderReasons(EventReasons):
    """Names the provider of an event, as long as the settings have it."""

    events = (IDENTITY_CONNECTED.name, IDENTITY_DISCONNECTED.name)

    def __init__(self, settings: Settings) -> None:
        self._titles = {each.name: each.title for each in parse_entries(settings.OIDC_PROVIDERS)}

    def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the titles of providers; costs no query."""
        return self._titles
