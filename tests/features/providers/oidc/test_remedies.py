"""Every reason for which a provider fails has its remedy, and no remedy is for another reason."""

import ast

import pytest

from tests.docs.pages import ROOT
from wsgiauth.features.providers.oidc.code_flow import _ERRORS, _TOKEN_ERRORS
from wsgiauth.features.providers.oidc.remedies import REMEDIES, UNKNOWN, remedy_of
from wsgiauth.web.certificates import REFUSED, UNKNOWN_AUTHORITY

REQUESTS = ("discovery", "keys", "token", "userinfo", "user", "emails")

# The reasons that are no literals where they are raised.
COMPUTED = {
    *(f"…: {each}" for each in ("connection", "proxy", "timeout", "too large")),
    *(f"…: {each}" for each in (REFUSED, UNKNOWN_AUTHORITY)),
    *("clock", "auth_time", "busy", "used", "changed meanwhile", "logout: …"),
}
RAISE = {
    *("TokenError", "DiscoveryError", "ApiError", "OutgoingError"),
    *("wrong", "callback", "unavailable", "declined", "refusal"),
}


def reasons_of_the_code():
    """Return the reasons of failures in the source, where … stands for what is computed."""
    folder = ROOT / "wsgiauth/features/providers"
    modules = [*folder.glob("oidc/*.py"), *folder.glob("oauth/*.py")]
    files = [*modules, folder / "endpoints/oidc_callback.py"]
    found = set()
    for call in (node for file in files for node in calls_in(file)):
        prefix = {"DiscoveryError": "discovery: ", "OutgoingError": "…: "}.get(name_of(call), "")
        if name_of(call) in RAISE:
            found |= {f"{prefix}{each}" for each in strings_of(call.args[0])}
    return found | COMPUTED


def calls_in(file):
    tree = ast.parse(file.read_text("utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and node.args]


def name_of(call):
    return getattr(call.func, "id", None) or getattr(call.func, "attr", "")


def strings_of(node):
    """Return the strings that an expression can be, where … stands for what is computed."""
    match node:
        case ast.Constant(value=str(text)):
            return {text}
        case ast.IfExp():
            return strings_of(node.body) | strings_of(node.orelse)
        case ast.JoinedStr():
            parts = [getattr(each, "value", None) for each in node.values]
            text = "".join(each if isinstance(each, str) else "…" for each in parts)
            return set() if text == "…: …" else {text}
    return set()


def reasons():
    """Return what the log can say, each reason with all that its … stands for."""
    found = reasons_of_the_code() | _ERRORS
    plain = {each for each in found if "…" not in each}
    of_tokens = {each for each in plain if ": " not in each}
    causes = [each.removeprefix("…: ") for each in found if each.startswith("…: ")]
    of_requests = {f"{request}: {cause}" for request in REQUESTS for cause in causes}
    of_logouts = {f"logout: {each}" for each in of_tokens | of_requests}
    return {
        *(plain - {"events", "jti", "used"}),  # of logout tokens alone
        *of_requests,
        *of_logouts,
        *(f"token: {each}" for each in _TOKEN_ERRORS),
        *(f"userinfo: {each}" for each in of_tokens - {"events", "jti", "used"}),
        *("discovery: jwks_uri", "discovery: token_endpoint_auth_methods_supported"),
    }


def test_the_reasons_of_the_code_are_found():
    assert {"discovery: …", "token: …", "userinfo: …", "…: status", "…: busy"} <= (
        reasons_of_the_code()
    )
    assert {"discovery: connection", "logout: used", "userinfo: iss", "nonce"} <= reasons()


@pytest.mark.parametrize("reason", sorted(reasons()))
def test_every_reason_has_a_remedy(reason):
    assert remedy_of(reason) in set(REMEDIES.values())


def test_every_remedy_is_for_a_reason():
    assert REMEDIES.keys() <= reasons() | reasons_of_the_code()


def test_a_reason_without_a_remedy_says_where_to_look():
    assert remedy_of("other: reason") == UNKNOWN


def test_the_most_exact_reason_decides():
    assert remedy_of("discovery: issuer") != remedy_of("discovery: jwks_uri")
    assert remedy_of("discovery: status") != remedy_of("keys: status") != remedy_of("user: status")
    assert remedy_of("logout: keys: timeout") == remedy_of("keys: timeout")
    assert remedy_of("userinfo: iss") == remedy_of("iss")
    assert remedy_of("logout: nonce") != remedy_of("nonce")


def test_a_remedy_is_one_line_of_plain_sentences():
    for each in {*REMEDIES.values(), UNKNOWN}:
        assert each.isascii()
        assert each.isprintable()
        assert each.endswith(".")
        assert '"' not in each
