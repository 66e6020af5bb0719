"""Send the site what no client should, for as long as it is worth: `make measure NAME=fuzz`.

Fails, with a request that can be pasted into a test, where an answer breaks a rule that holds for
every answer, and where it takes more CPU than a request may that hashes no password.
"""

import argparse
import logging
import random
import time
from collections import Counter

import bcrypt

from tests.support import hostile

MAX_CPU = 0.1  # seconds


class Hashing:
    """Counts the calls of bcrypt."""

    def __init__(self):
        self.calls = 0
        bcrypt.checkpw, bcrypt.hashpw = map(self._counted, (bcrypt.checkpw, bcrypt.hashpw))

    def _counted(self, function):
        def counted(*arguments):
            self.calls += 1
            return function(*arguments)

        return counted


def cpu_of(site, request, hashing):
    """Return the answer, and the CPU time in seconds that it took; None where it hashed."""
    calls, start = hashing.calls, time.thread_time()
    answer = site.answer(request)
    taken = time.thread_time() - start
    return answer, taken if hashing.calls == calls else None


def fuzz(seconds, seed):
    """Try requests until the time is over; return the summary, or raise."""
    chance, hashing, site = random.Random(seed), Hashing(), hostile.Site()  # noqa: S311 - no secret
    seen, slowest = Counter(), 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        request = hostile.anything(chance)
        try:
            answer, taken = cpu_of(site, request, hashing)
            site.check(request, answer)
            if taken is not None and taken > MAX_CPU:  # perhaps for another reason than the request
                taken = min(cpu_of(site, request, hashing)[1] or 0.0 for _ in range(3))
            assert taken is None or taken <= MAX_CPU, f"{taken:.3f} seconds of CPU"
        except Exception:
            print(f"After {seen.total()} inputs, seed {seed}, this one fails:\n{request!r}\n")
            raise
        seen[answer.status, answer.code] += 1
        slowest = max(slowest, taken or 0.0)
    print(f"{seen.total()} inputs, {seen.total() / seconds:.0f} per second, seed {seed}")
    for (status, code), count in sorted(seen.items()):
        print(f"{count:8} {status} {code}".rstrip())
    print(f"slowest without hashing: {slowest * 1000:.1f} ms of CPU")
    print("Nothing broke a rule.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Send the site what no client should.")
    parser.add_argument("seconds", type=float, nargs="?", default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    logging.disable()  # of what the answers say anyway
    fuzz(options.seconds, options.seed)
