"""A request for authorization (RFC 6749 section 4.1, OpenID Connect Core 1.0 section 3.1.2).

The client and the redirect URI are checked first. A mistake there is a page, because the browser
must never be sent to a URI that the client has not registered. Every other mistake is an answer to
the client.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode

from wsgiauth.accounts.names import EMAIL_MAX_LENGTH
from wsgiauth.authentication.lifetimes import HOST_SKEW, MINUTE
from wsgiauth.authentication.scopes import OPENID
from wsgiauth.exceptions import RequestError
from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.oauth_errors import resource_problem
from wsgiauth.features.oauth_server.redirect_uris import is_registered
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.messages import _
from wsgiauth.openapi.answers import Problem
from wsgiauth.settings import Settings
from wsgiauth.signed_values import Purpose, SignedValues
from wsgiauth.web.uris import find_equal

# In bytes of names and values, decoded.
MAX_REQUEST = 8192  # without an `id_token_hint`
MAX_STATE = 4096
MAX_NONCE = 1024  # it is in the code, and in the ID token
MAX_IN_URL = 1024  # of a login, which a proxy accepts, and a cookie of its second step can have
MAX_FIELDS = 30

HINT = "id_token_hint"

# Parameters of our own, for the way through a login: when this site asked for a new proof, because
# the same request would ask again after each proof; and the user of `id_token_hint`, which is too
# long. Signed, so that no client can send them.
ASKED, MEANT = "wsgiauth_asked", "wsgiauth_meant"
ASKED_LIFETIME = 10 * MINUTE

QUERY, FORM_POST = "query", "form_post"
MODES = (QUERY, FORM_POST)
NONE, LOGIN, CONSENT, SELECT_ACCOUNT = "none", "login", "consent", "select_account"
CREATE = "create"  # Initiating User Registration via OpenID Connect 1.0
PROMPTS = (NONE, LOGIN, CONSENT, SELECT_ACCOUNT, CREATE)

# The others are ignored: RFC 6749 section 3.1.
_PARAMETERS = (
    *("response_type", "response_mode", "client_id", "redirect_uri", "scope", "state", "nonce"),
    *("code_challenge", "code_challenge_method", "prompt", "max_age", "login_hint", "resource"),
)

_OF_PKCE = frozenset(("code_challenge", "code_challenge_method"))
_CHALLENGE = re.compile("[A-Za-z0-9_-]{43}")  # a SHA-256 digest: RFC 7636 section 4.2
_AGE = re.compile("[0-9]{1,9}")
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_SECRET_PARAMETERS = ("code", "client_secret")  # which must be in no URL

_OWN = Purpose("requests of other apps")


class Target(NamedTuple):
    """Where an answer to the client goes."""

    uri: str
    state: str = ""
    mode: str = QUERY
    unchecked: str = ""  # the name of a client that has registered itself; "" for another one


UNKNOWN_CLIENT = Problem(
    "UnknownClient",
    400,
    {
        "invalid_client": "The site does not know the app, or cannot use its document.",
        "invalid_redirect_uri": "The app has not registered this redirect URI.",
        "invalid_request": "The request of the app is too long.",
        "invalid_request_uri": "`request_uri` has expired, or this site has not issued it to this"
        " client.",
    },
)


class AuthorizationError(Exception):
    """An answer to the client that refuses its request (RFC 6749 section 4.1.2.1).

    Attributes:
        error: One of the standard's codes.
        description: For developers, in English.
    """

    def __init__(self, target: Target, error: str, description: str) -> None:
        super().__init__(error)
        self.target, self.error, self.description = target, error, description


@dataclass(frozen=True, kw_only=True)
class AuthorizationRequest:
    """A request whose client, redirect URI and form are valid.

    Attributes:
        challenge: Of PKCE; "" only for a client that can send requests without PKCE.
        scopes: As the client asked for them.
        max_age: The seconds since the last proof that the client accepts; None: any number.
        resource: The service for which it wants a token (RFC 8707), or "".
        id_token_hint: An ID token of the user that the client means, not verified, or "".
        meant: The id of that user, if this site has verified the token; 0: it has not.
        asked_at: When this site asked for a new proof for this request; 0: it did not.
        query: The parameters that count, without those of our own.
        request_uri: The name of its row (see `stored_requests`), or "".
    """

    client: Client
    target: Target
    scopes: tuple[str, ...]
    nonce: str
    challenge: str
    prompts: frozenset[str]
    max_age: int | None
    resource: str
    id_token_hint: str
    meant: int
    asked_at: int
    query: str
    request_uri: str = ""

    @property
    def is_long(self) -> bool:
        """Return whether our URLs have the name of its row instead of its parameters."""
        return bool(self.request_uri) or size_of(pairs_in(self.query)) > MAX_IN_URL

    @property
    def needs_proof(self) -> bool:
        """Whether the client accepts no proof, or none that is older than `max_age`."""
        return LOGIN in self.prompts or self.max_age is not None

    def refused(self, error: str, description: str) -> AuthorizationError:
        """Return the refusal of this request."""
        return AuthorizationError(self.target, error, description)

    def has_answer(self, authenticated_at: int) -> bool:
        """Return whether a proof of this time is the answer to the question of this site."""
        return bool(self.asked_at) and authenticated_at >= self.asked_at - HOST_SKEW

    def accepts(self, authenticated_at: int, now: float) -> bool:
        """Return whether the client accepts a proof of this time."""
        if self.has_answer(authenticated_at):
            return True
        if LOGIN in self.prompts or self.max_age == 0:  # both mean the same: section 3.1.2.1
            return False
        return self.max_age is None or int(now) - authenticated_at <= self.max_age


class OwnParameters:
    """Signs the numbers that this site adds to a request, each for its name and this request."""

    def __init__(self, settings: Settings) -> None:
        self._values = SignedValues(settings, _OWN)

    def added_to(self, query: str, numbers: Mapping[str, int], *, named: str = "") -> str:
        """Return a request with the numbers by their names, but those that are 0.

        Args:
            named: The query that names the row of the request, to be returned instead.
        """
        own = {
            name: self._values.sign(str(each).encode(), name, query)
            for name, each in numbers.items()
            if each
        }
        sent = named or query
        return f"{sent}&{urlencode(own)}" if own else sent

    def read(self, value: str, query: str, name: str) -> int:
        """Return the number in a value for this request; 0 for any other value."""
        number = self._values.read(value, name, query)
        return 0 if number is None else int(number)


FindClient = Callable[[str], Client | None]  # by its `client_id`


def read_request(
    query: str,
    own: OwnParameters,
    *,
    now: float,
    services: frozenset[str],
    find: FindClient,
) -> AuthorizationRequest:
    """Return the request in a query.

    Args:
        find: Returns the client; for one with a document, also what its document says now.
        services: The values of `resource` that the site issues tokens for.

    Raises:
        RequestError: 400 `invalid_client` or `invalid_redirect_uri`: the client or its URI is
            wrong, so that there is nowhere to send the browser.
        AuthorizationError: Another parameter is wrong.
    """
    pairs = pairs_in(query)
    client, uri = _client_of(pairs, find)
    fields, counts = dict(pairs), Counter(name for name, _value in pairs)
    mode = fields.get("response_mode", QUERY)
    state = fields.get("state", "") if counts["state"] == 1 else ""
    unchecked = "" if client.expires_at is None else client.name
    target = Target(uri, state, mode if mode in MODES else QUERY, unchecked)
    if any(count > 1 and name != "resource" for name, count in counts.items()):
        raise AuthorizationError(target, "invalid_request", "a parameter is given twice")
    counted = [pair for pair in pairs if pair[0] in _PARAMETERS]
    if any(_CONTROL.search(value) for _name, value in counted):  # a `next` cannot have it
        raise AuthorizationError(target, "invalid_request", "a parameter has a control character")
    bare = urlencode(counted)
    problem = _problem_of(fields, counts, services) or _problem_of_binding(fields, client)
    if problem is not None:
        raise AuthorizationError(target, *problem)
    max_age = fields.get("max_age", "")
    asked_at, meant = (own.read(fields.get(name, ""), bare, name) for name in (ASKED, MEANT))
    return AuthorizationRequest(
        client=client,
        target=target,
        scopes=tuple(fields.get("scope", "").split()),
        nonce=fields.get("nonce", ""),
        challenge=fields.get("code_challenge", ""),
        prompts=frozenset(fields.get("prompt", "").split()),
        max_age=int(max_age) if max_age else None,
        resource=find_equal(fields.get("resource", ""), services),
        id_token_hint=fields.get("id_token_hint", ""),
        meant=meant,
        asked_at=asked_at if int(now) - asked_at <= ASKED_LIFETIME else 0,
        query=bare,
    )


def is_too_long(query: str) -> bool:
    """Return whether a request is longer than this site accepts, whatever it asks for."""
    pairs = pairs_in(query, keep_blank=True)
    states = [value for name, value in pairs if name == "state"]
    return size_of(pairs) > MAX_REQUEST or any(len(each.encode()) > MAX_STATE for each in states)


def size_of(pairs: Sequence[tuple[str, str]]) -> int:
    """Return the bytes of names and values, without an ID token, which has a bound of its own."""
    return sum(len(f"{name}{value}".encode()) for name, value in pairs if name != HINT)


def registered_uri(query: str, now: float) -> str:
    """Return the redirect URI of a request, which can have other mistakes; "" if it is wrong."""
    try:
        return _client_of(pairs_in(query), partial(clients.find, now=now))[1]
    except RequestError:
        return ""


def login_hint(query: str, now: float) -> str:
    """Return the name with which the client thinks that the user logs in, or "".

    It is on the login page, so only an app that an operator registered can choose it, and it has no
    space: no link can put a sentence there.
    """
    pairs = pairs_in(query)
    try:
        client, _uri = _client_of(pairs, partial(clients.find, now=now))
    except RequestError:
        return ""
    hint = dict(pairs).get("login_hint", "")
    is_name = len(hint.split()) == 1 and len(hint) <= EMAIL_MAX_LENGTH
    return hint if is_name and client.expires_at is None else ""


def with_parameters(uri: str, parameters: Mapping[str, str]) -> str:
    """Return a URI with parameters after those that it has (RFC 6749 section 3.1.2)."""
    return f"{uri}{'&' if '?' in uri else '?'}{urlencode(parameters)}"


def unknown_client() -> RequestError:
    """Return the error for a request of a client that this site does not know."""
    detail = _("The app that sent you here is not known to this site.")
    return RequestError(HTTPStatus.BAD_REQUEST, "invalid_client", detail)


def client_id_in(query: str) -> str:
    """Return the `client_id` of a request, or "" if it has none or several."""
    return _client_id(pairs_in(query))


def _client_id(pairs: Sequence[tuple[str, str]]) -> str:
    ids = [value for name, value in pairs if name == "client_id"]
    return ids[0] if len(ids) == 1 else ""


def _client_of(pairs: Sequence[tuple[str, str]], find: FindClient) -> tuple[Client, str]:
    """Return the client of a request, and a redirect URI that it has registered."""
    client_id = _client_id(pairs)
    client = find(client_id) if client_id else None
    if client is None or client.is_service:
        raise unknown_client()
    uris = [value for name, value in pairs if name == "redirect_uri"]
    if len(uris) != 1 or not is_registered(
        uris[0], client.redirect_uris, is_public=client.is_public
    ):
        detail = _(
            "The app %(name)s asked to send you to an address that it has not registered here.",
            name=clients.shown_name(client),
        )
        raise RequestError(HTTPStatus.BAD_REQUEST, "invalid_redirect_uri", detail)
    return client, uris[0]


def pairs_in(query: str, *, keep_blank: bool = False) -> list[tuple[str, str]]:
    """Return the parameters of a query; none if it is malformed, so that no client is found.

    Args:
        keep_blank: Whether to return empty ones, which count as absent (RFC 6749 section 3.1).
    """
    try:
        return parse_qsl(
            query, keep_blank_values=keep_blank, errors="strict", max_num_fields=MAX_FIELDS
        )
    except ValueError:
        return []


def _problem_of(
    fields: Mapping[str, str], counts: Mapping[str, int], services: frozenset[str]
) -> tuple[str, str] | None:
    """Return the error and its description if a parameter cannot be accepted."""
    prompts = fields.get("prompt", "").split()
    if "request" in fields:
        return "request_not_supported", "send the parameters in the query"
    if "request_uri" in fields:
        return "request_uri_not_supported", "send the parameters in the query"
    if fields.get("response_type", "") != "code":
        return "unsupported_response_type", "response_type must be code"
    if fields.get("response_mode", QUERY) not in MODES:
        return "invalid_request", "response_mode must be query or form_post"
    if not set(prompts) <= set(PROMPTS) or (NONE in prompts and len(prompts) > 1):
        description = "prompt must be none, or some of login, consent, select_account and create"
        return "invalid_request", description
    if not _AGE.fullmatch(fields.get("max_age", "0")):
        return "invalid_request", "max_age must be a number of seconds"
    if len(fields.get("nonce", "").encode()) > MAX_NONCE:
        return "invalid_request", f"nonce must not be longer than {MAX_NONCE} bytes"
    if any(each in fields for each in _SECRET_PARAMETERS):
        return "invalid_request", "a secret must not be in a URL"
    if counts.get("resource", 0) > 1 or (
        "resource" in fields and not find_equal(fields["resource"], services)
    ):
        return "invalid_target", resource_problem(services)
    return None


def _problem_of_binding(fields: Mapping[str, str], client: Client) -> tuple[str, str] | None:
    """Return the same if nothing would bind a code to the request: PKCE, or else the nonce.

    The nonce protects only a client that finds it in an ID token (RFC 9700 section 2.1.1).
    """
    if client.is_without_pkce and not _OF_PKCE & fields.keys():
        has_both = fields.get("nonce", "").strip() and fields.get("state", "").strip()
        if has_both and OPENID in fields.get("scope", "").split():
            return None
        return "invalid_request", "without PKCE, send nonce, state, and openid among the scopes"
    if not _OF_PKCE & fields.keys():
        description = "PKCE is missing: send code_challenge, and S256 as code_challenge_method"
        return "invalid_request", description
    if fields.get("code_challenge_method", "") != "S256":
        return "invalid_request", "code_challenge_method must be S256 (PKCE)"
    if not _CHALLENGE.fullmatch(fields.get("code_challenge", "")):
        return "invalid_request", "code_challenge must be a SHA-256 digest in base64url (PKCE)"
    return None
