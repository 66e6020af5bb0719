"""Email: the outbox, which sends after the request, and how a message is made and handed over.

Every function of this room that uses the database raises peewee.DatabaseError if it fails.
"""
