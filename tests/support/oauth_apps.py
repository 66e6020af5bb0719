"""Apps that log users in with the site, as an OpenID provider: their clients and their requests."""

from urllib.parse import urlencode

from webtest import TestApp

from tests.support.service_keys import with_services
from wsgiauth import Group
from wsgiauth.accounts.tables import Membership
from wsgiauth.features.oauth_server import registration
from wsgiauth.features.oauth_server.document_urls import id_of
from wsgiauth.testing import AppClient, app_client
from wsgiauth.testing.apps import answer_in, challenge_of, consent_form, follow, walk

__all__ = ["answer_in", "challenge_of", "consent_form", "follow", "walk"]

ISSUER = "http://localhost"  # where WebTest's clients are
CALLBACK = "https://wiki.example.org/callback"
STATE, NONCE, VERIFIER = AppClient.state, AppClient.nonce, AppClient.code_verifier
AUTHORIZE, CONSENT = "/auth/authorize", "/auth/consent"
DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
TOKEN, USERINFO = "/auth/oauth/token", "/auth/userinfo"
REGISTER = "/auth/oauth/register"
PAR = "/auth/oauth/par"
EDITOR = "http://localhost:33418/callback"  # of an app that registers itself


def as_provider(settings, key_path, **changes):
    """Return settings of a provider that signs with the key at a path."""
    return with_services(
        settings, key_path, **{"PUBLIC_URL": ISSUER, "OAUTH_SERVER": True, **changes}
    )


def join_long_groups(user):
    """Insert so many groups with the user that an ID token with their names is a long one."""
    names = [f"{number:03} {'staff of the library ' * 5}desk" for number in range(120)]
    rows = [{"id": 1000 + at, "name": each, "name_key": each} for at, each in enumerate(names)]
    Group.insert_many(rows).execute()
    Membership.insert_many({"group": each["id"], "user": user.id} for each in rows).execute()


class App(AppClient):
    """An app that asks for the same scopes whatever it could ask for."""

    def __init__(self, site, name="Wiki", uri=CALLBACK, **options):
        made = app_client(site, name, redirect_uris=[uri] if uri else [], **options)
        self.begin(site, made.client_id, made.client_secret, uri)

    def begin(self, site, client_id, secret, uri):
        """Be a client that is registered."""
        super().__init__(site, client_id, secret, uri, "openid profile email")
        self.site, self.id, self.secret, self.uri = site, client_id, secret, uri

    def url(self, path=AUTHORIZE, **changes):
        """Return the URL with a request to which the app sends a browser."""
        return f"{path}?{urlencode(self.parameters(**changes))}"

    def push(self, status=201, **changes):
        """Send a request in advance; return the answer."""
        return self.program.post(PAR, self.parameters(**changes), status=status).json

    def log_in_as_itself(self, status=200, **fields):
        """Ask for a token by the client's own credentials; return the answer."""
        return self.ask(status, {"grant_type": "client_credentials", **fields})

    def ask(self, status, fields):
        """Send a form to the token endpoint; None leaves a field out."""
        return self.request_tokens(status, **fields)


def register(site, status=201, **metadata):
    """Let an app register itself, and return the answer."""
    sent = {"redirect_uris": [EDITOR], "client_name": "Editor", **metadata}
    return TestApp(site).post_json(REGISTER, sent, status=status).json


def store_registration(metadata, now):
    """Store an app that has registered itself, and return its row."""
    row = registration.registered(registration.described(metadata, ()), now)
    registration.register(row)
    return row


def store_document_client(url, metadata, now):
    """Store an app with a document, as if a user had allowed it, and return its row."""
    row = registration.registered(registration.described(metadata, ()), now)
    row.id, row.document_url = id_of(url), url
    registration.register(row)
    return row


class DocumentApp(App):
    """An unregistered app: its `client_id` is a URL, whose document it has.

    Attributes:
        document: What `client_documents` serves at the URL.
    """

    URL = "https://editor.example/app.json"

    def __init__(self, site, **document):
        usual = {"client_id": self.URL, "client_name": "Editor", "redirect_uris": [EDITOR]}
        self.document = {name: each for name, each in (usual | document).items() if each != ""}
        self.begin(site, self.URL, "", EDITOR)

    @property
    def documents(self):
        """What `client_documents` takes."""
        return {self.URL: self.document}


class RegisteredApp(App):
    """An app that has registered itself."""

    def __init__(self, site, **metadata):
        self.begin(site, register(site, **metadata)["client_id"], "", EDITOR)


def service_client(site, *scopes):
    """Return a program that logs in as itself, with permissions."""
    return App(site, "Nightly export", uri="", is_service=True, scopes=scopes)


def code_in(location):
    """Return the code that a URL brings to the app."""
    return answer_in(location)["code"]
