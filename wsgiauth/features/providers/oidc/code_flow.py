"""The authorization code flow of OAuth 2.0 (RFC 6749 section 4.1), in which all providers agree."""

import json
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from threading import BoundedSemaphore
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.oidc.documents import Document, parse_document
from wsgiauth.features.providers.oidc.errands import BegunErrand
from wsgiauth.features.providers.oidc.failures import Failures, ProviderError
from wsgiauth.features.providers.oidc.remedies import remedy_of
from wsgiauth.features.providers.oidc.transport import (
    MAX_AT_ONCE,
    REST,
    Request,
    Response,
    Transport,
)
from wsgiauth.settings.oidc import ProviderEntry, Proxy

if TYPE_CHECKING:
    from wsgiauth.features.providers.oidc.signed_tokens import LogoutToken

logger = logging.getLogger("wsgiauth")

# RFC 6749 section 4.1.2.1, and OpenID Connect Core 1.0, section 3.1.2.6.
_ERRORS = {
    *("invalid_request", "unauthorized_client", "unsupported_response_type", "invalid_scope"),
    *("server_error", "temporarily_unavailable", "interaction_required", "login_required"),
    *("account_selection_required", "consent_required"),
    "authentication_expired",  # of Keycloak
    *("application_suspended", "redirect_uri_mismatch"),  # of GitHub
}
# RFC 6749 section 5.2; the second of each is GitHub's, which answers with the status 200.
_CLIENT_REFUSED = ("invalid_client", "incorrect_client_credentials")
_CODE_REFUSED = ("invalid_grant", "bad_verification_code")
_TOKEN_ERRORS = (
    *("invalid_request", "unauthorized_client", "unsupported_grant_type", "invalid_scope"),
    *("application_suspended", "redirect_uri_mismatch", "unverified_user_email"),  # of GitHub
)
_MAX_SAID = 300  # characters of an error and its description, in the log
_VISIBLE = re.compile(r"[!-~]+")  # a code, or an access token


class CodeFlow(ABC):
    """This site as a client of one provider."""

    def __init__(
        self,
        entry: ProviderEntry,
        clock: Callable[[], float],
        timeout: float,
        proxy: Proxy | None = None,
    ) -> None:
        self._entry = entry
        self._now = clock
        self._failures = Failures(entry.title)
        self._transport = Transport(self._failures, clock, timeout, proxy)
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

    @abstractmethod
    def login_url(self, begun: BegunErrand, redirect_uri: str) -> str:
        """Return the URL at the provider to which a browser goes."""

    @abstractmethod
    def account(
        self,
        query: Mapping[str, str],
        begun: BegunErrand,
        redirect_uri: str,
        is_known: Callable[[str], bool],
    ) -> ProviderAccount:
        """Return the account with which a browser comes back; see `Provider.finish`."""

    @abstractmethod
    def check(self) -> None:
        """Ask the provider now; raise ProviderError if it cannot be used."""

    def logout_url(self, post_logout_redirect_uri: str) -> str | None:
        """Return the URL at the provider that ends the session there, if there is one."""
        return None

    def verify_logout_token(self, token: str) -> "LogoutToken":
        """Return the content of a logout token; a provider without keys can sign none."""
        raise self._failures.logout_token("signature")

    def _asked(self, begun: BegunErrand, redirect_uri: str) -> dict[str, str]:
        """Return the parameters of the request for a code, with PKCE (RFC 7636 section 4.3)."""
        entry = self._entry
        asked = {
            "response_type": "code",
            "client_id": entry.client_id,
            "redirect_uri": redirect_uri,
            "scope": " ".join(entry.scope),
            "state": begun.state,
            "code_challenge": begun.challenge,
            "code_challenge_method": "S256",
        }
        return asked | ({"prompt": entry.prompt} if entry.prompt else {})

    def _code_of(self, query: Mapping[str, str], issuer: str, *, names_issuer: bool) -> str:
        """Return the code with which a browser comes back.

        Args:
            issuer: The `iss` of the responses of this provider.
            names_issuer: Whether the provider announces that they have it.
        """
        # RFC 9207 section 2.4: otherwise another provider could take the place of this one.
        if (names_issuer and "iss" not in query) or query.get("iss", issuer) != issuer:
            raise self._failures.callback("iss")
        error = query.get("error")
        if error is not None:
            self._log_error(error, query.get("error_description", ""))
            if error == "access_denied":
                raise self._failures.declined("access_denied")
            raise self._failures.callback(error if error in _ERRORS else "error")
        code = query.get("code", "")
        if not _VISIBLE.fullmatch(code):
            raise self._failures.callback("code")
        return code

    def _exchange(
        self, endpoint: str, form: Mapping[str, str], headers: Mapping[str, str]
    ) -> tuple[str, Document]:
        """Return the access token for a code, and the whole answer (RFC 6749 section 4.1.3).

        Args:
            form, headers: What authenticates the client, and the code with what belongs to it.
        """
        headers = {"Content-Type": "application/x-www-form-urlencoded", **headers}
        body = urlencode({"grant_type": "authorization_code", **form})
        response = self._transport.send(Request("token", endpoint, headers, body))
        document = parse_document(response.body) or {}
        access_token = _access_token(document)
        if response.status != HTTPStatus.OK or access_token is None:
            self._log_refusal(document, form)
            raise self._refused_grant(response, document)
        return access_token, document

    def _refused_grant(self, response: Response, document: Document) -> ProviderError:
        error = document.get("error")
        if response.status == HTTPStatus.UNAUTHORIZED or error in _CLIENT_REFUSED:
            return self._failures.wrong("token: client refused")
        if response.status in (HTTPStatus.OK, HTTPStatus.BAD_REQUEST):
            if error in _CODE_REFUSED:
                return self._failures.callback("token: code refused")
            if error in _TOKEN_ERRORS:
                return self._failures.wrong(f"token: {error}")
        return self._bad_status("token", response) or self._failures.wrong("token")

    def _check_status(self, what: str, response: Response) -> None:
        error = self._bad_status(what, response)
        if error is not None:
            raise error

    def _bad_status(self, what: str, response: Response) -> ProviderError | None:
        if response.is_limited:
            return self._failures.unavailable(f"{what}: rate limit", REST)
        if response.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            return self._failures.unavailable(f"{what}: status", REST)
        if response.status != HTTPStatus.OK:
            return self._failures.wrong(f"{what}: status")
        return None

    def _go_on_without(self, error: ProviderError) -> None:
        """Log that a login of a connected account goes on without a description of the user."""
        logger.warning(
            "the provider %s did not say who the user is (%s); the account is known, so the"
            " login goes on without it. %s",
            self._entry.name,
            error.reason,
            remedy_of(error.reason),
        )

    def _log_refusal(self, document: Document, form: Mapping[str, str]) -> None:
        """Log what the provider says about a code, without what it could repeat of the request."""
        error, said = (document.get(name) for name in ("error", "error_description"))
        if not isinstance(error, str):
            return
        description = said if isinstance(said, str) else ""
        secrets = (form.get("code"), form.get("code_verifier"), self._entry.client_secret)
        for each in filter(None, secrets):
            error, description = (text.replace(each, "…") for text in (error, description))
        self._log_error(error, description)

    def _log_error(self, error: str, description: str) -> None:
        """Log the error of a provider, in one short line."""
        said = f"{error}: {description}" if description else error
        shown = "".join(each if each.isprintable() else " " for each in said[:_MAX_SAID])
        logger.warning(
            "the provider %s answered with the error %s", self._entry.name, json.dumps(shown)
        )


def with_query(url: str, parameters: Mapping[str, str]) -> str:
    """Return a URL with more parameters."""
    return f"{url}{'&' if '?' in url else '?'}{urlencode(parameters)}"


def _access_token(document: Document) -> str | None:
    """Return the access token of a response (RFC 6749 section 5.1)."""
    access_token, token_type = document.get("access_token"), document.get("token_type")
    if not isinstance(access_token, str) or not isinstance(token_type, str):
        return None
    is_usable = _VISIBLE.fullmatch(access_token) and token_type.lower() == "bearer"
    return access_token if is_usable else None
