"""The limits on guesses at codes in emails.

Codes are guessed against a request for a code, which has `CODE_TRIES`, and from an address, for
which failures count during a day: eight digits are few, and a person who enters a code has it in
view. They never count for an account, so no client can make its owner wait by failing. Requests by
clients that the name knows are marked as such, and their failures count for the request alone, so a
neighbour at the same address does not keep them waiting either.
"""

from wsgiauth.site import Site
from wsgiauth.throttling.attempts import Attempt
from wsgiauth.throttling.counts import Counter, Limit, Networks
from wsgiauth.throttling.failed_logins import FailureLog
from wsgiauth.throttling.throttle import DAY, DOUBLING, HOUR

CODE_TRIES = 5  # of one request

# Longer than the request is valid, also on a host whose clock is behind.
_TRIES = Limit("tries of an email code", CODE_TRIES, (HOUR,), HOUR)


def code_attempt(
    site: Site, networks: Networks, *, is_known: bool = False, log_id: str = ""
) -> Attempt:
    """Return an attempt to enter a code, or raise RetryLaterError (429) if it must wait.

    Args:
        is_known: Whether a client that the name knows asked for the code; see `Throttle.knows`.
        log_id: The id of the log of that name, from `Throttle.failure_log`; empty: nothing is
            recorded.
    """
    limit = Limit("email codes", site.settings.LOGIN_FAILURES_PER_ADDRESS, DOUBLING, DAY)
    counters = [] if is_known else site.throttle.counters.of_networks(limit, networks)
    return site.throttle.attempt(*counters, failures=FailureLog(log_id) if log_id else None)


def tries_of(site: Site, request_id: str) -> Counter:
    """Return the count of the tries of one request for a code."""
    return site.throttle.counters.one(_TRIES, request_id)
