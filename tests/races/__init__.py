"""Races: what two processes do at once, and what must hold; see docs/concurrency.md."""

from tests.races import (
    accounts,
    apps,
    counts,
    factors,
    links,
    providers,
    sessions,
    trusted,
    ways_in,
    webhooks,
)

__all__ = [
    "accounts",
    "apps",
    "counts",
    "factors",
    "links",
    "providers",
    "sessions",
    "trusted",
    "ways_in",
    "webhooks",
]
