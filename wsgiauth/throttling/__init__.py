"""Limits on logins, registrations and emails: counts of attempts, waits, and slots for hashing.

A function that uses the database raises peewee.DatabaseError if it fails. A `clock` returns the
time in seconds since the epoch, except in `hash_slots`.
"""
