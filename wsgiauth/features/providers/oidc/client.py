"""The requests of a login at one provider, in their order, and the checks of the responses."""

import json
import logging
import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from threading import BoundedSemaphore
from urllib.parse import quote_plus, urlencode

from wsgiauth.exceptions import ProviderError
from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.oidc.discovery import (
    DiscoveryError,
    Metadata,
    document_url,
    moved_url,
    read_metadata,
)
from wsgiauth.features.providers.oidc.documents import Document, optional, parse_document
from wsgiauth.features.providers.oidc.errands import CONFIRM, BegunErrand
from wsgiauth.features.providers.oidc.failures import Failures
from wsgiauth.features.providers.oidc.kept import Kept
from wsgiauth.features.providers.oidc.key_sets import KeySet, read_key_set
from wsgiauth.features.providers.oidc.profiles import has_left_out_groups, make_account, merge
from wsgiauth.features.providers.oidc.signed_tokens import (
    AUTH_TIME,
    CLOCK,
    Expected,
    LogoutToken,
    TokenError,
    read_userinfo,
    require_form,
    verify_id_token,
    verify_logout_token,
)
from wsgiauth.features.providers.oidc.transport import (
    MAX_AT_ONCE,
    REST,
    Request,
    Response,
    Transport,
)
from wsgiauth.settings.oidc import ProviderEntry

logger = logging.getLogger("wsgiauth")

# RFC 6749 section 4.1.2.1, and OpenID Connect Core 1.0, section 3.1.2.6.
_ERRORS = {
    *("invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope"),
    *("server_error", "temporarily_unavailable", "interaction_required", "login_required"),
    *("account_selection_required", "consent_required"),
    "authentication_expired",  # of Keycloak
}
_MAX_SAID = 300  # characters of an error and its description, in the log
_VISIBLE = re.compile(r"[!-~]+")  # a code, or an access token


class Client:
    """This site as a client of one provider."""

    def __init__(self, entry: ProviderEntry, clock: Callable[[], float], timeout: float) -> None:
        self._entry = entry
        self._now = clock
        self._failures = Failures(entry.title)
        self._transport = Transport(self._failures, clock, timeout)
        self._metadata = Kept("discovery", self._discover, self._failures, clock)
        self._keys = Kept(
            "keys", lambda: self._fetch_keys(self._metadata.get()), self._failures, clock
        )
        self._expected = Expected(self._metadata, self._keys, entry.issuer, entry.client_id)
        self._entrances = BoundedSemaphore(MAX_AT_ONCE)

    @contextmanager
    def admit(self) -> Iterator[None]:
        """Admit a browser that comes back; see `Provider.admit`."""
        if not self._entrances.acquire(blocking=False):
            raise self._failures.busy()
        try:
            yield
        finally:
            self._entrances.release()

    def login_url(self, begun: BegunErrand, redirect_uri: str) -> str:
        """Return the URL at the provider to which a browser goes."""
        entry = self._entry
        asked = {
            "response_type": "code",
            "client_id": entry.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(entry.scope),
            "state": begun.state,
            "nonce": begun.nonce,
            "code_challenge": begun.challenge,
            "code_challenge_method": "S256",
        }
        if begun.errand.purpose == CONFIRM:
            asked |= {"max_age": "0", "prompt": entry.prompt or "login"}
        elif entry.prompt:
            asked["prompt"] = entry.prompt
        return _with_query(self._metadata.get().authorization_endpoint, asked)

    def account(
        self,
        query: Mapping[str, str],
        begun: BegunErrand,
        redirect_uri: str,
        is_known: Callable[[str], bool],
    ) -> ProviderAccount:
        """Return the account with which a browser comes back; see `Provider.finish`."""
        asked_at = int(self._now())
        metadata = self._metadata.get()
        self._check_response(query, metadata)
        code = query.get("code", "")
        id_token, access_token = self._exchange(code, begun, redirect_uri, metadata)
        try:
            claims = verify_id_token(id_token, access_token, begun, self._expected, self._now())
        except TokenError as error:
            raise self._refused_token(str(error)) from None
        is_partial = False
        if optional(claims, "email") is None and metadata.userinfo_endpoint:
            try:
                userinfo = self._userinfo(access_token, metadata)
            except ProviderError as error:
                if self._needs_groups(claims) or not is_known(str(claims["sub"])):
                    raise
                logger.warning(
                    "the provider %s did not say who the user is (%s); the account is known, so the"
                    " login goes on without it",
                    self._entry.name,
                    error.reason,
                )
                is_partial = True
            else:
                if userinfo.get("sub") != claims["sub"]:  # OpenID Connect Core 1.0, section 5.3.2
                    raise self._failures.wrong("userinfo: sub")
                claims = merge(claims, userinfo)
        if has_left_out_groups(self._entry, claims):
            logger.warning(
                "the provider %s omitted the groups of a user (_claim_names); the user keeps the"
                " groups of earlier logins",
                self._entry.name,
            )
        return make_account(self._entry, claims, asked_at)._replace(is_partial=is_partial)

    def _needs_groups(self, claims: Document) -> bool:
        """Return whether groups can only be at the userinfo endpoint."""
        name = self._entry.groups
        is_missing = bool(name) and optional(claims, name) is None
        return is_missing and not has_left_out_groups(self._entry, claims)

    def logout_url(self, post_logout_redirect_uri: str) -> str | None:
        """Return the URL at the provider that ends the session there, if there is one."""
        try:
            endpoint = self._metadata.get().end_session_endpoint
        except ProviderError:
            return None
        asked = {
            "client_id": self._entry.client_id,
            "post_logout_redirect_uri": post_logout_redirect_uri,
        }
        return _with_query(endpoint, asked) if endpoint else None

    def verify_logout_token(self, token: str) -> LogoutToken:
        """Return the content of a logout token."""
        try:
            require_form(token)  # before the provider is asked
            return verify_logout_token(token, self._expected, self._now())
        except TokenError as error:
            raise self._failures.logout_token(str(error)) from None

    def check(self) -> None:
        """Fetch the discovery document and the keys now."""
        metadata = self._discover()
        keys = self._fetch_keys(metadata)
        if not any(keys.find(each, None) for each in metadata.algorithms):
            raise self._failures.wrong("keys")

    def _discover(self) -> Metadata:
        issuer = self._entry.issuer
        request = Request("discovery", document_url(issuer), can_have_moved=True)
        response = self._transport.send(request)
        if response.location is not None:
            url = moved_url(request.url, response.location)
            if url is None:
                raise self._failures.wrong(f"{request.what}: redirect")
            response = self._transport.send(Request("discovery", url))
        try:
            return read_metadata(self._read("discovery", response), issuer)
        except DiscoveryError as error:
            raise self._failures.wrong(f"discovery: {error}") from None

    def _fetch_keys(self, metadata: Metadata) -> KeySet:
        response = self._transport.send(Request("keys", metadata.jwks_uri))
        keys = read_key_set(self._read("keys", response))
        if keys is None:
            raise self._failures.wrong("keys")
        return keys

    def _check_response(self, query: Mapping[str, str], metadata: Metadata) -> None:
        # RFC 9207 section 2.4: otherwise another provider could take the place of this one.
        is_missing = metadata.announces_issuer and "iss" not in query
        if is_missing or query.get("iss", self._entry.issuer) != self._entry.issuer:
            raise self._failures.callback("iss")
        error = query.get("error")
        if error is not None:
            self._log_error(error, query.get("error_description", ""))
            if error == "access_denied":
                raise self._failures.declined("access_denied")
            raise self._failures.callback(error if error in _ERRORS else "error")
        if not _VISIBLE.fullmatch(query.get("code", "")):
            raise self._failures.callback("code")

    def _exchange(
        self, code: str, begun: BegunErrand, redirect_uri: str, metadata: Metadata
    ) -> tuple[str, str]:
        """Return the ID token and the access token for a code (RFC 6749 section 4.1.3)."""
        entry = self._entry
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": redirect_uri,
            "code_verifier": begun.verifier,
        }
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        if metadata.sends_secret_in_form:
            form |= {"client_id": entry.client_id, "client_secret": entry.client_secret}
        else:
            headers["Authorization"] = _basic(entry)
        request = Request("token", metadata.token_endpoint, headers, urlencode(form))
        response = self._transport.send(request)
        document = parse_document(response.body)
        self._check_grant(response, document)
        tokens = None if document is None else _tokens(document)
        if tokens is None:
            raise self._failures.wrong("token")
        return tokens

    def _check_grant(self, response: Response, document: Document | None) -> None:
        error = None if document is None else document.get("error")
        if response.status == 401 or error == "invalid_client":
            raise self._failures.wrong("token: client refused")
        if response.status == 400 and error == "invalid_grant":
            raise self._failures.callback("token: code refused")
        self._check_status("token", response)

    def _userinfo(self, access_token: str, metadata: Metadata) -> Document:
        headers = {"Authorization": f"Bearer {access_token}"}
        request = Request("userinfo", metadata.userinfo_endpoint, headers, is_optional=True)
        response = self._transport.send(request)
        self._check_status(request.what, response)
        try:
            claims = read_userinfo(response.body, self._expected, self._now())
        except TokenError as error:
            raise self._failures.wrong(f"userinfo: {error}") from None
        if claims is None:
            raise self._failures.wrong(f"{request.what}: JSON")
        return claims

    def _log_error(self, error: str, description: str) -> None:
        """Log the error that a browser has brought, in one short line."""
        said = f"{error}: {description}" if description else error
        shown = "".join(each if each.isprintable() else " " for each in said[:_MAX_SAID])
        logger.warning(
            "the provider %s answered with the error %s", self._entry.name, json.dumps(shown)
        )

    def _read(self, what: str, response: Response) -> Document:
        self._check_status(what, response)
        document = parse_document(response.body)
        if document is None:
            raise self._failures.wrong(f"{what}: JSON")
        return document

    def _check_status(self, what: str, response: Response) -> None:
        if response.status >= 500 or response.status == 429:
            raise self._failures.unavailable(f"{what}: status", REST)
        if response.status != 200:
            raise self._failures.wrong(f"{what}: status")

    def _refused_token(self, reason: str) -> ProviderError:
        if reason == CLOCK:
            return self._failures.clock()
        if reason == AUTH_TIME:
            return self._failures.not_confirmed()
        return self._failures.wrong(reason)


def _tokens(document: Document) -> tuple[str, str] | None:
    """Return the ID token and the access token of a response (RFC 6749 section 5.1)."""
    names = ("id_token", "access_token", "token_type")
    found = [each for name in names if isinstance(each := document.get(name), str)]
    if len(found) < len(names):
        return None
    id_token, access_token, token_type = found
    is_usable = _VISIBLE.fullmatch(access_token) and token_type.lower() == "bearer"
    return (id_token, access_token) if is_usable else None


def _with_query(url: str, parameters: Mapping[str, str]) -> str:
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"


def _basic(entry: ProviderEntry) -> str:
    """Return the credentials of the client, form-encoded first (RFC 6749 section 2.3.1)."""
    credentials = f"{quote_plus(entry.client_id)}:{quote_plus(entry.client_secret)}"
    return f"Basic {b64encode(credentials.encode()).decode()}"
