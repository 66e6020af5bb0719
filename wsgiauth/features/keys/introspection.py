"""What other services learn about an API key: see `authentication.descriptions`."""

import secrets

from wsgiauth.accounts.key_owners import owner_of_key
from wsgiauth.authentication.descriptions import DescribedStrings, Description, Reader, described
from wsgiauth.authentication.one_time import digest
from wsgiauth.features.keys.api_keys import PREFIX, id_of


class DescribedKeys(DescribedStrings):
    """Describes API keys. A question is no use of a key."""

    prefix = PREFIX

    def describe(self, text: str, now: int, reader: Reader) -> Description | None:
        """Return the description of an active key, or None."""
        owner = owner_of_key(id_of(text) or "", now)
        if owner is None or not secrets.compare_digest(owner.digest, digest(text)):
            return None
        if not reader.can_ask_about({}):
            return None
        times = {"iat": owner.created_at, "exp": owner.expires_at}
        return described(owner.user, owner.user.permissions, times)
