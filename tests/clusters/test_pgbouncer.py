"""PgBouncer with fewer connections than the site has threads, killed under traffic."""

from contextlib import ExitStack

import pytest

from tests.support.pgbouncer import pgbouncer
from tests.support.processes import THREADS, started
from tests.support.sites import free_port
from tests.support.traffic import Traffic, settings_for_traffic
from wsgiauth import Settings

PROCESSES = 2
SIZE = 4  # connections to PostgreSQL
assert SIZE < PROCESSES * THREADS


# In session mode, a thread that keeps its connection would keep one of PgBouncer's, too.
@pytest.mark.promise(28)
@pytest.mark.parametrize(
    ("mode", "scheme", "options"),
    [
        ("session", "postgresql+pool", f"max_connections={SIZE // PROCESSES}"),
        ("transaction", "postgresql", ""),
        ("transaction", "postgresql+pool", ""),
    ],
    ids=["session", "transaction, kept", "transaction, pooled"],
)
def test_traffic_goes_on_after_pgbouncer_is_killed(
    mode, scheme, options, server_urls, empty_server, tmp_path
):
    empty_server("postgresql")
    direct, port = server_urls("postgresql"), free_port()
    with ExitStack() as servers:
        with pgbouncer(direct, mode, SIZE, port) as url:
            url = f"{scheme}{url[url.index(':') :]}?{options}"
            settings = Settings(**settings_for_traffic(url, tmp_path))
            addresses = [servers.enter_context(started(settings))[1] for _ in range(PROCESSES)]
            traffic = servers.enter_context(Traffic(addresses, tmp_path))
            traffic.wait(150)
        traffic.wait_until_refused()
        with pgbouncer(direct, mode, SIZE, port):
            traffic.wait(150)
            traffic.stop()
            assert traffic.compare() == []
