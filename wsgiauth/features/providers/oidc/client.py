"""The requests of an OpenID Connect login, in their order, and the checks of the responses."""

from base64 import b64encode
from collections.abc import Callable, Mapping
from urllib.parse import quote_plus

from wsgiauth.features.providers.oidc.accounts import ProviderAccount
from wsgiauth.features.providers.oidc.code_flow import CodeFlow, logger, with_query
from wsgiauth.features.providers.oidc.discovery import (
    DiscoveryError,
    Metadata,
    document_url,
    moved_url,
    read_metadata,
)
from wsgiauth.features.providers.oidc.documents import Document, optional, parse_document
from wsgiauth.features.providers.oidc.errands import CONFIRM, BegunErrand
from wsgiauth.features.providers.oidc.failures import ProviderError
from wsgiauth.features.providers.oidc.kept import Kept
from wsgiauth.features.providers.oidc.key_sets import KeySet, read_key_set
from wsgiauth.features.providers.oidc.profiles import (
    has_left_out_groups,
    make_account,
    merge,
    names_groups,
)
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
from wsgiauth.features.providers.oidc.transport import Request, Response
from wsgiauth.settings.oidc import ProviderEntry, Proxy


class Client(CodeFlow):
    """This site as a client of one OpenID provider."""

    def __init__(
        self,
        entry: ProviderEntry,
        clock: Callable[[], float],
        timeout: float,
        proxy: Proxy | None = None,
    ) -> None:
        super().__init__(entry, clock, timeout, proxy)
        self._metadata = Kept("discovery", self._discover, self._failures, clock)
        self._keys = Kept(
            "keys", lambda: self._fetch_keys(self._metadata.get()), self._failures, clock
        )
        self._expected = Expected(self._metadata, self._keys, entry.issuer, entry.client_id)

    def login_url(self, begun: BegunErrand, redirect_uri: str) -> str:
        """Return the URL at the provider to which a browser goes."""
        asked = {**self._asked(begun, redirect_uri), "nonce": begun.nonce}
        if begun.errand.purpose == CONFIRM:
            asked = {"prompt": "login", **asked, "max_age": "0"}
        return with_query(self._metadata.get().authorization_endpoint, asked)

    def account(
        self,
        query: Mapping[str, str],
        begun: BegunErrand,
        redirect_uri: str,
        is_known: Callable[[str], bool],
    ) -> ProviderAccount:
        """Return the account with which a browser comes back; see `Provider.finish`."""
        asked_at, entry = int(self._now()), self._entry
        metadata = self._metadata.get()
        code = self._code_of(query, entry.issuer, names_issuer=metadata.announces_issuer)
        id_token, access_token = self._tokens(code, begun, redirect_uri, metadata)
        try:
            claims = verify_id_token(id_token, access_token, begun, self._expected, self._now())
        except TokenError as error:
            raise self._refused_token(str(error)) from None
        userinfo, is_partial = self._described(claims, access_token, metadata, is_known)
        merged = claims if userinfo is None else merge(claims, userinfo)
        of_groups = (userinfo or {}) if entry.groups_from == "userinfo" else merged
        if has_left_out_groups(entry, of_groups):
            logger.warning(
                "the provider %s omitted the groups of a user (_claim_names); the user keeps the"
                " groups of earlier logins",
                entry.name,
            )
        account = make_account(entry, merged, asked_at, of_groups)
        return account._replace(is_partial=is_partial)

    def _described(
        self,
        claims: Document,
        access_token: str,
        metadata: Metadata,
        is_known: Callable[[str], bool],
    ) -> tuple[Document | None, bool]:
        """Return the answer of the userinfo endpoint, if it is needed, and whether it failed."""
        is_needed = self._entry.groups_from == "userinfo" or optional(claims, "email") is None
        if not is_needed or not metadata.userinfo_endpoint:
            return None, False
        try:
            userinfo = self._userinfo(access_token, metadata)
        except ProviderError as error:
            if self._needs_groups(claims) or not is_known(str(claims["sub"])):
                raise
            self._go_on_without(error)
            return None, True
        if userinfo.get("sub") != claims["sub"]:  # OpenID Connect Core 1.0, section 5.3.2
            raise self._failures.wrong("userinfo: sub")
        return userinfo, False

    def _needs_groups(self, claims: Document) -> bool:
        """Return whether groups can only be at the userinfo endpoint."""
        entry = self._entry
        if not entry.groups or entry.groups_from == "userinfo":
            return bool(entry.groups)
        return not names_groups(entry, claims) and not has_left_out_groups(entry, claims)

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
        return with_query(endpoint, asked) if endpoint else None

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
        entry = self._entry
        request = Request("discovery", document_url(entry.issuer), can_have_moved=True)
        response = self._transport.send(request)
        if response.location is not None:
            url = moved_url(request.url, response.location)
            if url is None:
                raise self._failures.wrong(f"{request.what}: redirect")
            response = self._transport.send(Request("discovery", url))
        try:
            metadata = read_metadata(self._read("discovery", response), entry.issuer)
            if entry.groups_from == "userinfo" and not metadata.userinfo_endpoint:
                raise DiscoveryError("userinfo_endpoint")
        except DiscoveryError as error:
            raise self._failures.wrong(f"discovery: {error}") from None
        return metadata

    def _fetch_keys(self, metadata: Metadata) -> KeySet:
        response = self._transport.send(Request("keys", metadata.jwks_uri))
        keys = read_key_set(self._read("keys", response))
        if keys is None:
            raise self._failures.wrong("keys")
        return keys

    def _tokens(
        self, code: str, begun: BegunErrand, redirect_uri: str, metadata: Metadata
    ) -> tuple[str, str]:
        """Return the ID token and the access token for a code."""
        entry = self._entry
        form = {"code": code, "redirect_uri": redirect_uri, "code_verifier": begun.verifier}
        headers = {}
        if metadata.sends_secret_in_form:
            form |= {"client_id": entry.client_id, "client_secret": entry.client_secret}
        else:
            headers["Authorization"] = _basic(entry)
        access_token, document = self._exchange(metadata.token_endpoint, form, headers)
        id_token = document.get("id_token")
        if not isinstance(id_token, str):
            raise self._failures.wrong("token")
        return id_token, access_token

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

    def _read(self, what: str, response: Response) -> Document:
        self._check_status(what, response)
        document = parse_document(response.body)
        if document is None:
            raise self._failures.wrong(f"{what}: JSON")
        return document

    def _refused_token(self, reason: str) -> ProviderError:
        if reason == CLOCK:
            return self._failures.clock()
        if reason == AUTH_TIME:
            return self._failures.not_confirmed()
        return self._failures.wrong(reason)


def _basic(entry: ProviderEntry) -> str:
    """Return the credentials of the client, form-encoded first (RFC 6749 section 2.3.1)."""
    credentials = f"{quote_plus(entry.client_id)}:{quote_plus(entry.client_secret)}"
    return f"Basic {b64encode(credentials.encode()).decode()}"
