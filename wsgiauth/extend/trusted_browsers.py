"""What a feature needs that lets browsers skip the second step of a login.

It implements `TrustedBrowsers`, which lists a `ListedBrowser` for each. The kernel deletes the rows
of `TrustedBrowser` with every change that ends the trust, as the event `TRUST_ENDED` says.
Provisional, as `wsgiauth.extend`.
"""

from wsgiauth.accounts.tables import TrustedBrowser
from wsgiauth.authentication.trusted_browsers import ListedBrowser, TrustedBrowsers
from wsgiauth.events.kinds import TRUST_ENDED

__all__ = ["TRUST_ENDED", "ListedBrowser", "TrustedBrowser", "TrustedBrowsers"]
