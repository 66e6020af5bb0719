"""The real PgBouncer in front of PostgreSQL."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from tests.conftest import skip_or_fail
from tests.support.leftovers import own_name
from tests.support.sites import free_port, started

CONFIGURATION = """
[databases]
* = {server}
another = dbname={name} {server}

[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = {mode}
default_pool_size = {size}
"""


@contextmanager
def pgbouncer(url, mode="transaction", size=3, port=None):
    """Yield the URL of a PostgreSQL database behind PgBouncer.

    Args:
        mode: The `pool_mode`.
        size: How many connections it opens to the database.
        port: Where it listens; None: a free port.
    """
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        skip_or_fail("pgbouncer is not installed")
    url = urlsplit(url)
    server = f"host={url.hostname} port={url.port or 5432} user={url.username}"
    if url.password:
        server += f" password='{unquote(url.password)}'"
    port = port or free_port()
    values = {"server": server, "name": own_name(), "port": port, "mode": mode, "size": size}
    # PgBouncer refuses to run as root, and another user cannot read pytest's folders.
    options = {"user": "postgres"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryFile("w+", encoding="utf-8") as configuration:
        configuration.write(CONFIGURATION.format(**values))
        configuration.seek(0)
        os.fchmod(configuration.fileno(), 0o644)  # its user opens it anew
        command = [program, "--quiet", "/dev/stdin"]
        with started(command, port, stdin=configuration, stderr=subprocess.DEVNULL, **options):
            yield url._replace(netloc=f"{url.username}@127.0.0.1:{port}").geturl()
