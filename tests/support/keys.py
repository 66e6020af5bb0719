"""API keys of users."""

import time

from wsgiauth.features.keys import api_keys


def make_key(user, name="Nightly export", permissions=("reports.read",)):
    """Return the id of a new API key of a user, who gets its permissions."""
    user.grant(*permissions)
    return api_keys.create(user, name, permissions, now=time.time()).row.id
