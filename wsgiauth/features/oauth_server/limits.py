"""The limits on apps that nobody registered, on devices, and on guesses at codes of devices.

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

# In an hour; of hosts, only failures and documents that are new here count.
_DOCUMENTS_OF_USERS = Limit("documents of a user", 20, (HOUR,), HOUR)
_DOCUMENTS_OF_NETWORKS = Limit("documents", 60, (HOUR,), HOUR)
_DOCUMENTS_OF_HOSTS = Limit("documents of a host", 120, (HOUR,), HOUR)


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
    counters, of_networks = site.throttle.counters, _DOCUMENTS_OF_NETWORKS
    return site.throttle.attempt(
        counters.one(_DOCUMENTS_OF_USERS, str(user.id)),
        *counters.of_networks(of_networks, networks),
    )


def documents_of_host(site: Site, host: str) -> Attempt:
    """Return a request to a host for a document."""
    return site.throttle.attempt(site.throttle.counters.one(_DOCUMENTS_OF_HOSTS, host))
