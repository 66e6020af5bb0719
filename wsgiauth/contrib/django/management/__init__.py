"""The adapter's part of `manage.py`."""
