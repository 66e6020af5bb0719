"""Logins with another provider: OpenID Connect Core 1.0, the authorization code flow."""
