"""What tests of all features ask of the metrics."""

from webtest import TestApp

from wsgiauth.features.metrics.metrics import PERMISSION
from wsgiauth.figures import event_counts
from wsgiauth.testing import api_key, make_user


def settings(folder, provider):
    """Show the metrics."""
    return {"METRICS": "on"}


def drive(site, provider):
    """Read the metrics, which counts every figure."""
    key = api_key(site, make_user(site, "meter", permissions=[PERMISSION]), [PERMISSION])
    TestApp(site).get("/auth/metrics", headers=key)
    event_counts.purge(0)


WHOLE_READS = {
    ("questions.py", "_no_key", "part of wsgiauth_key"): "`check` looks for a key",
}
