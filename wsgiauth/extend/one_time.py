"""Secrets that work once, as in the links of emails. Provisional, as `wsgiauth.extend`.

`issue` makes one, `find` finds it, `use` and `redeem` use it, `exchange` replaces it, `end_about`
and `end_secrets` end it. `link_url` is the link with it. The table of `OneTimeSecret` has its
`digest`.
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
