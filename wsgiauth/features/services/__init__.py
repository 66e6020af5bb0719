"""Tokens for other services, and their introspection."""
