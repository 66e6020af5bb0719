"""Two pretended hosts, each with its own network and clock, and server processes on them.

With the rights of root, a host is a network namespace that is connected to this one; without them,
it is an address of the loopback interface.
"""

import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.conftest import skip_or_fail
from tests.support.leftovers import ending_with_parent
from tests.support.private_servers import PrivateServer

ROOT = Path(__file__).parents[2]
LIBRARIES = "*/faketime/libfaketimeMT.so.1"
LISTENING = re.compile(r"Serving on http://(.+)/\n")
PORT = 8080
NO_DEVICE = "02:00:00:00:00:99"
NETWORK = "198.18.0.0/15"  # RFC 2544: of no other host
APPLICATION = """
import logging
from tests.support.sites import echo
from wsgiauth import AuthMiddleware
logging.basicConfig(level=logging.ERROR)
application = AuthMiddleware(echo)
"""


class Host:
    """A network of its own, and a clock.

    Attributes:
        address: Where its processes listen.
        outside: The address of this machine, as it is seen from there.
    """

    def __init__(self, number, skew):
        self.skew = skew  # seconds by which the clock is ahead
        self._name = f"wsgiauth-{os.getpid()}-{number}"
        self.has_network = os.geteuid() == 0 and shutil.which("ip") is not None
        if not self.has_network:
            self.address, self.outside = f"127.0.0.{number + 2}", "127.0.0.1"
            return
        subnet = f"198.{18 + secrets.randbelow(2)}.{secrets.randbelow(256)}"
        self.address, self.outside = f"{subnet}.2", f"{subnet}.1"
        outer = self._outer = f"wa{os.getpid()}-{number}"
        _ip("netns", "add", self._name)
        _ip("link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", self._name)
        _ip("address", "add", f"{self.outside}/24", "dev", outer)
        _ip("link", "set", outer, "up")
        _ip("-n", self._name, "address", "add", f"{self.address}/24", "dev", "eth0")
        for device in ("lo", "eth0"):
            _ip("-n", self._name, "link", "set", device, "up")

    def close(self):
        if self.has_network:
            _ip("link", "delete", self._outer)  # the end of a namespace deletes it only later
            _ip("netns", "delete", self._name)

    def further_address(self):
        """Return another address of this machine, as it is seen from there."""
        address = f"{self.address.removesuffix('.2')}.3"
        _ip("address", "add", f"{address}/24", "dev", self._outer)
        return address

    @contextmanager
    def dropping_packets_to(self, address):
        """Send the packets to an address to a device that does not exist, as if a firewall did."""
        neighbour = ("-n", self._name, "neighbour")
        _ip(*neighbour, "replace", address, "lladdr", NO_DEVICE, "nud", "permanent", "dev", "eth0")
        yield
        _ip(*neighbour, "delete", address, "dev", "eth0")

    def command(self, *arguments):
        """Return a command that runs on this host."""
        inside = ("ip", "netns", "exec", self._name) if self.has_network else ()
        return ending_with_parent([*inside, *arguments])

    def clock(self):
        """Return the variables of a process with the clock of this host."""
        (library,) = [*Path("/usr/lib").glob(LIBRARIES)][:1] or [
            skip_or_fail("libfaketime is not installed")
        ]
        return {
            "LD_PRELOAD": str(library),
            "FAKETIME": f"{self.skew:+}s",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "NO_FAKE_STAT": "1",
        }


class Process:
    """A process of `python -m wsgiauth serve`, as an operator starts it."""

    def __init__(self, host, port, folder):
        self.host = host
        self.address = f"{host.address}:{port}"
        self._folder = folder
        self._log = folder / f"{self.address}.log"

    def start(self, variables, package=ROOT):
        """Start with these settings, and the wsgiauth of a folder; return when it serves."""
        (self._folder / "hosted.py").write_text(APPLICATION, encoding="utf-8")
        environ = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG")}
        environ |= self.host.clock() | variables | {"PYTHONPATH": f"{package}:{ROOT}"}
        serve = (sys.executable, "-m", "wsgiauth", "serve", "hosted:application", "--threads=8")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                self.host.command(*serve, f"--listen={self.address}"),
                cwd=self._folder,
                env=environ,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert LISTENING.fullmatch(self._process.stdout.readline()), self.log()

    def stop(self):
        """Terminate it, as a service manager does, and return when it has ended."""
        self._process.send_signal(signal.SIGTERM)
        assert self._process.wait(30) == 0, self.log()
        self._process.stdout.close()

    def log(self):
        return self._log.read_text(encoding="utf-8")

    def kill(self):
        self._process.kill()
        self._process.wait()
        self._process.stdout.close()


class OpenServer(PrivateServer):
    """A PostgreSQL that the hosts reach."""

    options = ("-c", "listen_addresses=*", "-c", "max_connections=200", "-c", "shared_buffers=16MB")

    def __init__(self, folder):
        super().__init__("postgresql", folder)

    def _make(self):
        super()._make()
        with Path(self.folder, "data/pg_hba.conf").open("a", encoding="utf-8") as rules:
            rules.write(f"host all all {NETWORK} trust\n")

    def url_from(self, host):
        return self.url.replace("127.0.0.1", host.outside)


class Hosts:
    """A context with processes on two hosts, whose clocks are some seconds apart.

    Attributes:
        processes: The processes, of the hosts by turns.
    """

    def __init__(self, folder, server, *, apart, each=4):
        drop_networks()
        self._server = server
        self._folder = folder
        self.slow, self.fast = (
            Host(number, skew) for number, skew in enumerate((-apart / 2, apart / 2))
        )
        self.processes = [
            Process(host, PORT + number, folder)
            for number in range(each)
            for host in (self.slow, self.fast)
        ]
        self._threads = ThreadPoolExecutor(len(self.processes))

    def start(self, settings, package=ROOT):
        """Start all processes with these settings."""
        list(self._threads.map(lambda each: self._start(each, settings, package), self.processes))

    def roll(self, settings, package=ROOT):
        """Restart one process of each host after the other, with other settings."""
        for pair in zip(self.processes[::2], self.processes[1::2], strict=True):
            list(self._threads.map(lambda each: self._restart(each, settings, package), pair))

    def _start(self, process, settings, package):
        url = self._server.url_from(process.host)
        variables = {name: _as_variable(value) for name, value in settings.items()}
        process.start(variables | {"DATABASE_URL": url}, package)

    def _restart(self, process, settings, package):
        process.stop()
        self._start(process, settings, package)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for each in self.processes:
            with suppress(AttributeError):  # it never started
                each.kill()
        self._threads.shutdown()
        for host in (self.slow, self.fast):
            host.close()

    @property
    def addresses(self):
        return [each.address for each in self.processes]


def drop_networks():
    """Delete the namespaces of test runs that were killed."""
    for path in Path("/run/netns").glob("wsgiauth-*"):
        if not Path(f"/proc/{path.name.split('-')[1]}").exists():
            _ip("netns", "delete", path.name)


def _as_variable(value):
    return " ".join(value) if isinstance(value, tuple) else str(value)


def _ip(*arguments):
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True)
    if done.returncode:
        skip_or_fail(f"ip {' '.join(arguments)}: {done.stderr}")
