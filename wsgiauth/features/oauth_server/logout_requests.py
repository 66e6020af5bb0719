"""A request of an app to log its user out (OpenID Connect RP-Initiated Logout 1.0, section 2)."""

from dataclasses import dataclass
from urllib.parse import urlencode

from wsgiauth.features.oauth_server import clients
from wsgiauth.features.oauth_server.authorization import pairs_in, with_parameters
from wsgiauth.features.oauth_server.redirect_uris import uris_of
from wsgiauth.features.oauth_server.tables import Client
from wsgiauth.features.services.signed_tokens import SignedTokens
from wsgiauth.messages import _
from wsgiauth.web.urls import is_safe_path


@dataclass(frozen=True, kw_only=True)
class LogoutRequest:
    """A request, with or without a mistake.

    Attributes:
        client: The app that sent it; None: it names none, or a mistake hides it.
        sid: The session that its ID token is of, or "".
        location: The registered URI, with `state`, that the browser gets to after the logout; "":
            it stays here.
        query: The same request without the ID token; "" if it is not valid.
        problem: The mistake, in words; "": there is none.
    """

    client: Client | None = None
    sid: str = ""
    location: str = ""
    query: str = ""
    problem: str = ""


def read_logout(query: str, signed: SignedTokens, now: float) -> LogoutRequest:
    """Return the request in a query. With a mistake, it leads nowhere, and names no session.

    An ID token counts also after it has expired, as the standard says.
    """
    pairs = pairs_in(query)
    fields = dict(pairs)
    hint, uri = fields.get("id_token_hint", ""), fields.get("post_logout_redirect_uri", "")
    claims = (signed.id_token_claims(hint) or {}) if hint else {}
    client_id = fields.get("client_id") or str(claims.get("aud", ""))
    bare = {"client_id": client_id, "post_logout_redirect_uri": uri, "state": fields.get("state")}
    onward = urlencode({name: each for name, each in bare.items() if each})
    is_of_another = bool(hint) and claims.get("aud") != client_id
    # A form leads to the same request with a `next`, which has no control characters.
    if len(fields) != len(pairs) or is_of_another or not is_safe_path(f"/?{onward}"):
        return LogoutRequest(
            problem=_("The app that sent you here made a request that is not valid.")
        )
    client = clients.find(client_id, now)
    if (client is None or client.is_service) and (client_id or uri):
        problem = _("The app that sent you here is not known to this site.")
        return LogoutRequest(query=onward, problem=problem)
    if client is None or not uri:
        return LogoutRequest(client=client, sid=str(claims.get("sid", "")), query=onward)
    if uri not in uris_of(client.logout_redirects):
        problem = _(
            "The app %(name)s asked to send you to an address that it has not registered here.",
            name=clients.shown_name(client),
        )
        return LogoutRequest(client=client, query=onward, problem=problem)
    state = fields.get("state")
    return LogoutRequest(
        client=client,
        sid=str(claims.get("sid", "")),
        location=with_parameters(uri, {"state": state}) if state else uri,
        query=onward,
    )
