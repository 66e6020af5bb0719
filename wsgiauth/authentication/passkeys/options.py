"""What a page asks the browser for: the options of `navigator.credentials`, as JSON."""

import json
from collections.abc import Iterable, Mapping

from wsgiauth.authentication.passkeys import Passkey
from wsgiauth.authentication.passkeys.challenges import Purpose
from wsgiauth.authentication.passkeys.responses import encode

# ES256, EdDSA and RS256, which together every authenticator has (level 3, section 5.4).
ALGORITHMS = (-7, -8, -257)

_TYPE = "public-key"
_TIMEOUT = 5 * 60 * 1000  # milliseconds that a browser waits for the user


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

    Args:
        purpose: What the challenge is for.
        challenge: The challenge.
        relying_party: The `id` and the `name` of the site.
        origin: Where passkeys work, for the script of the page; browsers ignore it.
        username: What authenticators show.
        user_handle: See `Passkey`.
        known: The passkeys whose authenticators need no other one.
    """
    document = {
        "rp": relying_party,
        "user": {"id": encode(user_handle), "name": username, "displayName": username},
        "challenge": encode(challenge),
        "pubKeyCredParams": [{"type": _TYPE, "alg": each} for each in ALGORITHMS],
        "timeout": _TIMEOUT,
        "excludeCredentials": _descriptors(known),
        "authenticatorSelection": {
            "residentKey": "preferred",  # as one that a login without a name finds
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

    Args:
        purpose: What the challenge is for.
        challenge: The challenge.
        host: The id of the relying party.
        origin: See `creation_options`.
        accepted: The passkeys of the user; without any, authenticators offer their own.
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


def _descriptors(passkeys: Iterable[Passkey]) -> list[dict[str, object]]:
    return [
        {"type": _TYPE, "id": each.credential_id, "transports": each.transports.split()}
        for each in passkeys
    ]
