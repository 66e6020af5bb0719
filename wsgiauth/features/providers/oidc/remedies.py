"""What an operator can do about the failure of a provider: for the log, and for `check`."""

from collections.abc import Mapping

from wsgiauth.web.certificates import REFUSED, UNKNOWN_AUTHORITY

UNKNOWN = "See the documentation of the provider."

_CLIENT = (
    "Check the id and the secret of the client, and whether it has expired or was suspended there."
)
_ISSUER = "Check that this host can reach the issuer, and that the issuer is right."
_KEYS = (
    "What it publishes (keys) cannot be used; see its documentation. If it has moved its keys, this"
    " site finds them within an hour, or after a restart."
)
_ANSWER = (
    "Its answer is a redirect, longer than 64 KiB, or not JSON; an encrypted answer cannot be read."
)
_SAID = "The provider answered with this error; another line of the log has its description."
_SIGNATURE = (
    "The token is not signed with a key that the provider publishes, or not in an accepted way. New"
    " keys are fetched at most once a minute."
)
_RECIPIENT = (
    "The answer comes from another issuer, or is for another client; compare the issuer and the id"
    " of the client with those at the provider."
)
_CLAIM = "The token belongs to another login, or a claim is missing or malformed."
_BROWSER = (
    "The browser came back after more than ten minutes, twice, after too many other logins, or"
    " without its cookie. If all browsers do, they use another address than PUBLIC_URL."
)
_USER = "The user logged out or changed meanwhile; the user can begin again."
_NO_LOGOUT_TOKEN = "The token is not a logout token."  # noqa: S105

# By the reason. "…" stands for the name of a request before the colon, or for any cause after it.
REMEDIES: Mapping[str, str] = {
    # Requests to the provider.
    "…: connection": (
        "Check that this host can reach the provider: look up its name, and open connections to it."
    ),
    "…: timeout": (
        "It did not answer within 5 seconds; check that this host can open connections to it."
    ),
    "…: proxy": (
        "Check that OIDC_PROXY can be reached, that its user and password are right, and that it"
        " lets connections through."
    ),
    "…: rate limit": (
        "It has received too many requests from this site or this user; try again later."
    ),
    "…: left alone": "A connection failed less than 10 seconds ago; see the line of that failure.",
    "busy": "Two requests to it are in progress; the browser loads the page again.",
    "…: busy": "Two requests to it are in progress; the user can try again.",
    f"…: {UNKNOWN_AUTHORITY}": (
        "Its authority is not known here: SSL_CERT_FILE can name the certificates to trust."
    ),
    f"…: {REFUSED}": "Its certificate has ended, or is not valid for this host.",
    "…: status": "The status is not 200; check the scopes and the permissions of the client.",
    **dict.fromkeys(("…: redirect", "…: JSON", "…: too large"), _ANSWER),
    **dict.fromkeys(
        (
            *("discovery: connection", "discovery: timeout", "discovery: status"),
            *("discovery: redirect", "discovery: JSON", "discovery: too large"),
        ),
        _ISSUER,
    ),
    "discovery: issuer": (
        "Its discovery document names another issuer; compare them to the last slash."
    ),
    "discovery: userinfo_endpoint": (
        "The entry has groups_from=userinfo, but the provider has no such endpoint, or its URL"
        " cannot be used."
    ),
    "discovery: …": "This member of its discovery document is missing or cannot be used.",
    **dict.fromkeys(
        ("keys", "keys: status", "keys: redirect", "keys: JSON", "keys: too large"), _KEYS
    ),
    **dict.fromkeys(
        ("token: client refused", "token: status", "token: application_suspended"), _CLIENT
    ),
    "token": "Its answer has no ID token, or no access token of the type Bearer.",
    "token: code refused": (
        "The code came too late, or was used before; the user can begin again."
    ),
    "token: redirect_uri_mismatch": "Register the redirect URI of this site at the provider.",
    "token: unverified_user_email": "The user must verify the primary address at the provider.",
    "token: …": _SAID,
    "user: id": "Its API did not answer with the number of an account.",
    "emails: list": "Its API did not answer with a list of addresses.",
    "userinfo: sub": "The answer is about another user, or does not say about which one.",
    # Tokens.
    **dict.fromkeys(("iss", "aud", "azp"), _RECIPIENT),
    "alg": (
        "The token is signed with an algorithm that the discovery document does not name, or that"
        " is not asymmetric."
    ),
    **dict.fromkeys(
        ("unknown key", "several keys", "kid", "signature", "typ", "crit", "form"), _SIGNATURE
    ),
    **dict.fromkeys(("nonce", "at_hash", "sub", "times"), _CLAIM),
    "clock": (
        "The clocks differ by more than a minute, or the token is more than ten minutes old; run"
        " NTP on both hosts."
    ),
    "auth_time": (
        "The provider did not ask the user to log in again, does not say when the user did"
        " (auth_time), or its clock is more than a minute slow."
    ),
    # Browsers that come back.
    "access_denied": "The user cancelled, or the provider does not admit the user.",
    **dict.fromkeys(
        (
            *("error", "invalid_request", "unauthorized_client", "unsupported_response_type"),
            *("invalid_scope", "server_error", "temporarily_unavailable", "interaction_required"),
            *("login_required", "account_selection_required", "consent_required"),
            "authentication_expired",
        ),
        _SAID,
    ),
    "application_suspended": _CLIENT,
    "redirect_uri_mismatch": "Register the redirect URI of this site at the provider.",
    **dict.fromkeys(("no cookie", "state", "state used", "query", "code"), _BROWSER),
    **dict.fromkeys(("changed meanwhile", "session ended", "another user"), _USER),
    "another account": (
        "The user chose an account at the provider that is not connected to the one here."
    ),
    "one factor": "The user needs the second factor of this site.",
    # Logout tokens.
    **dict.fromkeys(("logout: events", "logout: nonce"), _NO_LOGOUT_TOKEN),
    "logout: jti": "The token has no id (jti), which logout tokens need.",
    "logout: used": "The provider sent the token twice; the first one counted.",
}


def remedy_of(reason: str) -> str:
    """Return what to do about a failure, by the reason of its `ProviderError`.

    An answer of the userinfo endpoint and a logout token can have the reasons of other tokens.
    """
    what, _, why = reason.partition(": ")
    for each in (reason, f"…: {why}", f"{what}: …" if why else ""):
        if each in REMEDIES:
            return REMEDIES[each]
    return remedy_of(why) if why else UNKNOWN
