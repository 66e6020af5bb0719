"""Messages to the service manager that started this process: the protocol of sd_notify(3)."""

import os
import socket
from contextlib import suppress

READY, STOPPING, ALIVE = "READY=1", "STOPPING=1", "WATCHDOG=1"


def notify(state: str) -> None:
    """Send a state to the socket of NOTIFY_SOCKET; without one, do nothing.

    A socket that cannot be reached is ignored: the manager then ends the process by its timeout,
    and logs why.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address.startswith(("/", "@")):
        return
    if address.startswith("@"):  # a name without a file
        address = f"\0{address[1:]}"
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
        sender.setblocking(False)
        sender.sendto(state.encode(), address)


def is_watched() -> bool:
    """Return whether the manager restarts a process that does not say that it is alive."""
    return "WATCHDOG_USEC" in os.environ
