"""The file of a person's own data: /auth/data, and `python -m wsgiauth personal-data`."""
