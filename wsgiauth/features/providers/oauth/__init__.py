"""Logins with providers of OAuth 2.0 that have no OpenID Connect, each by an API of its own.

For another one, add a module with its `Api`, a line to `client.APIS`, and one to
`wsgiauth.settings.oidc.KINDS`.
"""
