"""An example of each page of the provider."""

from wsgiauth.authentication.scopes import in_words
from wsgiauth.endpoints.samples import THEN
from wsgiauth.features.oauth_server.answers import FormPostPage, UncheckedPage
from wsgiauth.features.oauth_server.apps import App
from wsgiauth.features.oauth_server.endpoints.apps import AppsPage
from wsgiauth.features.oauth_server.endpoints.authorize import NotAdmittedPage
from wsgiauth.features.oauth_server.endpoints.consent import ConsentPage
from wsgiauth.features.oauth_server.endpoints.device import DevicePage
from wsgiauth.features.oauth_server.endpoints.oauth_logout import LoggedOutPage, LogoutPage
from wsgiauth.web.pages import Page

_SCOPES = ("openid", "profile", "email", "offline_access", "reports.publish")
_HOSTS = ("wiki.example.org", "localhost:8080")
_APP = App("0123456789abcdef0123", "Wiki", _HOSTS, _SCOPES, THEN, THEN)
_CONSENT = ConsentPage(
    consent_url="/x",
    client_name="Wiki",
    host="wiki.example.org",
    is_on_device=False,
    since=THEN,
    scopes=in_words(_SCOPES),
    scope=" ".join(_SCOPES),
    username="ada",
    switch_url="/x",
)
_NOT_ADMITTED = NotAdmittedPage(
    client_name="Wiki", username="ada", back_url="https://wiki.example.org/login"
)

PAGES: tuple[Page, ...] = (
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
        browser="Linux",
        scopes=in_words(_SCOPES),
        scope=" ".join(_SCOPES),
        username="ada",
    ),
    LogoutPage(logout_url="/x", client_name="Wiki", username="ada"),
    LogoutPage(logout_url="/x", message="The request is not valid.", username="ada"),
    LoggedOutPage(),
    LoggedOutPage(message="The request is not valid."),
    AppsPage(apps=()),
    AppsPage(apps=(_APP._replace(last_used_at=None),), message="The form was refused."),
    AppsPage(apps=(_APP,), notice="The app “Wiki” can no longer use your account."),
)
