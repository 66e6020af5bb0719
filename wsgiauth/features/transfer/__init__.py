"""Import and export of users: `python -m wsgiauth import` and `export`."""
