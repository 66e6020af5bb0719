"""Requests that draw the answers of /auth/metrics."""

from tests.support.contract import Request
from wsgiauth.features.metrics.metrics import PERMISSION
from wsgiauth.testing import api_key, bearer

PATH = "/metrics"
OPENMETRICS = {"Accept": "application/openmetrics-text"}


def answers(world):
    """Yield requests of callers with the permission, and without."""
    user = world.user(permissions=[PERMISSION])
    for permissions in ([], [PERMISSION]):
        yield Request("GET", PATH, api_key(world.site, user, permissions))
    yield Request("GET", PATH, api_key(world.site, user, [PERMISSION]), accepts=(OPENMETRICS,))
    yield Request("GET", PATH, bearer(world.site, user))
    yield Request("GET", PATH, world.login())
