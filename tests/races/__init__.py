"""Races: what two processes do at once, for each row of the table in docs/concurrency.md."""

from tests.races import accounts, counts, factors, links, providers, sessions, trusted, ways_in

__all__ = [
    "accounts",
    "counts",
    "factors",
    "links",
    "providers",
    "sessions",
    "trusted",
    "ways_in",
]
