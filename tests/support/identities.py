"""Accounts of providers, as a verified ID token describes them."""

import time

from wsgiauth.features.providers.oidc.accounts import ProviderAccount

ISSUER = "https://accounts.example.com"
ENTRY = "example:https://id:secret@accounts.example.com?title=Example+Firm"


def account(subject="s-1", **changes):
    """Return what a provider has said of one of its accounts."""
    values = {
        "provider": "example",
        "issuer": ISSUER,
        "subject": subject,
        "name": "ada@example.com",
        "email": "ada@example.com",
        "email_verified": True,
        "username": "ada",
        "groups": (),
        "methods": "fed",
        "sid": "",
        "authenticated_at": None,
        "asked_at": int(time.time()),
    }
    return ProviderAccount(**values | changes)
