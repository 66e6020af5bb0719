"""An example of each page of the provider."""

from wsgiauth.authentication.scopes import in_words
from wsgiauth.endpoints.samples import THEN
from wsgiauth.features.oauth_server.answers import FormPostPage, UncheckedPage
from wsgiauth.features.oauth_server.apps import App, LaunchableApp
from wsgiauth.features.oauth_server.client_pages import ClientUser, FoundClient
from wsgiauth.features.oauth_server.clients import PUBLIC, SERVICE, ListedClient
from wsgiauth.features.oauth_server.endpoints.admin_app import APP_ACTIONS, ClientPage
from wsgiauth.features.oauth_server.endpoints.admin_apps import APPS, ClientsPage
from wsgiauth.features.oauth_server.endpoints.apps import AppsPage
from wsgiauth.features.oauth_server.endpoints.authorize import NotAdmittedPage, TooLongPage
from wsgiauth.features.oauth_server.endpoints.consent import ConsentPage
from wsgiauth.features.oauth_server.endpoints.device import DevicePage
from wsgiauth.features.oauth_server.endpoints.oauth_logout import LoggedOutPage, LogoutPage
from wsgiauth.features.oauth_server.scope_words import for_staff
from wsgiauth.features.oauth_server.tables import DOCUMENT, REQUEST
from wsgiauth.staff.actions import ActionPage
from wsgiauth.staff.frame import Frame
from wsgiauth.web.pages import Page

_SCOPES = ("openid", "profile", "email", "offline_access", "reports.publish")
_HOSTS = ("wiki.example.org", "localhost:8080")
_KEY = "0123456789abcdef0123"
_APP = App(_KEY, _KEY, "Wiki", _HOSTS, _HOSTS[:1], "localhost:8080", _SCOPES, THEN, THEN)
_ON_DEVICE = App("1", "1", "Notes", ("com.example.notes:",), (), "Notes", _SCOPES[:3], THEN, None)
_LAUNCHABLE = tuple(
    LaunchableApp(name, f"https://{name.lower()}.example.org/")
    for name in ("Calendar", "Reports", "Wiki")
)
_FRAME = Frame("/auth/admin", APPS, "ada", "/auth/account", "/")
_FOUND = FoundClient(
    id=_KEY,
    key=_KEY,
    name="Wiki",
    kind=PUBLIC,
    is_trusted=False,
    host="wiki.example.org",
    created_at=THEN,
    registered_itself=True,
    registered_by=REQUEST,
    last_used_at=THEN,
    user_count=1,
)
_CLIENT = ListedClient(
    _KEY,
    "Wiki",
    PUBLIC,
    is_trusted=True,
    redirect_uris=("https://wiki.example.org/login",),
    scopes=_SCOPES,
    group="Editors",
    secrets=0,
    algorithm="ES256",
    logout_uri="https://wiki.example.org/ended",
    logout_redirects=("https://wiki.example.org/bye",),
    launch_url="https://wiki.example.org/",
    is_without_pkce=True,
    audiences=("https://api.example.org",),
    created_at=THEN,
    registered_itself=True,
    registered_by=DOCUMENT,
    expires_at=THEN,
    last_used_at=THEN,
)
_CONSENT = ConsentPage(
    consent_url="/x",
    client_name="Wiki",
    host="wiki.example.org",
    is_on_device=False,
    since=THEN,
    scopes=in_words(_SCOPES),
    scope=" ".join(_SCOPES),
    lacking=("reports.publish",),
    label="ada",
    switch_url="/x",
)
_NOT_ADMITTED = NotAdmittedPage(
    client_name="Wiki", label="ada", back_url="https://wiki.example.org/login"
)

PAGES: tuple[Page, ...] = (
    TooLongPage(status=400, title="This app cannot be opened", detail="The request is too long."),
    UncheckedPage(
        client_name="Wiki", host="wiki.example.org", back_url="https://wiki.example.org/x"
    ),
    FormPostPage(action="https://wiki.example.org/login", fields={"code": "example"}),
    _NOT_ADMITTED.replaced(fields={"error": "access_denied"}),
    _NOT_ADMITTED,
    _CONSENT.replaced(
        host="127.0.0.1",
        is_on_device=True,
        is_self_registered=True,
        scopes=(),
        message="The form was refused.",
    ),
    _CONSENT,
    DevicePage(user_code="BCDF-GHJK", notice="The device has been allowed."),
    DevicePage(message="No device waits for this code.", errors={"user_code": ["A rule."]}),
    DevicePage(
        user_code="BCDF-GHJK",
        client_name="TV",
        address="192.0.2.7",
        browser="Firefox on Linux",
        is_browser=True,
        scopes=in_words(_SCOPES),
        scope=" ".join(_SCOPES),
        label="ada",
    ),
    LogoutPage(logout_url="/auth/logout", client_name="Wiki", label="ada"),
    LogoutPage(logout_url="/auth/logout", message="The request is not valid.", label="ada"),
    LoggedOutPage(),
    LoggedOutPage(message="The request is not valid."),
    AppsPage(apps=()),
    AppsPage(apps=(_APP._replace(last_used_at=None),), message="The form was refused."),
    ClientsPage(
        frame=_FRAME,
        clients=(_FOUND, _FOUND._replace(key="1", registered_by=DOCUMENT, last_used_at=None)),
        search="",
        is_self_registered=True,
        first_url="",
        next_url="",
    ),
    ClientsPage(
        frame=_FRAME,
        clients=(
            _FOUND._replace(id="1", is_trusted=True, host="", kind=SERVICE, user_count=1001),
            _FOUND,
        ),
        search="wi",
        first_url="/x",
        next_url="/x",
        notice="The app has been removed.",
    ),
    ClientPage(
        frame=_FRAME,
        client=_CLIENT,
        label="App",
        scopes=for_staff(_SCOPES),
        users=(ClientUser(7, "grace", "grace", _SCOPES, THEN),),
        access=(for_staff(_SCOPES),),
        user_count=1,
        revocable=frozenset((7,)),
        app_url="/auth/admin/apps/0123456789abcdef0123",
        first_url="/x",
        next_url="/x",
        actions=APP_ACTIONS,
        notice="The app can no longer use the account of grace.",
    ),
    ActionPage(
        frame=_FRAME,
        action=APP_ACTIONS["revoke"],
        label="App",
        subject="Wiki",
        action_url="/x",
        back_url="/x",
        back_text="Back to the app",
        entered="grac",
        errors={"username": ["A rule."]},
    ),
    AppsPage(apps=(_APP,), notice="The app “Wiki” can no longer use your account."),
    AppsPage(apps=(_APP, _ON_DEVICE), launch=_LAUNCHABLE),
)
