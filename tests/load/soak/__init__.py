"""An hour of everything at once, on SQLite and on PostgreSQL, and what must not grow.

Run it with `make measure NAME=soak`, and with SECONDS=600 DATABASES=sqlite, for example, for a
shorter try on one database. A server in a process of its own gets `RATE` requests a second from
clients that do what people, programs, staff and strangers do. In the server, nothing is kept longer
than a thirtieth of the time (`site.shorten`), so that everything expires and is purged many times
meanwhile.
Sessions last a minute, so a try of less than six minutes compares before they expire.
"""
