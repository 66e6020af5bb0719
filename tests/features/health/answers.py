"""Requests that draw the answers to probes."""

from pathlib import Path
from tempfile import mkdtemp

from tests.support.contract import Request
from wsgiauth.storage import discard_connection
from wsgiauth.storage.readiness import SHARED, Readiness


def answers(world):
    """Yield a probe of a site whose database is gone."""
    file = Path(mkdtemp()) / "gone.db"
    site = world.make(DATABASE_URL=f"sqlite:///{file}")
    discard_connection(site.database)
    file.unlink()
    readiness = site.site.require(Readiness)
    readiness.now = lambda now=readiness.now: now() + SHARED
    yield Request("GET", "/health/ready", site=site)
