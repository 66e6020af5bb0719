"""What the feature `oauth_server` declares: see `wsgiauth.feature`."""

from collections.abc import Iterator, Sequence

from wsgiauth.accounts.personal_data import Records
from wsgiauth.authentication.sessions import Sessions
from wsgiauth.authentication.tokens import Tokens
from wsgiauth.events import Recorder
from wsgiauth.feature import Command, Feature
from wsgiauth.features.oauth_server import tables
from wsgiauth.features.oauth_server.app_sessions import own_app_sessions, waiting
from wsgiauth.features.oauth_server.apps import OfflineApps, own_consents, own_grants
from wsgiauth.features.oauth_server.asking_clients import ClientsWithSecrets
from wsgiauth.features.oauth_server.devices import own_devices
from wsgiauth.features.oauth_server.documents import Documents, own_documents
from wsgiauth.features.oauth_server.endpoints.admin_app import AdminApp, ChangeApp, UserApps
from wsgiauth.features.oauth_server.endpoints.admin_apps import APPS, AdminApps, AppReasons
from wsgiauth.features.oauth_server.endpoints.apps import Apps
from wsgiauth.features.oauth_server.endpoints.authorize import Authorize
from wsgiauth.features.oauth_server.endpoints.consent import Consent
from wsgiauth.features.oauth_server.endpoints.device import Device
from wsgiauth.features.oauth_server.endpoints.oauth_device import OAuthDevice
from wsgiauth.features.oauth_server.endpoints.oauth_logout import OAuthLogout
from wsgiauth.features.oauth_server.endpoints.oauth_par import OAuthPar
from wsgiauth.features.oauth_server.endpoints.oauth_register import OAuthRegister
from wsgiauth.features.oauth_server.endpoints.oauth_revoke import OAuthRevoke
from wsgiauth.features.oauth_server.endpoints.oauth_token import OAuthToken
from wsgiauth.features.oauth_server.endpoints.userinfo import UserInfo
from wsgiauth.features.oauth_server.event_kinds import EVENTS
from wsgiauth.features.oauth_server.grants import revoke_all
from wsgiauth.features.oauth_server.introspection import DescribedClients, DescribedGrants
from wsgiauth.features.oauth_server.logouts import EndedSessions, Logouts
from wsgiauth.features.oauth_server.metadata import AUTHORIZATION_SERVER, well_known_urls
from wsgiauth.features.oauth_server.origins import Origins
from wsgiauth.features.oauth_server.questions import QUESTIONS
from wsgiauth.features.oauth_server.server import OAuthServer
from wsgiauth.features.oauth_server.tables import (
    AppSession,
    Client,
    DeviceRequest,
    Document,
    Grant,
    StoredRequest,
)
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.messages import _
from wsgiauth.parts import PartFactories
from wsgiauth.settings import Settings
from wsgiauth.site import Site
from wsgiauth.web.pages import Page, StaffSection


def _parts(settings: Settings) -> PartFactories:
    if not settings.OAUTH_SERVER:
        return {}
    documents: PartFactories = {Documents: lambda parts: Documents(settings, parts.need(Tokens))}
    return {
        **(documents if settings.OAUTH_REGISTRATION else {}),
        OAuthServer: lambda parts: OAuthServer(settings, parts.need(Tokens), parts.need(Sessions)),
        DescribedGrants: lambda parts: DescribedGrants(settings, parts.need(OAuthServer)),
        DescribedClients: lambda _: DescribedClients(settings),
        ClientsWithSecrets: lambda parts: ClientsWithSecrets(settings, parts.need(Tokens)),
        Logouts: lambda parts: Logouts(parts.need(SignedTokens), parts.need(Tokens).now),
        Origins: lambda _: Origins(),
        OfflineApps: lambda _: OfflineApps(),
        UserApps: lambda _: UserApps(),
        AppReasons: lambda _: AppReasons(),
    }


def _recorder(settings: Settings, site: Site | None) -> Recorder | None:
    if not settings.OAUTH_SERVER:
        return None
    return EndedSessions(None if site is None else site.part(Logouts))


def _pages() -> Sequence[Page]:
    from wsgiauth.features.oauth_server.samples import PAGES

    return PAGES


def _sections(settings: Settings) -> Iterator[StaffSection]:
    if settings.OAUTH_SERVER and settings.ADMIN_PANEL:
        yield StaffSection(APPS, _("Apps"), "app")


FEATURE = Feature(
    name="oauth_server",
    commands={
        "client": Command(
            "wsgiauth.features.oauth_server.commands",
            "add, list, change and remove the apps with which users log in by their account here",
        )
    },
    urls={
        "/authorize": Authorize(),
        "/consent": Consent(),
        "/apps": Apps(),
        "/oauth/token": OAuthToken(),
        "/oauth/revoke": OAuthRevoke(),
        "/oauth/par": OAuthPar(),
        "/userinfo": UserInfo(),
        "/oauth/logout": OAuthLogout(),
        "/oauth/device": OAuthDevice(),
        "/device": Device(),
        "/oauth/register": OAuthRegister(),
        "/admin/apps": AdminApps(),
        "/admin/apps/{client}": AdminApp(),
        "/admin/apps/{client}/{action}": ChangeApp(),
    },
    openapi="wsgiauth.features.oauth_server.openapi",
    well_known=well_known_urls,
    replaces=frozenset({AUTHORIZATION_SERVER}),
    parts=_parts,
    events=EVENTS,
    staff_sections=_sections,
    pages=_pages,
    recorder=_recorder,
    at_first_proof=revoke_all,
    personal_data={
        "wsgiauth_oauth_consent": Records("allowed_apps", own_consents),
        "wsgiauth_oauth_grant": Records("app_grants", own_grants),
        "wsgiauth_oauth_session": Records("app_sessions", own_app_sessions),
        "wsgiauth_oauth_document": Records("documents_of_apps", own_documents),
        "wsgiauth_oauth_device": Records("allowed_devices", own_devices),
    },
    expiring={
        "app grant": Grant,
        "app session": AppSession,
        "device": DeviceRequest,
        "app document": Document,
        "unused app": Client,
        "authorization request": StoredRequest,
    },
    at_restore={
        "app grant": Grant,
        "consent": tables.Consent,
        "device": DeviceRequest,
        "authorization request": StoredRequest,
    },
    waiting=lambda settings: {"logout_tokens": waiting} if settings.OAUTH_SERVER else {},
    questions=QUESTIONS,
    headlines={
        "invalid_client": _("This app is not known here"),
        "invalid_redirect_uri": _("This app cannot be opened"),
        "invalid_request": _("This app cannot be opened"),
        "invalid_request_uri": _("This login has expired"),
        "no_such_app": _("This app has already been revoked"),
        "no_such_device": _("No device waits for this code"),
    },
)
