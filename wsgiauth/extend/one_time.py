"""Secrets that work once, as in the links of emails. Provisional, as `wsgiauth.extend`.

`issue` makes one, `find` finds it, `use` uses it, and `end_secrets` ends those of a user.
`link_url` is the link with it. The table of `OneTimeSecret` has its `digest`.
"""

from wsgiauth.accounts.tables import OneTimeSecret, end_secrets
from wsgiauth.authentication.one_time import (
    digest,
    find,
    issue,
    link_url,
    use,
)

__all__ = [
    "OneTimeSecret",
    "digest",
    "end_secrets",
    "find",
    "issue",
    "link_url",
    "use",
]
