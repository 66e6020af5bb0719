"""The event `webhook_failed`: one line a minute for a host, because thousands can fail at once."""

import threading
from typing import NamedTuple

from wsgiauth import events
from wsgiauth.authentication.lifetimes import MINUTE
from wsgiauth.events.kinds import RefusedAttempt
from wsgiauth.messages import counted

# No `Change`: it would cause another webhook, and so on.
WEBHOOK_FAILED = RefusedAttempt("webhook_failed")

TOO_MANY = "too many wait"


class _Failed(NamedTuple):
    number: int
    cause: str


class Failures:
    """Counts the webhooks that have ended without success, and reports them by host."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: dict[str, _Failed] = {}
        self._reported_at: dict[str, float] = {}

    def add(self, host: str, cause: str, now: float, number: int = 1) -> None:
        """Report the failure of webhooks, or count them for a later report.

        Args:
            cause: In fixed words, without anything of the URL.
        """
        with self._lock:
            former = self._counts.get(host, _Failed(0, ""))
            self._counts[host] = _Failed(former.number + number, cause)
        self.report(now)

    def report(self, now: float) -> None:
        """Report what was counted for a minute; the cause is the last one."""
        with self._lock:
            recent = {host for host, at in self._reported_at.items() if 0 <= now - at < MINUTE}
            due = {host: self._counts.pop(host) for host in self._counts.keys() - recent}
            self._reported_at.update(dict.fromkeys(due, now))
        for host, failed in due.items():
            what = counted(failed.number, "webhook")
            events.emit(WEBHOOK_FAILED, reason=f"{host}: {what}: {failed.cause}")
