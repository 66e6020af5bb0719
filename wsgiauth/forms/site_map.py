"""The URLs below the mount as a user sees them: what answers at a path, and where it leads back."""

from collections.abc import Mapping

from wsgiauth.accounts.models import User
from wsgiauth.forms.endpoint import Endpoint
from wsgiauth.settings import Settings
from wsgiauth.web.urls import Router

Place = tuple[Endpoint, Mapping[str, str]]  # what answers, and the parts of the path with names


class SiteMap:
    """Finds endpoints by their paths.

    Args:
        endpoints: Those of every site, by path.
    """

    def __init__(self, endpoints: Mapping[str, Endpoint]) -> None:
        self._router = Router(endpoints)
        self._most_parts = max(path.count("/") for path in endpoints)

    def find(self, path: str, user: User, settings: Settings) -> Place | None:
        """Return what answers at a path; None also if it does not exist for the user."""
        found = self._router.find(path)
        if found is None or not found[0].is_offered(settings):
            return None
        return None if found[0].is_for_staff and not user.is_staff else found

    def nearest(self, path: str, user: User, settings: Settings) -> Place:
        """Return what answers at a path, or at the nearest one above it."""
        # Cut first, because a client can send hundreds of thousands of parts.
        parts = path.split("/", self._most_parts + 1)[: self._most_parts + 1]
        for count in range(len(parts), 1, -1):
            found = self.find("/".join(parts[:count]), user, settings)
            if found is not None:
                return found
        return Endpoint(), {}
