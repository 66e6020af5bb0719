"""GET /auth/admin/apps: the clients, found by a part of their names."""

from collections.abc import Collection, Mapping
from urllib.parse import urlencode
from wsgiref.types import WSGIEnvironment

from wsgiauth.accounts import names
from wsgiauth.events import Event
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.client_pages import FoundClient, find_clients
from wsgiauth.features.oauth_server.tables import DOCUMENT, REQUEST
from wsgiauth.forms.done import notice_of
from wsgiauth.forms.endpoint import BackLink
from wsgiauth.messages import _, pgettext
from wsgiauth.openapi.problems import INVALID_QUERY
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.staff.actions import DELETE
from wsgiauth.staff.event_reasons import EventReasons
from wsgiauth.staff.frame import PanelEndpoint, PanelPage, frame_of, panel_url, require_staff
from wsgiauth.web.pages import UrlBelow
from wsgiauth.web.request import prefers_html, query_fields
from wsgiauth.web.responses import Response, json_response

APPS = "apps"  # the section of the panel
REMOVED = _("The app has been removed.")
_SEARCH, _AFTER, _REGISTERED = "q", "after", "registered"
_ITSELF = "itself"  # the value of the filter for apps that registered themselves

KINDS: Mapping[str, str] = {
    clients.PUBLIC: pgettext("other app", "without a secret"),
    clients.CONFIDENTIAL: pgettext("other app", "with a secret"),
    clients.SERVICE: pgettext("other app", "service"),
}


REGISTERED: Mapping[str | None, str] = {
    REQUEST: pgettext("other app", "(by request)"),
    DOCUMENT: pgettext("other app", "(by document)"),
}


class AppReasons(EventReasons):
    """Names the app of an event."""

    events = (
        *("consent_given", "consent_revoked", "offline_access_given", "grant_reused"),
        *("device_allowed", "device_refused"),
        *("client_created", "client_changed", "client_removed"),
    )

    def names(self, ids: Collection[str]) -> Mapping[str, str]:
        """Return the names of clients."""
        return clients.names_of(ids)

    def path(self, event: Event) -> str:
        """Return the page of the app."""
        return f"{APPS}/{event.reason}"


class OfApps(PanelEndpoint):
    """A URL of the panel about apps."""

    back = BackLink("admin/apps", _("Back to the apps"))

    def is_offered(self, settings: Settings) -> bool:
        """Return whether the site has a panel, and is a provider."""
        return super().is_offered(settings) and settings.OAUTH_SERVER


class ClientsPage(PanelPage):
    """A page of the list of clients."""

    template = "admin/apps.html"
    apps_url = UrlBelow("admin/apps")  # where the form is sent, and below which each app is
    clients: tuple[FoundClient, ...]
    kinds: Mapping[str, str] = KINDS  # in words
    registered: Mapping[str | None, str] = REGISTERED  # how an app registered itself, in words
    search: str  # a part of a name, as typed
    is_self_registered: bool = False  # whether it has only apps that registered themselves
    first_url: str  # empty on the first page
    next_url: str  # empty if there is no next page
    notice: str = ""  # what has just been done


class AdminApps(OfApps):
    """Lists the clients, a page at a time."""

    step = _("The apps")
    failures = (INVALID_QUERY,)

    def get(self, environ: WSGIEnvironment, site: Site) -> Response:
        """Answer with a page of the list, or with the same clients as JSON."""
        member = require_staff(environ, site).user
        given = query_fields(environ, (_SEARCH, _AFTER, _REGISTERED))
        if given[_REGISTERED] not in ("", _ITSELF):
            problem = _("%(field)s must be one of %(values)s.", field=_REGISTERED, values=_ITSELF)
            raise ValidationError({_REGISTERED: [problem]})
        search, is_self_registered = names.typed(given[_SEARCH]), bool(given[_REGISTERED])
        found, after = find_clients(search, given[_AFTER], is_self_registered=is_self_registered)
        apps_url = f"{panel_url(environ)}/{APPS}"
        chosen = {_SEARCH: search, _REGISTERED: given[_REGISTERED]}
        chosen = {name: value for name, value in chosen.items() if value}
        next_url = f"{apps_url}?{urlencode(chosen | {_AFTER: after})}" if after else ""
        if not prefers_html(environ):
            documents = [each.document() for each in found]
            return json_response({"apps": documents, "next": next_url or None})
        page = ClientsPage(
            frame=frame_of(environ, member, APPS),
            clients=tuple(found),
            search=search,
            is_self_registered=is_self_registered,
            first_url=f"{apps_url}?{urlencode(chosen)}" if given[_AFTER] else "",
            next_url=next_url,
            notice=notice_of(environ, {DELETE: REMOVED}),
        )
        return site.pages.render(environ, page)
