"""Trusted browsers, in which a user's logins skip the second step for some days."""
