"""A real forward proxy: tinyproxy (Debian's package `tinyproxy-bin`)."""

import subprocess
from contextlib import contextmanager
from typing import NamedTuple

from tests.conftest import require_program
from tests.support.sites import free_port, started


class Tinyproxy(NamedTuple):
    """A proxy that serves."""

    port: int
    log: object  # the path of its log

    def url(self, credentials=""):
        """Return its URL for OIDC_PROXY."""
        return f"http://{credentials}{'@' if credentials else ''}127.0.0.1:{self.port}"

    def tunnels(self):
        """Return the hosts and ports to which it has opened a tunnel, or was asked to."""
        lines = self.log.read_text().splitlines()
        requests = [line.partition("): ")[2] for line in lines if "Request (" in line]
        return [each.split()[1] for each in requests if each.startswith("CONNECT ")]


@contextmanager
def running_tinyproxy(folder, *further):
    """Yield a proxy with further lines of configuration, such as `BasicAuth ada secret`."""
    require_program("tinyproxy")
    port, log = free_port(), folder / "tinyproxy.log"
    lines = ["Listen 127.0.0.1", f"Port {port}", f'LogFile "{log}"', "LogLevel Connect", *further]
    (folder / "tinyproxy.conf").write_text("\n".join([*lines, ""]))
    command = ["tinyproxy", "-d", "-c", str(folder / "tinyproxy.conf")]
    with started(command, port, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL):
        yield Tinyproxy(port, log)
