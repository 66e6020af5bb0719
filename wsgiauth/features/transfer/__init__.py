"""Import and export of users: `python -m wsgiauth import` and `export`."""

from wsgiauth.feature import Feature

FEATURE = Feature(name="transfer")
