"""What `serve` says to the service manager, by the protocol of sd_notify(3)."""

import os
import socket

import pytest

from wsgiauth.cli import systemd

PATIENCE = 60  # seconds, after which a message counts as missing


@pytest.fixture(params=["a file", "an abstract name"])
def manager(request, tmp_path, monkeypatch):
    """Return the socket of a service manager, which the environment names."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.settimeout(PATIENCE)
        name = str(tmp_path / "notify")
        if request.param == "an abstract name":
            name = f"@wsgiauth-{os.getpid()}"
        receiver.bind(name.replace("@", "\0", 1))
        monkeypatch.setenv("NOTIFY_SOCKET", name)
        yield receiver


def test_a_state_arrives(manager):
    systemd.notify(systemd.READY)
    assert manager.recv(100) == b"READY=1"


@pytest.mark.parametrize("name", [None, "", "relative", "/missing/socket", "/" + "x" * 200])
def test_without_a_manager_nothing_happens(monkeypatch, name):
    if name is None:
        monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    else:
        monkeypatch.setenv("NOTIFY_SOCKET", name)
    systemd.notify(systemd.READY)


def test_a_manager_that_reads_nothing_is_not_waited_for(manager):
    for _ in range(2000):  # more than the socket holds
        systemd.notify(systemd.ALIVE)
    assert manager.recv(100) == b"WATCHDOG=1"
