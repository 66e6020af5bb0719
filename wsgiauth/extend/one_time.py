"""Secrets that work once, as in the links of emails.

The names are those of a module: `one_time.issue(...)`. Provisional, as `wsgiauth.extend`.
"""

from wsgiauth.accounts.tables import OneTimeSecret, end_secrets
from wsgiauth.authentication.one_time import (
    digest,
    end_about,
    exchange,
    find,
    issue,
    link_url,
    redeem,
    use,
)

__all__ = [
    "OneTimeSecret",
    "digest",
    "end_about",
    "end_secrets",
    "exchange",
    "find",
    "issue",
    "link_url",
    "redeem",
    "use",
]
