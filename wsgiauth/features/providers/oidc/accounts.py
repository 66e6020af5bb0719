"""What a provider says about a user: plain values, which every room can use."""

from typing import NamedTuple


class ProviderAccount(NamedTuple):
    """A user of a provider, as a verified ID token and the userinfo endpoint describe them.

    It is (`issuer`, `subject`). All else is what the provider says now: nothing is found by it.
    """

    provider: str  # the name of the entry in OIDC_PROVIDERS
    issuer: str
    subject: str  # 1 to 255 printable ASCII characters
    name: str  # to show: 1 to 100 printable characters
    email: str = ""  # as it was sent: at most 254 printable characters
    email_verified: bool = False  # only if the provider says so
    username: str = ""  # as it was sent, for a proposal: at most 100 printable characters
    groups: tuple[str, ...] | None = ()  # of the claim that the entry names; None: not known
    methods: str = "fed"  # `fed mfa` if the entry trusts the provider's second factor
    sid: str = ""  # the session at the provider
    authenticated_at: int | None = None  # when the user last logged in there
    asked_at: int = 0  # when this site asked the provider for it, in seconds since the epoch
    is_partial: bool = False  # whether the userinfo endpoint failed, for an account that is known
