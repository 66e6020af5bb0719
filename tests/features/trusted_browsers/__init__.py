"""The feature `trusted_browsers`."""
