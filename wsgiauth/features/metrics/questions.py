"""The question of `check` about a key for Prometheus."""

import time
from collections.abc import Iterator

from wsgiauth.accounts.tables import Key
from wsgiauth.feature import Finding, Question
from wsgiauth.features.metrics.metrics import PERMISSION
from wsgiauth.site import Site


def _no_key(site: Site) -> Iterator[Finding]:
    if not site.settings.METRICS:
        return
    named = Key.select(Key.permissions).where(
        Key.expires_at > int(time.time()), Key.permissions.contains(PERMISSION)
    )
    if not any(PERMISSION in each.permissions.split() for each in named):
        yield Finding(
            f"METRICS is on, and no API key has the permission {PERMISSION}: Prometheus needs one.",
            is_risk=False,
        )


QUESTIONS = (Question(_no_key),)
