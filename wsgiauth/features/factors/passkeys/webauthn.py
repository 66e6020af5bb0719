"""The verification of answers by Yubico's `fido2`; only a site with passkeys imports it."""

from contextlib import suppress
from typing import Any

from cryptography.exceptions import InvalidSignature
from fido2 import cbor
from fido2.cose import CoseKey
from fido2.server import Fido2Server
from fido2.webauthn import (
    Aaguid,
    AttestedCredentialData,
    AuthenticatorData,
    PublicKeyCredentialRpEntity,
    PublicKeyCredentialUserEntity,
    UserVerificationRequirement,
)

from wsgiauth.authentication.browser_keys import Purpose
from wsgiauth.features.factors.passkeys import NewPasskey
from wsgiauth.features.factors.passkeys.challenges import Challenge
from wsgiauth.features.factors.passkeys.messages import ALGORITHMS, Answer, decode, encode

MAX_PUBLIC_KEY = 1000  # bytes; one of RSA with 4,096 bits has 530

_ALGORITHM = 3  # the label in a COSE key, RFC 9052 section 7.1


class Ceremonies:
    """Verifies the answers of authenticators (level 3, sections 7.1 and 7.2)."""

    def __init__(self, host: str, origin: str) -> None:
        entity = PublicKeyCredentialRpEntity(name=host, id=host)
        self._server = Fido2Server(entity, verify_origin=lambda each: each == origin)

    def registered(
        self, purpose: Purpose, challenge: Challenge, answer: Answer
    ) -> NewPasskey | None:
        """Return the new passkey in an answer, or None if the answer is wrong."""
        _, state = self._server.register_begin(
            PublicKeyCredentialUserEntity(id=b"-", name="-"),
            user_verification=UserVerificationRequirement(purpose.user_verification),
            challenge=challenge.value,
        )
        try:
            data = self._server.register_complete(state, _document(answer))
            credential = data.credential_data
        except Exception:  # hostile input for parsers and cryptography
            return None
        if credential is None or not _is_consistent(data):
            return None
        public_key = cbor.encode(credential.public_key)
        if (
            encode(credential.credential_id) != answer.credential_id
            or credential.public_key.get(_ALGORITHM) not in ALGORITHMS
            or len(public_key) > MAX_PUBLIC_KEY
            or not _is_usable(credential.public_key)
        ):
            return None
        return NewPasskey(
            answer.credential_id,
            encode(public_key),
            data.counter,
            encode(challenge.payload),
            answer.transports,
            data.is_backed_up(),
        )

    def signed(
        self, purpose: Purpose, challenge: Challenge, answer: Answer, public_key: str
    ) -> AuthenticatorData | None:
        """Return the data of an answer, or None if this key did not sign the challenge."""
        _, state = self._server.authenticate_begin(
            user_verification=UserVerificationRequirement(purpose.user_verification),
            challenge=challenge.value,
        )
        try:
            key = CoseKey.parse(cbor.decode(decode(public_key)))  # type: ignore[arg-type]
            credential_id = decode(answer.credential_id)
            credential = AttestedCredentialData.create(Aaguid.NONE, credential_id, key)
            self._server.authenticate_complete(state, [credential], _document(answer))
            data = AuthenticatorData(decode(answer.response["authenticatorData"]))
        except Exception:  # as above
            return None
        return data if _is_consistent(data) else None


def _is_consistent(data: AuthenticatorData) -> bool:
    """Return False for a key that is backed up but cannot be (section 6.1.3)."""
    return data.is_backup_eligible() or not data.is_backed_up()


def _is_usable(key: CoseKey) -> bool:
    """Return whether a key can be read: only then is an empty signature wrong.

    Otherwise, an account could begin with a passkey that never logs in.
    """
    with suppress(Exception):  # hostile input, as above
        try:
            key.verify(b"", b"")
        except InvalidSignature:
            return True
    return False


def _document(answer: Answer) -> dict[str, Any]:
    return {
        "id": answer.credential_id,
        "rawId": answer.credential_id,
        "type": "public-key",
        "response": dict(answer.response),
        "clientExtensionResults": {},
    }
