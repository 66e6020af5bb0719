"""Logins with other providers (OpenID Connect)."""
