"""Who has to wait: counts of attempts, limits, and slots to hash in."""
