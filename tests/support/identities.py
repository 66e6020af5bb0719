"""Accounts of providers, as a verified ID token describes them."""

from wsgiauth.authentication.oidc.accounts import ProviderAccount

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
    }
    return ProviderAccount(**values | changes)
