"""An authenticator in software: a second implementation of what a browser and a key send.

The keys and signatures are those of `cryptography`; CBOR and JSON are written here.
"""

import base64
import hashlib
import json
import secrets
import struct

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa

from tests.support.federated import remove_password
from wsgiauth.features.factors.passkeys.relying_party import RelyingParty
from wsgiauth.storage import context

ORIGIN = "http://localhost:8080"
PASSKEYS = {"PASSKEYS": True, "PUBLIC_URL": ORIGIN}
USER_PRESENT, USER_VERIFIED, CAN_BE_BACKED_UP, IS_BACKED_UP, HAS_CREDENTIAL = 1, 4, 8, 16, 64


def encode(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def cbor(value):
    """Return a value in CBOR (RFC 8949), of the few kinds that occur here."""
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        return _head(3, len(value)) + value.encode()
    return _head(5, len(value)) + b"".join(cbor(key) + cbor(each) for key, each in value.items())


def _head(kind, number):
    size = 0 if number < 24 else 1 if number < 2**8 else 2 if number < 2**16 else 4
    first = kind << 5 | {0: number, 1: 24, 2: 25, 4: 26}[size]
    return bytes([first]) + (number.to_bytes(size) if size else b"")


class Key:
    """A key pair of one of the algorithms."""

    def __init__(self, algorithm=-7):
        self.algorithm = algorithm
        if algorithm == -7:
            self._private = ec.generate_private_key(ec.SECP256R1())
        elif algorithm == -8:
            self._private = ed25519.Ed25519PrivateKey.generate()
        else:
            self._private = rsa.generate_private_key(65537, 2048)

    @property
    def public(self):
        """The public key as a COSE map (RFC 9053)."""
        public = self._private.public_key()
        if self.algorithm == -7:
            point = public.public_numbers()
            return {1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32), -3: point.y.to_bytes(32)}
        if self.algorithm == -8:
            return {1: 1, 3: -8, -1: 6, -2: public.public_bytes_raw()}
        numbers = public.public_numbers()
        return {1: 3, 3: self.algorithm, -1: numbers.n.to_bytes(256), -2: numbers.e.to_bytes(3)}

    def sign(self, message):
        if self.algorithm == -7:
            return self._private.sign(message, ec.ECDSA(hashes.SHA256()))
        if self.algorithm == -8:
            return self._private.sign(message)
        return self._private.sign(message, padding.PKCS1v15(), hashes.SHA256())


class Authenticator:
    """An authenticator with one passkey, in a browser at `ORIGIN`.

    Each attribute can be changed before it answers, to lie about it.

    Attributes:
        credential_id: What it calls its passkey.
        count: How often it has signed; it counts only if this is not 0.
        flags: What it says of the user and the key.
        origin, host: Of the page, and of the relying party, which the browser knows.
        type: What the browser says it was asked for; None: what it was asked for.
        further: Members that the browser adds to what is signed.
        handle: What it calls the user; from the registration.
    """

    def __init__(self, algorithm=-7):
        self.key = Key(algorithm)
        self.credential_id = secrets.token_bytes(32)
        self.count = 0
        self.flags = USER_PRESENT | USER_VERIFIED
        self.origin, self.host = ORIGIN, "localhost"
        self.type = None
        self.further = {"crossOrigin": False}
        self.handle = secrets.token_bytes(32)

    def create(self, options):
        """Return the answer to the options of a registration, both JSON."""
        options = json.loads(options)
        self.handle = decode(options["user"]["id"])
        public = cbor(self.key.public)
        credential = bytes(16) + struct.pack(">H", len(self.credential_id)) + self.credential_id
        data = self._data(HAS_CREDENTIAL) + credential + public
        return self._answer(
            clientDataJSON=self._client_data("webauthn.create", options),
            attestationObject=cbor({"fmt": "none", "attStmt": {}, "authData": data}),
            transports=["internal", "telepathy"],
        )

    def get(self, options):
        """Return the answer to the options of a login, both JSON."""
        if self.count:
            self.count += 1
        client_data = self._client_data("webauthn.get", json.loads(options))
        data = self._data()
        signature = self.key.sign(data + hashlib.sha256(client_data).digest())
        return self._answer(
            clientDataJSON=client_data,
            authenticatorData=data,
            signature=signature,
            userHandle=self.handle,
        )

    def _client_data(self, ceremony, options):
        client_data = {
            "type": self.type or ceremony,
            "challenge": options["challenge"],
            "origin": self.origin,
            **self.further,
        }
        return json.dumps(client_data).encode()

    def _data(self, flags=0):
        host = hashlib.sha256(self.host.encode()).digest()
        return host + struct.pack(">BI", self.flags | flags, self.count)

    def _answer(self, **response):
        return json.dumps(
            {
                "id": encode(self.credential_id),
                "type": "public-key",
                "response": {
                    name: encode(part) if isinstance(part, bytes) else part
                    for name, part in response.items()
                },
            }
        )


def changed(answer, **parts):
    """Return an answer with other parts; None leaves one out."""
    document = json.loads(answer)
    for name, part in parts.items():
        place = document if name in ("id", "type") else document["response"]
        place[name] = part
        if part is None:
            del place[name]
    return json.dumps(document)


def add_passkey(site, user, name="Laptop", authenticator=None):
    """Return an authenticator with a new passkey of a user."""
    made = authenticator or Authenticator()
    with context.using(site.database):
        party, now = site.site.part(RelyingParty), site.site.tokens.now()
        party.register(user, name, made.create(party.creation_options(user, now)), now)
    return made


def register_with_passkey(site, user, authenticator=None):
    """Let a user have registered with a passkey; return its authenticator."""
    made = authenticator or Authenticator()
    with context.using(site.database):
        remove_password(user)
        party, now = site.site.part(RelyingParty), site.site.tokens.now()
        credential = made.create(party.options_of_new_account(user.email, now=now))
        party.read_new(credential, now=now).verify("Laptop").add(user)
    return made


def options_of(page):
    """Return the options that a page has for the browser."""
    return page.html.find(attrs={"data-options": True})["data-options"]
