"""The URLs of the OpenID provider: one file for each."""
