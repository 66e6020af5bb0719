"""Logins with providers of OAuth 2.0 that have no OpenID Connect, each by an API of its own.

The flow, the errands and the accounts are those of `providers.oidc`. For another provider, add a
module with its `Api`, a line to `client.APIS`, and one to `wsgiauth.settings.oidc.KINDS`.
"""
