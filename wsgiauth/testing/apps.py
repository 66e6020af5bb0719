"""Apps that log users in with the application, which is an OpenID provider (OAUTH_SERVER)."""

import hashlib
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from wsgiauth.accounts.models import User
from wsgiauth.features.oauth_server import clients
from wsgiauth.middleware import AuthMiddleware
from wsgiauth.storage import context
from wsgiauth.testing.logins import logged_in
from wsgiauth.testing.people import require_middleware

if TYPE_CHECKING:
    from webtest import TestApp, TestResponse

_HERE = ("", "localhost", "localhost:80")  # where WebTest's clients are
_MOST_REDIRECTS = 10  # of the site, one after another
_PAGE = {"Accept": "text/html"}
_FORM = re.compile("<form.*?</form>", re.DOTALL)


class AppClient:
    """An app that users of the application log in to, as `app_client` returns it.

    Attributes:
        client_id: Of the app.
        client_secret: Of the app; empty for a public client.
        redirect_uri: Where the site sends browsers.
        state: Of each request of the app.
        nonce: Of each request.
        code_verifier: Of each request: its secret of PKCE (RFC 7636 section 4.1).
        program: The WebTest client of the app, with its id and secret.
    """

    state: str = "state-of-the-app"
    nonce: str = "nonce-of-the-app"
    code_verifier: str = "a-verifier-of-pkce-that-has-at-least-43-characters"

    def __init__(
        self,
        application: AuthMiddleware,
        client_id: str,
        client_secret: str,
        redirect_uri: str,
        scope: str,
    ) -> None:
        from webtest import TestApp

        self.client_id: str = client_id
        self.client_secret: str = client_secret
        self.redirect_uri: str = redirect_uri
        self.program: TestApp = TestApp(application)
        self._application, self._scope = application, scope
        if client_secret:
            self.program.authorization = ("Basic", (client_id, client_secret))

    def log_in(self, user: "User | TestApp | None" = None, **parameters: str | None) -> Any:
        """Log a user in to the app, and return the answer of the token endpoint.

        That is a dictionary with `access_token`, `id_token`, `scope` and so on, and with
        `refresh_token` if the app got one (RFC 6749 section 5.1).

        Args:
            user: See `authorize`.
            parameters: See `authorize`.

        Raises:
            AssertionError: The app got no code.
        """
        answer = self.authorize(user, **parameters)
        if "code" not in answer:
            raise AssertionError(f"The app got no code: {answer}")
        redirect_uri = parameters.get("redirect_uri", self.redirect_uri)
        return self.exchange(answer["code"], redirect_uri=redirect_uri)

    def authorize(
        self, user: "User | TestApp | None" = None, **parameters: str | None
    ) -> dict[str, str]:
        """Send a browser to the site, allow the app there, and return what the app gets.

        That is the query of the redirect URI: `code`, `state` and `iss`, or `error`.

        Args:
            user: A user, who logs in for it; or the browser of one, as `logged_in` returns it.
            parameters: Of the authorization request, instead of the usual ones or besides them,
                such as `prompt="none"`; None leaves one out.

        Raises:
            AssertionError: The site shows a page, such as a login, instead of a redirect to the
                app.
        """
        is_user = user is None or isinstance(user, User)
        browser: Any = logged_in(self._application, user) if is_user else user
        return answer_in(walk(browser, self.url(**parameters)))

    def url(self, **parameters: str | None) -> str:
        """Return the path and query to which the app sends a browser; see `authorize`."""
        query = urlencode(self.parameters(**parameters))
        return f"{self._application.site.pages.mount}/authorize?{query}"

    def parameters(self, **changes: str | None) -> dict[str, str]:
        """Return the parameters of an authorization request, with PKCE; see `authorize`."""
        usual = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": self._scope,
            "state": self.state,
            "nonce": self.nonce,
            "code_challenge": challenge_of(self.code_verifier),
            "code_challenge_method": "S256",
        }
        return _without_none(usual | changes)

    def exchange(self, code: str, status: int = 200, **fields: str | None) -> Any:
        """Exchange a code, and return the answer of the token endpoint; see `request_tokens`."""
        usual = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.code_verifier,
        }
        return self.request_tokens(status, **(usual | fields))

    def refresh(self, refresh_token: str, status: int = 200, **fields: str | None) -> Any:
        """Exchange a refresh token; see `request_tokens`."""
        usual = {"grant_type": "refresh_token", "refresh_token": refresh_token}
        return self.request_tokens(status, **(usual | fields))

    def request_tokens(self, status: int = 200, **fields: str | None) -> Any:
        """Send a form to the token endpoint, and return the JSON of its answer.

        Args:
            status: The HTTP status that is expected.
            fields: Of the form; None leaves one out.

        Raises:
            webtest.AppError: The status is another one.
        """
        own = {} if self.client_secret else {"client_id": self.client_id}
        url = f"{self._application.site.pages.mount}/oauth/token"
        return self.program.post(url, _without_none(own | fields), status=status).json


def app_client(
    application: AuthMiddleware,
    name: str = "App",
    *,
    redirect_uris: Iterable[str] = ("https://app.example.org/callback",),
    scopes: Iterable[str] = (),
    **fields: Any,
) -> AppClient:
    """Register an app that users of `application` log in to, and return it.

    Its methods use the endpoints of the provider as an app and a browser do, without a network.

    Args:
        name: For the page that asks for consent.
        redirect_uris: Where the site may send browsers; requests have the first one.
        scopes: What it can ask for; by default, `openid profile email`.
        fields: As the options of `python -m wsgiauth client add`: `is_public`, `is_trusted`,
            `is_service`, `group` (a `Group`), `algorithm`, `logout_uri`, `logout_redirects`,
            `launch_url`, `is_without_pkce` and `audiences`.

    Raises:
        ImportError: WebTest is not installed.
        ValueError: The site is no provider.
        ValidationError: A field is invalid.
    """
    site = require_middleware(application).site
    if not site.settings.OAUTH_SERVER:
        raise ValueError("The site is no provider: make_settings(OAUTH_SERVER=True) sets it up.")
    uris = list(redirect_uris)
    with context.using(application.database):
        made = clients.create(name, uris, scopes=list(scopes), now=site.tokens.now(), **fields)
    row = made.row
    return AppClient(application, row.id, made.secret, uris[0] if uris else "", row.scopes)


def challenge_of(code_verifier: str) -> str:
    """Return the `code_challenge` of a `code_verifier` (RFC 7636 section 4.2)."""
    digest = hashlib.sha256(code_verifier.encode()).digest()
    return urlsafe_b64encode(digest).rstrip(b"=").decode()


def walk(browser: "TestApp", url: str, decision: str = "allow") -> str:
    """Follow redirects of the site from a URL and answer its consent page, if it shows one.

    Return the URL at the app that the browser is sent to.
    """
    page = follow(browser, url)
    if page.status_int == 200:
        form = consent_form(page)
        if form is None:
            raise AssertionError(f"The site shows a page instead: {page.html.title.text.strip()}")
        page = form.submit("decision", value=decision, headers=_PAGE)
    if page.status_int != 303:
        raise AssertionError(f"The site does not send the browser to the app: {page.status}")
    location: str = page.location
    return location


def follow(browser: "TestApp", url: str) -> "TestResponse":
    """Follow redirects of the site from a URL; return the page, or the redirect to the app."""
    mount = browser.app.site.pages.mount
    for _ in range(_MOST_REDIRECTS):
        page = browser.get(url, headers=_PAGE, status="*")
        if page.status_int not in (302, 303) or not _is_at_site(page.location, mount):
            return page
        url = page.location
    raise AssertionError(f"The site redirects in a loop: {url}")


def consent_form(page: "TestResponse") -> Any:
    """Return the form of a consent page, or None."""
    from webtest import Form

    # To parse the whole page, as `page.forms` does, takes seven times as long.
    forms = (Form(page, each) for each in _FORM.findall(page.text))
    return next((form for form in forms if "scope" in form.fields), None)


def answer_in(location: str) -> dict[str, str]:
    """Return the parameters that a URL brings to the app."""
    return dict(parse_qsl(urlsplit(location).query, strict_parsing=True))


def _is_at_site(location: str, mount: str) -> bool:
    """Return whether a URL leads to the site, and not to an app on this computer."""
    parts = urlsplit(location)
    return parts.netloc in _HERE and parts.path.startswith(f"{mount}/")


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}
