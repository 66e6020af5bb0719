"""Health: endpoints that say whether a process lives, and whether it can serve requests."""
