"""The settings of how many attempts and hashes are allowed."""

import os
from dataclasses import dataclass

from wsgiauth.settings.kinds import whole_number
from wsgiauth.settings.risks import free_guesses


def _processors() -> int:
    """Return the number of processors that this process can use."""
    affinity = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))  # Linux only
    return len(affinity(0))


@dataclass(frozen=True, kw_only=True)
class LimitSettings:
    """The part of `Settings` for how many attempts and hashes are allowed."""

    LOGIN_FAILURES_PER_ACCOUNT: int = whole_number(
        5,
        0,
        1000,
        "failed logins with one name before a wait; `0`: no limit",
        risk=free_guesses,
    )
    LOGIN_FAILURES_PER_ADDRESS: int = whole_number(
        50, 0, 1_000_000, "failed logins of one client address before a wait; `0`: no limit"
    )
    LOGINS_PER_ACCOUNT: int = whole_number(
        60, 0, 1_000_000, "logins to one account in a minute before a wait; `0`: no limit"
    )
    REGISTRATIONS_PER_ADDRESS: int = whole_number(
        20, 0, 1_000_000, "registrations from one client address in an hour; `0`: no limit"
    )
    HASHING_THREADS: int = whole_number(
        _processors(), 1, 1000, "how many passwords a process hashes at the same time"
    )
    HASHING_PER_ADDRESS: int = whole_number(
        1,
        0,
        1000,
        "how many passwords of one client a process hashes at the same time; `0`: no limit",
    )
