"""The messages between a page and the browser's `navigator.credentials`, as JSON.

The site sends options, and the browser sends the answer of an authenticator, which is not trusted.
The checks here need neither the database nor a signature, so that garbage costs next to nothing.
"""

import base64
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from wsgiauth.authentication.browser_keys import NEW_ACCOUNT, Purpose
from wsgiauth.features.factors.passkeys import Passkey
from wsgiauth.features.factors.passkeys.challenges import MOST_BYTES
from wsgiauth.web.request import has_many_brackets

# ES256, EdDSA and RS256: every authenticator has one of them (level 3, section 5.4).
ALGORITHMS = (-7, -8, -257)

_TYPE = "public-key"
_TIMEOUT = 5 * 60 * 1000  # milliseconds that a browser waits for the user

MAX_LENGTH = 12_000  # characters, less than a form can have

# Characters of Base64 for URLs. A credential id has at most 1,023 bytes and a user handle 64 (level
# 3, sections 4 and 5.4.3); the others are several times as long as any that browsers send.
_MAX_LENGTHS = {
    "clientDataJSON": 3000,
    "attestationObject": 8000,
    "authenticatorData": 2000,
    "signature": 1000,
    "userHandle": 86,
}
_MAX_ID = 1364
_BASE64 = re.compile(r"[A-Za-z0-9_-]+")
_TRANSPORTS = ("ble", "hybrid", "internal", "nfc", "smart-card", "usb")


class Answer(NamedTuple):
    """A well-formed answer from the right page; its signature is not verified."""

    credential_id: str  # in Base64 for URLs
    response: Mapping[str, str]  # its parts, in Base64 for URLs, by their names in the standard
    challenge: bytes  # the signed challenge, as the browser says
    transports: str  # see `Passkey`


def creation_options(
    purpose: Purpose,
    challenge: bytes,
    relying_party: Mapping[str, str],
    origin: str,
    username: str,
    user_handle: bytes,
    known: Iterable[Passkey],
) -> str:
    """Return a `PublicKeyCredentialCreationOptionsJSON` (level 3, section 5.1).

    `origin` is for the script of the page; browsers ignore it. The authenticators of `known`
    passkeys make no other one.
    """
    # The authenticator stores a passkey that logs in without a name.
    residence = "required" if purpose == NEW_ACCOUNT else "preferred"
    document = {
        "rp": relying_party,
        "user": {"id": encode(user_handle), "name": username, "displayName": username},
        "challenge": encode(challenge),
        "pubKeyCredParams": [{"type": _TYPE, "alg": each} for each in ALGORITHMS],
        "timeout": _TIMEOUT,
        "excludeCredentials": _descriptors(known),
        "authenticatorSelection": {
            "residentKey": residence,
            "requireResidentKey": purpose == NEW_ACCOUNT,  # for level 1
            "userVerification": purpose.user_verification,
        },
        "attestation": "none",
        "origin": origin,
    }
    return json.dumps(document)


def request_options(
    purpose: Purpose, challenge: bytes, host: str, origin: str, accepted: Iterable[Passkey]
) -> str:
    """Return a `PublicKeyCredentialRequestOptionsJSON` (level 3, section 5.1).

    `host` is the id of the relying party. Without `accepted` passkeys, authenticators offer their
    own.
    """
    document = {
        "challenge": encode(challenge),
        "timeout": _TIMEOUT,
        "rpId": host,
        "allowCredentials": _descriptors(accepted),
        "userVerification": purpose.user_verification,
        "origin": origin,
    }
    return json.dumps(document)


def read(text: str, ceremony: str, origin: str) -> Answer | None:
    """Return the answer in a field of a form, or None if it is not for this page.

    It is a `RegistrationResponseJSON` or `AuthenticationResponseJSON` (level 3, section 5.1).
    """
    if len(text) > MAX_LENGTH or has_many_brackets(text):
        return None
    try:
        sent = json.loads(text)
        credential_id, response = sent["id"], dict(sent["response"])
        parts = {name: response[name] for name in _MAX_LENGTHS if response.get(name) is not None}
        if sent["type"] != "public-key" or not _is_base64(credential_id, _MAX_ID):
            return None
        if not all(_is_base64(part, _MAX_LENGTHS[name]) for name, part in parts.items()):
            return None
        client_text = decode(parts["clientDataJSON"]).decode()
        if has_many_brackets(client_text):
            return None
        challenge = _challenge(json.loads(client_text), ceremony, origin)
        said = response.get("transports") or ()
        transports = " ".join(name for name in _TRANSPORTS if name in said)
    except (ValueError, TypeError, LookupError):
        return None
    if challenge is None or encode(decode(credential_id)) != credential_id:
        return None
    return Answer(credential_id, parts, challenge, transports)


def encode(data: bytes) -> str:
    """Return bytes in Base64 for URLs, without padding (RFC 4648 section 5)."""
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(text: str) -> bytes:
    """Return the bytes of such a string; raise ValueError if no string has its length."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _is_base64(part: Any, max_length: int) -> bool:
    is_short = isinstance(part, str) and len(part) <= max_length
    return is_short and _BASE64.fullmatch(part) is not None


def _challenge(client_data: dict[str, Any], ceremony: str, origin: str) -> bytes | None:
    """Return the challenge if the page was of this site, and in no frame of another site."""
    if client_data["type"] != ceremony or client_data["origin"] != origin:
        return None
    if client_data.get("crossOrigin", False) is not False or "topOrigin" in client_data:
        return None
    challenge = client_data["challenge"]
    return decode(challenge) if _is_base64(challenge, 4 * MOST_BYTES // 3) else None


def _descriptors(passkeys: Iterable[Passkey]) -> list[dict[str, object]]:
    return [
        {"type": _TYPE, "id": each.credential_id, "transports": each.transports.split()}
        for each in passkeys
    ]
