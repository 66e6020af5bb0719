"""Tokens for other services, which verify them by the public keys of this site."""
