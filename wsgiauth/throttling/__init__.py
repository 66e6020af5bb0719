"""Limits on logins and registrations: counts of attempts, waits, and slots for hashing."""
