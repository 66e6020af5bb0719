"""Migrations of the adapter's table."""
