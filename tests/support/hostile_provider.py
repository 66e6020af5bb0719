"""An OpenID provider of our own, which is honest until a test says otherwise.

    with Provider() as provider:
        settings = replace(settings, OIDC_PROVIDERS=(provider.entry("google"),))
        ...
        query = provider.authorize(answer.location, subject="ada")  # the browser's part
        client.get(f"/auth/oidc/google/callback?{query}")

It serves on 127.0.0.1 at a port of the system's choice. Its paths are `/authorize`, `/token`,
`/keys`, `/userinfo`, `/logout` and `/.well-known/openid-configuration`, below the path of the
issuer. A test changes members of what it says (a value, or DROP):

    provider.claims["email_verified"] = "true"  # of ID tokens; `userinfo` is changed apart
    provider.header["kid"] = DROP
    provider.discovery["issuer"] = "https://elsewhere.example"
    provider.tokens["token_type"] = "mac"  # what /token answers
    provider.redirect["iss"] = DROP  # parameters with which the browser is sent back
    provider.key = signing_key("ES256", "2")  # signs; what is published is `provider.keys`
    provider.keys.append(provider.key.jwk)
    provider.ahead = 180  # seconds by which its clock is wrong

or whole answers (`tests/support/provider_answers.py`):

    provider.answers["/token"] = Drip(0.1)

What it was asked is in `provider.requests["/token"]`.
"""

import base64
import ssl
import time
from collections import defaultdict
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPSConnection
from secrets import token_urlsafe
from typing import NamedTuple
from urllib.parse import quote, unquote_plus, urlencode, urlsplit

from tests.support.provider_answers import HONEST, Answer, Json, Redirect
from tests.support.provider_keys import challenge, changed, half_hash, signed, signing_key
from tests.support.provider_server import Server

CLIENT_ID = "wsgiauth"
CLIENT_SECRET = "a secret: 100%+/=@&"  # which needs both encodings
DISCOVERY = "/.well-known/openid-configuration"
LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout"
MEMBERS_OF_PEOPLE = ("email", "email_verified", "name", "preferred_username")


class Grant(NamedTuple):
    """What a code stands for."""

    asked: dict[str, str]
    subject: str
    sid: str
    authenticated_at: int


class Provider:
    """A provider that serves during its `with` block.

    Args:
        path: The end of the issuer: "", "/" or "/realms/main".
        certificate: A file of `make_certificate(folder, "localhost")`: serve https, at localhost.

    Attributes:
        people: What is known of people, by subject; others have an address at example.org that is
            verified, and their subject as a name.
        sids: The session of each person who has logged in, by subject.
    """

    def __init__(self, path="", certificate=None):
        self._server = Server(self._answer, certificate)
        self._certificate = certificate
        self._path = path
        self._codes, self._access_tokens = {}, {}
        self.key = signing_key()
        self.keys = [self.key.jwk]
        self.header, self.claims, self.discovery, self.userinfo = {}, {}, {}, {}
        self.tokens, self.redirect, self.answers = {}, {}, {}
        self.people, self.sids = {}, {}
        self.client_id, self.client_secret = CLIENT_ID, CLIENT_SECRET
        self.ahead = 0
        self.requests = defaultdict(list)

    def __enter__(self):
        self._server.open()
        return self

    def __exit__(self, *_):
        self._server.close()

    @contextmanager
    def down(self):
        """Refuse connections during the block."""
        self._server.close()
        try:
            yield
        finally:
            self._server.open()

    @property
    def most_at_once(self):
        """The most requests that it has served at the same time."""
        return self._server.most_at_once

    @property
    def origin(self):
        """The scheme, host and port."""
        if self._certificate is None:
            return f"http://127.0.0.1:{self._server.port}"
        return f"https://localhost:{self._server.port}"

    @property
    def issuer(self):
        """The name by which it is configured, and which its tokens have."""
        return self.origin + self._path

    def url(self, path):
        """Return the URL of one of its paths."""
        return self.origin + self._path.rstrip("/") + path

    def now(self):
        """Return what its clock shows."""
        return int(time.time() + self.ahead)

    def entry(self, name="google", **parameters):
        """Return the entry of OIDC_PROVIDERS, with parameters such as `link="verified"`."""
        parts = urlsplit(self.issuer)
        client = f"{quote(self.client_id, safe='')}:{quote(self.client_secret, safe='')}"
        query = f"?{urlencode(parameters)}" if parameters else ""
        return f"{name}:{parts.scheme}://{client}@{parts.netloc}{parts.path}{query}"

    def authorize(self, location, subject="ada"):
        """Open a URL of the authorization endpoint as a person, and return the callback's query."""
        status, headers, body = self.fetch(location, {"Cookie": f"person={quote(subject)}"})
        assert status == 303, (status, body)
        return urlsplit(headers["Location"]).query

    def fetch(self, url, headers=None):
        """Return the status, the headers and the body of a GET, as a browser would get them."""
        parts = urlsplit(url)
        assert url.startswith(f"{self.origin}/"), f"another origin: {url}"
        if self._certificate is None:
            connection = HTTPConnection(parts.netloc, timeout=60)
        else:
            context = ssl.create_default_context(cafile=self._certificate)
            connection = HTTPSConnection(parts.netloc, timeout=60, context=context)
        connection.request("GET", f"{parts.path}?{parts.query}", headers=headers or {})
        response = connection.getresponse()
        body = response.read()
        connection.close()
        return response.status, response.headers, body

    def id_token(self, subject="ada", **claims):
        """Return an ID token outside any login, with these claims changed besides `self.claims`."""
        grant = Grant({}, subject, self.sids.get(subject, "session-1"), self.now())
        return self._signed(changed(self._claims(grant), claims))

    def logout_token(self, subject="ada", **claims):
        """Return a logout token for the last session of a person, with these claims changed."""
        usual = {
            "iss": self.issuer,
            "aud": self.client_id,
            "sub": subject,
            "sid": self.sids.get(subject, "session-1"),
            "iat": self.now(),
            "exp": self.now() + 120,
            "jti": token_urlsafe(),
            "events": {LOGOUT_EVENT: {}},
        }
        header = {"typ": "logout+jwt", **self.header}
        return signed(changed(usual, claims), self.key, header)

    def _answer(self, request):
        request = request._replace(path=request.path.removeprefix(self._path.rstrip("/")))
        self.requests[request.path].append(request)
        honest = self._honest(request)
        answer = self.answers.get(request.path, HONEST)
        if isinstance(answer, list):
            answer = answer.pop(0) if answer else HONEST
        return answer(honest)

    def _honest(self, request):
        answers = {
            ("GET", DISCOVERY): self._discover,
            ("GET", "/keys"): lambda _: Json({"keys": self.keys}),
            ("GET", "/authorize"): self._authorize,
            ("POST", "/token"): self._exchange,
            ("GET", "/userinfo"): self._describe,
            ("GET", "/logout"): self._end_session,
        }
        answer = answers.get((request.method, request.path))
        return Answer(404) if answer is None else answer(request)

    def _discover(self, _):
        return Json(changed(self._metadata(), self.discovery))

    def _metadata(self):
        algorithms = {each["alg"] for each in self.keys if "alg" in each}
        return {
            "issuer": self.issuer,
            "authorization_endpoint": self.url("/authorize"),
            "token_endpoint": self.url("/token"),
            "userinfo_endpoint": self.url("/userinfo"),
            "jwks_uri": self.url("/keys"),
            "end_session_endpoint": self.url("/logout"),
            "scopes_supported": ["openid", "email", "profile"],
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": sorted(algorithms),
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            "backchannel_logout_supported": True,
            "backchannel_logout_session_supported": True,
        }

    def _authorize(self, request):
        asked = request.query
        if asked.get("client_id") != self.client_id or "redirect_uri" not in asked:
            return Json({"error": "invalid_request"}, 400)
        is_right = (
            asked.get("response_type") == "code"
            and "openid" in asked.get("scope", "").split()
            and asked.get("code_challenge_method") == "S256"
            and asked.get("code_challenge")
        )
        said = {"code": self._code(request)} if is_right else {"error": "invalid_request"}
        usual = {**said, "state": asked.get("state", ""), "iss": self.issuer}
        query = urlencode(changed(usual, self.redirect))
        return Redirect(f"{asked['redirect_uri']}?{query}", 303)

    def _code(self, request):
        person = request.headers.get("cookie", "person=ada").removeprefix("person=")
        subject, code, sid = unquote_plus(person), token_urlsafe(), token_urlsafe()
        self.sids[subject] = sid
        self._codes[code] = Grant(request.query, subject, sid, self.now())
        return code

    def _exchange(self, request):
        if self._credentials(request) != (self.client_id, self.client_secret):
            return Json({"error": "invalid_client"}, 401)
        grant = self._codes.pop(request.form.get("code"), None)
        if grant is None or not _fits(grant.asked, request.form):
            return Json({"error": "invalid_grant"}, 400)
        access_token = token_urlsafe()
        self._access_tokens[access_token] = grant
        usual = {
            "access_token": access_token,
            "token_type": "Bearer",
            "expires_in": 600,
            "id_token": self._signed(self._claims(grant, access_token)),
        }
        return Json(changed(usual, self.tokens))

    def _credentials(self, request):
        """Return the client's id and secret, sent as the discovery document allows."""
        methods = changed(self._metadata(), self.discovery).get(
            "token_endpoint_auth_methods_supported", ["client_secret_basic"]
        )
        kind, _, value = request.headers.get("authorization", "").partition(" ")
        is_in_form = "client_secret" in request.form
        if kind == "Basic" and "client_secret_basic" in methods and not is_in_form:
            name, _, secret = base64.b64decode(value).decode().partition(":")
            return unquote_plus(name), unquote_plus(secret)  # RFC 6749, section 2.3.1
        if is_in_form and "client_secret_post" in methods and not kind:
            return request.form.get("client_id"), request.form["client_secret"]
        return None

    def _claims(self, grant, access_token=None):
        usual = {
            "iss": self.issuer,
            "sub": grant.subject,
            "aud": self.client_id,
            "iat": self.now(),
            "exp": self.now() + 600,
            "sid": grant.sid,
            **self._person(grant.subject),
        }
        if "nonce" in grant.asked:
            usual["nonce"] = grant.asked["nonce"]
        if "max_age" in grant.asked:  # people always log in anew
            usual["auth_time"] = grant.authenticated_at
        if access_token is not None:
            usual["at_hash"] = half_hash(access_token, self.key.algorithm)
        return changed(usual, self.claims)

    def _person(self, subject):
        usual = (f"{subject}@example.org", True, subject.title(), subject)
        return {**dict(zip(MEMBERS_OF_PEOPLE, usual, strict=True)), **self.people.get(subject, {})}

    def _signed(self, claims):
        return signed(claims, self.key, self.header)

    def _describe(self, request):
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        grant = self._access_tokens.get(token) if kind == "Bearer" else None
        if grant is None:
            return Json({"error": "invalid_token"}, 401)
        usual = {"sub": grant.subject, **self._person(grant.subject)}
        return Json(changed(usual, self.userinfo))

    def _end_session(self, request):
        destination = request.query.get("post_logout_redirect_uri")
        return Answer(body=b"{}") if destination is None else Redirect(destination, 303)


def _fits(asked, form):
    """Return whether a form redeems a code for what was asked."""
    return (
        form.get("grant_type") == "authorization_code"
        and form.get("redirect_uri") == asked["redirect_uri"]
        and challenge(form.get("code_verifier", "")) == asked["code_challenge"]
    )
