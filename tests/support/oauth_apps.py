"""Apps that log users in with the site, as an OpenID provider: their clients and their requests."""

import hashlib
from base64 import urlsafe_b64encode
from urllib.parse import parse_qsl, urlencode, urlsplit

from webtest import TestApp

from tests.support.service_keys import with_services
from tests.support.sites import BROWSER
from wsgiauth.features.oauth_server import clients
from wsgiauth.storage import context

ISSUER = "http://localhost"  # where WebTest's clients are
CALLBACK = "https://wiki.example.org/callback"
VERIFIER = "a-verifier-of-pkce-that-has-at-least-43-characters"
STATE, NONCE = "state-of-the-app", "nonce-of-the-app"
AUTHORIZE, CONSENT = "/auth/authorize", "/auth/consent"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
TOKEN, USERINFO = "/auth/oauth/token", "/auth/userinfo"
REGISTER = "/auth/oauth/register"
EDITOR = "http://localhost:33418/callback"  # of an app that registers itself

MOST_REDIRECTS = 10  # of the site, one after another


def as_provider(settings, key_path, **changes):
    """Return settings of a provider that signs with the key at a path."""
    return with_services(
        settings, key_path, **{"PUBLIC_URL": ISSUER, "OAUTH_SERVER": True, **changes}
    )


def challenge_of(verifier):
    """Return the `code_challenge` of a verifier."""
    return urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


class App:
    """An app that users of the site log in to.

    Attributes:
        id, secret: Of its client.
        uri: Its redirect URI; "" for a service, to which no user logs in.
        program: Sends requests of the app's program.
    """

    def __init__(self, site, name="Wiki", uri=CALLBACK, **options):
        with context.using(site.database):
            uris = [uri] if uri else []
            made = clients.create(name, uris, now=site.site.tokens.now(), **options)
        self.site, self.uri = site, uri
        self.id, self.secret = made.row.id, made.secret
        self.program = TestApp(site)
        if self.secret:
            self.program.authorization = ("Basic", (self.id, self.secret))

    def parameters(self, **changes):
        """Return an authorization request; None leaves a parameter out."""
        usual = {
            "response_type": "code",
            "client_id": self.id,
            "redirect_uri": self.uri,
            "scope": "openid profile email",
            "state": STATE,
            "nonce": NONCE,
            "code_challenge": challenge_of(VERIFIER),
            "code_challenge_method": "S256",
        }
        return {name: each for name, each in {**usual, **changes}.items() if each is not None}

    def url(self, path=AUTHORIZE, **changes):
        """Return the URL with a request to which the app sends a browser."""
        return f"{path}?{urlencode(self.parameters(**changes))}"

    def exchange(self, code, status=200, **changes):
        """Exchange a code, and return the answer of the token endpoint."""
        usual = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.uri,
            "code_verifier": VERIFIER,
        }
        return self.ask(status, usual | changes)

    def refresh(self, token, status=200, **changes):
        """Exchange a refresh token, and return the answer of the token endpoint."""
        return self.ask(status, {"grant_type": "refresh_token", "refresh_token": token, **changes})

    def log_in_as_itself(self, status=200, **fields):
        """Ask for a token by the client's own credentials; return the answer."""
        return self.ask(status, {"grant_type": "client_credentials", **fields})

    def ask(self, status, fields):
        """Send a form to the token endpoint; None leaves a field out."""
        if not self.secret:
            fields = {"client_id": self.id, **fields}
        sent = {name: each for name, each in fields.items() if each is not None}
        return self.program.post(TOKEN, sent, status=status).json

    def log_in(self, browser, **changes):
        """Let a browser that has logged in to the site log in to the app; return the tokens."""
        return self.exchange(code_in(walk(browser, self.url(**changes))))


def service_client(site, *scopes):
    """Return a program that logs in as itself, with permissions."""
    return App(site, "Nightly export", uri="", is_service=True, scopes=scopes)


def register(site, status=201, **metadata):
    """Let an app register itself, and return the answer."""
    sent = {"redirect_uris": [EDITOR], "client_name": "Editor", **metadata}
    return TestApp(site).post_json(REGISTER, sent, status=status).json


class RegisteredApp(App):
    """An app that has registered itself."""

    def __init__(self, site, **metadata):
        self.id = register(site, **metadata)["client_id"]
        self.site, self.uri, self.secret = site, EDITOR, ""
        self.program = TestApp(site)


def consent_form(page):
    """Return the form of a consent page."""
    return next(form for form in page.forms.values() if "scope" in form.fields)


def follow(browser, url):
    """Follow redirects of the site from a URL; return the page, or the redirect to the app."""
    for _ in range(MOST_REDIRECTS):
        answer = browser.get(url, headers=BROWSER, status="*")
        if answer.status_int not in (302, 303) or not is_here(answer.location):
            return answer
        url = answer.location
    raise AssertionError(f"a loop: {url}")


def walk(browser, url, decision="allow"):
    """Follow redirects of the site from a URL and answer its consent page, if it shows one.

    Return the URL at the app that the browser is sent to.
    """
    answer = follow(browser, url)
    if answer.status_int == 200:
        form = consent_form(answer)
        answer = form.submit("decision", value=decision, headers=BROWSER)
    assert answer.status_int == 303
    return answer.location


def is_here(location):
    """Return whether a URL leads to the site."""
    return location.startswith((f"{ISSUER}/", f"{ISSUER}:80/", "/"))


def answer_in(location):
    """Return the parameters that a URL brings to the app."""
    return dict(parse_qsl(urlsplit(location).query, strict_parsing=True))


def code_in(location):
    """Return the code that a URL brings to the app."""
    return answer_in(location)["code"]
