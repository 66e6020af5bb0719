"""What the adapter adds to `manage.py`."""
