"""The relying party: this site, as the authenticators of its users know it.

The cheap checks of an answer come first: its form, its page and its challenge, then one SELECT,
then the signature.
"""

import json
import secrets
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlsplit

from wsgiauth.accounts.models import User
from wsgiauth.authentication.browser_keys import NEW_ACCOUNT, BrowserKeys, KeyProof, Purpose
from wsgiauth.authentication.methods import HARDWARE_KEY, USER_VERIFIED
from wsgiauth.exceptions import ValidationError
from wsgiauth.features.factors import passkeys
from wsgiauth.features.factors.passkeys import (
    NAME_MAX_LENGTH,
    NewPasskey,
    Passkey,
    challenges,
    messages,
)
from wsgiauth.features.factors.passkeys.challenges import REGISTER, Challenge, Challenges
from wsgiauth.features.factors.passkeys.messages import Answer
from wsgiauth.messages import _
from wsgiauth.settings import Settings
from wsgiauth.settings.kinds import missing_package
from wsgiauth.storage import database
from wsgiauth.throttling.counts import Limit
from wsgiauth.throttling.throttle import DOUBLING, HOUR

HANDLE_LENGTH = 32  # bytes


class Presented(NamedTuple):
    """An answer to a challenge of this site; its signature is not verified."""

    party: "RelyingParty"
    answer: Answer
    challenge: Challenge
    purpose: Purpose
    now: float  # seconds since the epoch

    def accept(self, user: User | None = None) -> KeyProof | None:
        """Accept the answer; see `RelyingParty.accept`."""
        return self.party.accept(self, self.now, user=user)


class PresentedNewPasskey(NamedTuple):
    """The passkey of an account that is being created; it is not verified."""

    party: "RelyingParty"
    sent: Presented

    @property
    def unknown(self) -> str:
        """See `PresentedNewKey`."""
        credential_id = self.sent.answer.credential_id
        if passkeys.find(credential_id) is not None:
            return ""
        return json.dumps({"rpId": self.party.host, "credentialId": credential_id})

    def verify(self, name: str) -> "VerifiedPasskey | None":
        """See `PresentedNewKey`."""
        new = self.party.verify_new(self.sent)
        return None if new is None else VerifiedPasskey(self, new, name[:NAME_MAX_LENGTH])


class VerifiedPasskey(NamedTuple):
    """The verified passkey of an account that is being created."""

    presented: PresentedNewPasskey
    new: NewPasskey
    name: str
    methods: str = f"{HARDWARE_KEY} {USER_VERIFIED}"

    def add(self, user: User) -> None:
        """See `NewKey`."""
        sent, host = self.presented.sent, self.presented.party.host
        passkeys.add_first(
            user, self.new, self.name, sent.challenge, relying_party=host, now=sent.now
        )


class RelyingParty(BrowserKeys):
    """Registers passkeys for this site, and accepts them."""

    def __init__(self, settings: Settings) -> None:
        try:
            from wsgiauth.features.factors.passkeys.webauthn import Ceremonies
        except ImportError:
            raise missing_package("PASSKEYS", "fido2", "passkeys") from None
        # Apart from passwords, whose failures must not keep the owner of a passkey waiting.
        free = settings.LOGIN_FAILURES_PER_ADDRESS
        self.limit = Limit("passkeys", free, DOUBLING, HOUR)
        parts = urlsplit(settings.PUBLIC_URL or "")
        self.host: str = passkeys.host_of(settings)
        self._origin = f"{parts.scheme}://{parts.netloc}"
        self._ceremonies = Ceremonies(self.host, self._origin)
        self._name = settings.SITE_NAME or self.host
        self._challenges = Challenges(settings)

    def passkeys_of(self, user: User) -> list[Passkey]:
        """Return the passkeys of a user that work on this site, the oldest first."""
        return [each for each in passkeys.list_passkeys(user) if each.relying_party == self.host]

    def creation_options(self, user: User, now: float) -> str:
        """Return the options for a new passkey, as JSON.

        All passkeys of a user have one handle, so that an authenticator keeps only one of them.
        """
        own = self.passkeys_of(user)
        handle = messages.decode(own[0].user_handle) if own else b""
        return self._creation_options(
            REGISTER, user.label, str(user.id), now=now, handle=handle, known=own
        )

    def options_of_new_account(self, name: str, *bound_to: str, now: float) -> str:
        """Return the options for the passkey of a new account, as JSON."""
        return self._creation_options(NEW_ACCOUNT, name, *bound_to, now=now)

    def _creation_options(
        self,
        purpose: Purpose,
        name: str,
        *bound_to: str,
        now: float,
        handle: bytes = b"",
        known: Sequence[Passkey] = (),
    ) -> str:
        handle = handle or secrets.token_bytes(HANDLE_LENGTH)
        challenge = self._challenges.make(purpose, *bound_to, now=now, payload=handle)
        party = {"id": self.host, "name": self._name}
        return messages.creation_options(
            purpose, challenge, party, self._origin, name, handle, known
        )

    def register(self, user: User, name: str, credential: str, now: float) -> None:
        """Add the passkey that a browser made, or raise an error as `passkeys.add` does."""
        sent = self.read(credential, REGISTER, str(user.id), now=now, ceremony="webauthn.create")
        new = sent and self.verify_new(sent)
        if sent is None or new is None:
            raise ValidationError({"credential": [_("The passkey was not added. Try again.")]})
        passkeys.add(user, new, name, sent.challenge, relying_party=self.host, now=now)

    def read_new(self, credential: str, *bound_to: str, now: float) -> PresentedNewPasskey | None:
        """Return the passkey of a new account, or None."""
        sent = self.read(credential, NEW_ACCOUNT, *bound_to, now=now, ceremony="webauthn.create")
        return None if sent is None else PresentedNewPasskey(self, sent)

    def verify_new(self, sent: Presented) -> NewPasskey | None:
        """Return the new passkey in an answer, or None if the answer is wrong."""
        return self._ceremonies.registered(sent.purpose, sent.challenge, sent.answer)

    def request_options(
        self, purpose: Purpose, *bound_to: str, now: float, user: User | None = None
    ) -> str:
        """Return the options for the use of a passkey, as JSON; empty if the user has none.

        Without a user, the authenticator offers its passkeys for the site.
        """
        own = [] if user is None else self.passkeys_of(user)
        if user is not None and not own:
            return ""
        challenge = self._challenges.make(purpose, *bound_to, now=now)
        return messages.request_options(purpose, challenge, self.host, self._origin, own)

    def read(
        self,
        credential: str,
        purpose: Purpose,
        *bound_to: str,
        now: float,
        ceremony: str = "webauthn.get",
    ) -> Presented | None:
        """Return the answer to a challenge with this purpose and binding, or None."""
        answer = messages.read(credential, ceremony, self._origin)
        if answer is None:
            return None
        challenge = self._challenges.verify(answer.challenge, purpose, *bound_to, now=now)
        return None if challenge is None else Presented(self, answer, challenge, purpose, now)

    def accept(
        self, presented: Presented, now: float, *, user: User | None = None
    ) -> KeyProof | None:
        """Return the user of the passkey, and record its use; None if it is refused.

        With `user`, refuse the passkeys of other users.
        """
        answer, challenge, purpose = presented.answer, presented.challenge, presented.purpose
        passkey = passkeys.find(answer.credential_id)
        if passkey is None or not self._is_permitted(passkey, answer, user):
            return None
        signed = self._ceremonies.signed(purpose, challenge, answer, passkey.public_key)
        if signed is None:
            return None
        with database.atomic():
            if not challenges.use(challenge):
                return None
            count, is_backed_up = signed.counter, signed.is_backed_up()
            if not passkeys.record_use(passkey, count, is_backed_up=is_backed_up, now=now):
                return None
        verified = f" {USER_VERIFIED}" if signed.is_user_verified() else ""
        return KeyProof(user or passkey.user, f"{HARDWARE_KEY}{verified}")

    def _is_permitted(self, passkey: Passkey, answer: Answer, user: User | None) -> bool:
        if passkey.relying_party != self.host or not passkey.user.is_active:
            return False
        # Without a user who is known already, the handle says whose it is (section 7.2, step 6).
        handle = answer.response.get("userHandle")
        if user is None:
            return handle == passkey.user_handle
        return passkey.user_id == user.id and handle in (None, passkey.user_handle)
