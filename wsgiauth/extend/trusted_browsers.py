"""What a feature needs that lets browsers skip the second step of a login.

Provisional, as `wsgiauth.extend`.
"""

from wsgiauth.accounts.tables import TrustedBrowser
from wsgiauth.authentication.trusted_browsers import ListedBrowser, TrustedBrowsers
from wsgiauth.events.kinds import TRUST_ENDED

__all__ = ["TRUST_ENDED", "ListedBrowser", "TrustedBrowser", "TrustedBrowsers"]
