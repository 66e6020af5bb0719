"""What `check` asks about the addresses of clients."""

from collections.abc import Iterator

from wsgiauth.feature import Finding, Question
from wsgiauth.features.audit import trail
from wsgiauth.settings import PER_ADDRESS
from wsgiauth.site import Site

_EVENTS = 100  # whose addresses are compared
_LOOPBACK = frozenset({"127.0.0.1", "::1"})


def _hidden_addresses(site: Site) -> Iterator[Finding]:
    addresses = {entry.event.address for entry in trail.page(size=_EVENTS)} - {None}
    is_limited = any(getattr(site.settings, name) for name in PER_ADDRESS)
    if is_limited and addresses and addresses <= _LOOPBACK:
        sentence = (
            "All recent clients had the address of this machine, and limits count clients by their"
            " address. Behind a proxy, configure the server to trust it (serve: --trusted-proxy;"
            " waitress-serve: --trusted-proxy and --trusted-proxy-headers=x-forwarded-for). If you"
            f" cannot, set {', '.join(PER_ADDRESS[:-1])} and {PER_ADDRESS[-1]} to 0."
        )
        yield Finding(sentence, is_risk=False)


QUESTIONS = (Question(_hidden_addresses),)
