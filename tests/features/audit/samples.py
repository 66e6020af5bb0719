"""What tests of all features ask of the audit trail."""

from unittest.mock import patch

from wsgiauth.features.audit import trail


def drive(site, provider):
    """Follow the trail, and read it in pages."""
    follower = trail.Follower()
    follower.poll()
    for filters in (trail.ALL, trail.Filters(name="login")):
        for last in (None, 5):
            with patch("wsgiauth.features.audit.trail.PAGE", 3):
                list(trail.stream(filters, last=last))


def commands(folder):
    """Return the command, with and without filters."""
    return (
        *("events", "events cli --limit 5"),
        "events --actor cli --name login --since 2026-01-01 --until 2040-01-01",
    )


WHOLE_READS = {
    ("trail.py", "_matching", "part of wsgiauth_event"): (
        "of the events since a position, those of its second are passed over"
    ),
}
