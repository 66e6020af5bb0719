"""The account of a user at a provider, in plain values, which need no package of the extra."""

from typing import NamedTuple


class ProviderAccount(NamedTuple):
    """The account of a verified ID token and the userinfo endpoint.

    Only (`issuer`, `subject`) identifies it; the provider can change everything else.
    """

    provider: str  # the name of the entry in OIDC_PROVIDERS
    issuer: str
    subject: str  # 1 to 255 printable ASCII characters
    name: str  # to show: 1 to 100 printable characters
    email: str = ""  # unchanged: at most 254 printable characters
    email_verified: bool = False  # only if the provider says so
    username: str = ""  # unchanged, for a proposal: at most 100 printable characters
    groups: tuple[str, ...] | None = ()  # of the claim that the entry names; None: not known
    methods: str = "fed"  # `fed mfa` if the entry trusts the provider's second factor
    sid: str = ""  # the session at the provider
    authenticated_at: int | None = None  # when the user last logged in there
    asked_at: int = 0  # when this site asked the provider, in seconds since the epoch
    is_partial: bool = False  # the userinfo endpoint failed, but a user has connected the account
