"""Emails to the owner of an account about what happens to it."""
