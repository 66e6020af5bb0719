"""Logins with this site: an OpenID provider and OAuth 2.1 authorization server for other apps."""
