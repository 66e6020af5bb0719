"""How users prove their identity, in words: by names of RFC 8176 section 2, and further ones."""

from collections.abc import Iterable
from functools import lru_cache

from wsgiauth.accounts.tables import METHODS_MAX_LENGTH
from wsgiauth.messages import list_of, pgettext

PASSWORD = "pwd"  # noqa: S105 - a method, not a password
ONE_TIME_CODE = "otp"
EMAIL_CODE = "email"  # RFC 8176 has no name for it
EMAIL = "mail"  # a link by email; RFC 8176 has no name for it
RECOVERY_CODE = "recovery"  # beside "otp"; RFC 8176 has no name for it
HARDWARE_KEY = "hwk"  # a passkey
FEDERATED = "fed"  # by another provider; RFC 8176 has no name for it
TRUSTED = "trusted"  # the second step was skipped in a trusted browser; it proves nothing
SEVERAL = "mfa"  # several factors, as a provider says
USER_VERIFIED = "user"  # its authenticator made sure who uses it: with it, two factors

# An `acr`, also in challenges (RFC 9470 section 3): OpenID Provider Authentication Policy Extension
# 1.0, section 4.
MULTI_FACTOR = "http://schemas.openid.net/pape/policies/2007/06/multi-factor"

_WORDS = {
    "email": pgettext("a way to log in", "code by email"),
    "face": pgettext("a way to log in", "face"),
    "fed": pgettext("a way to log in", "another provider"),
    "fpt": pgettext("a way to log in", "fingerprint"),
    "hwk": pgettext("a way to log in", "passkey"),
    "mail": pgettext("a way to log in", "link by email"),
    "mfa": pgettext("a way to log in", "several factors"),
    "otp": pgettext("a way to log in", "one-time code"),
    "pin": pgettext("a way to log in", "PIN"),
    "pwd": pgettext("a way to log in", "password"),
    "recovery": pgettext("a way to log in", "recovery code"),
    "sc": pgettext("a way to log in", "smart card"),
    "sms": pgettext("a way to log in", "code by text message"),
    "swk": pgettext("a way to log in", "software key"),
    "tel": pgettext("a way to log in", "phone call"),
    "trusted": pgettext("a way to log in", "trusted browser"),
    "user": pgettext("a way to log in", "fingerprint, face or PIN"),
    "wia": pgettext("a way to log in", "Windows login"),
}


@lru_cache
def has_second_factor(methods: str) -> bool:
    """Return whether a second factor is among these methods, separated by spaces.

    A code or a key alone counts: at /auth/confirm, the session already has a first factor, and a
    passkey that is the whole login has verified its user. A trusted browser does not: see
    `second_factors.SecondFactorDemand`.
    """
    return not {ONE_TIME_CODE, HARDWARE_KEY, SEVERAL}.isdisjoint(methods.split())


def with_method(methods: str, method: str) -> str:
    """Return methods, separated by spaces, and another one; only this one if there is no room."""
    joined = f"{methods} {method}".strip()
    return joined if len(joined) <= METHODS_MAX_LENGTH else method


def methods_in_words(methods: Iterable[str], provider: str = "") -> str:
    """Return methods such as `pwd` in words, separated by commas; an unknown name stays.

    A recovery code is named alone, without the "otp" that it stands for.

    Args:
        provider: The name of the other provider, if it is known.
    """
    listed = list(methods)
    shown = [
        each
        for each, following in zip(listed, [*listed[1:], ""], strict=False)
        if (each, following) != (ONE_TIME_CODE, RECOVERY_CODE)
    ]
    words = _WORDS | ({FEDERATED: provider} if provider else {})
    return list_of(words.get(each, each) for each in shown)
