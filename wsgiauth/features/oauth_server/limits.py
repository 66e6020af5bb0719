"""The limits on registrations and documents of apps, on devices, and on guesses at their codes.

Each function returns an attempt that is not counted yet, or raises RetryLaterError (429) if it must
wait.
"""

from dataclasses import replace

from wsgiauth.accounts.models import User
from wsgiauth.site import Site
from wsgiauth.throttling.attempts import Attempt
from wsgiauth.throttling.counts import Limit, Networks
from wsgiauth.throttling.throttle import DOUBLING, HOUR

DEVICE_CODES = 10  # wrong codes of devices that a user can type before a wait

_CODES = Limit("device codes", DEVICE_CODES, DOUBLING, HOUR)

# Documents that are fetched in an hour; of a host, only failures and new ones count.
DOCUMENTS_OF_USER, DOCUMENTS_OF_NETWORK, DOCUMENTS_OF_HOST = 20, 60, 120


def registration(site: Site, networks: Networks) -> Attempt:
    """Return an attempt of an app to register itself."""
    free = site.settings.OAUTH_REGISTRATIONS_PER_ADDRESS
    return site.throttle.of_client(Limit("registrations of apps", free, (HOUR,), HOUR), networks)


def device(site: Site, networks: Networks) -> Attempt:
    """Return the request of a device for codes."""
    limit = Limit("devices", site.settings.LOGIN_FAILURES_PER_ADDRESS, DOUBLING, HOUR)
    return site.throttle.of_client(limit, networks)


def device_code(site: Site, user: User, networks: Networks) -> Attempt:
    """Return an attempt of a user to enter the code of a device."""
    counters = site.throttle.counters
    of_address = replace(_CODES, free=site.settings.LOGIN_FAILURES_PER_ADDRESS)
    return site.throttle.attempt(
        counters.one(_CODES, str(user.id)), *counters.of_networks(of_address, networks)
    )


def document(site: Site, user: User, networks: Networks) -> Attempt:
    """Return a request for a document of an app, which a user causes."""
    counters = site.throttle.counters
    of_user = Limit("documents of a user", DOCUMENTS_OF_USER, (HOUR,), HOUR)
    of_network = Limit("documents", DOCUMENTS_OF_NETWORK, (HOUR,), HOUR)
    return site.throttle.attempt(
        counters.one(of_user, str(user.id)), *counters.of_networks(of_network, networks)
    )


def documents_of_host(site: Site, host: str) -> Attempt:
    """Return a request to a host for a document."""
    limit = Limit("documents of a host", DOCUMENTS_OF_HOST, (HOUR,), HOUR)
    return site.throttle.attempt(site.throttle.counters.one(limit, host))
