"""Emails to the owner of an account about changes of it."""
